package zookeeper

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sys/unix"

	"nightshift/soak/lab/zkstub"

	"nightshift/soak"
	"nightshift/soak/config"
	"nightshift/soak/record"
	"nightshift/soak/target"
)

// Of one pair: so many sessions make so many updates of so many bytes.
const (
	benchSessions = 16
	benchUpdates  = 20_000
	benchSize     = 1024
)

// benchServers are those of NIGHTSHIFT_ZOOKEEPER=host:port,..., or a stub over TCP.
func benchServers(b *testing.B) []string {
	if s := os.Getenv("NIGHTSHIFT_ZOOKEEPER"); s != "" {
		return strings.Split(s, ",")
	}
	stub, err := zkstub.New(zkstub.Options{Listen: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := stub.Close(); err != nil {
			b.Error(err)
		}
	})
	return stub.TCP()
}

// BenchmarkEphemeralBesideABareLoop runs the ephemeral workload as a closed loop, with its recorder and checks, and a
// loop that only calls the library, in alternating pairs; an iteration is one pair.
// It reports updates per second of both, and the ratio of the sums.
func BenchmarkEphemeralBesideABareLoop(b *testing.B) {
	servers := benchServers(b)
	var ours, bare spent
	for i := range b.N {
		if i%2 == 0 {
			bare.add(bareLoop(b, servers))
			ours.add(ourLoop(b, servers, i))
		} else {
			ours.add(ourLoop(b, servers, i))
			bare.add(bareLoop(b, servers))
		}
	}
	all := float64(b.N * benchUpdates)
	b.ReportMetric(all/ours.took.Seconds(), "ours/s")
	b.ReportMetric(all/bare.took.Seconds(), "bare/s")
	b.ReportMetric(bare.took.Seconds()/ours.took.Seconds(), "ours/bare")
	b.ReportMetric(float64(ours.cpu.Microseconds())/all, "ours-cpu-ms/1000op")
	b.ReportMetric(float64(bare.cpu.Microseconds())/all, "bare-cpu-ms/1000op")
}

// spent is wall and processor time. With the servers in processes of their own, the latter is the client's alone.
type spent struct{ took, cpu time.Duration }

func (s *spent) add(o spent) { s.took, s.cpu = s.took+o.took, s.cpu+o.cpu }

// measure runs f.
func measure(f func()) spent {
	start, cpu := time.Now(), processorTime()
	f()
	return spent{time.Since(start), processorTime() - cpu}
}

func processorTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		panic(err) // it has no reason to fail on oneself
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func ourLoop(b *testing.B, servers []string, i int) spent {
	b.Helper()
	env := Env{Cluster: target.Cluster{Name: "zk", Nodes: []target.Node{{Addrs: servers}}}, Clock: record.NewClock(), RunID: fmt.Sprintf("bench%d", i)}
	p := ephemeralDefaults()
	p.Connections, p.Size, p.Count = benchSessions, benchSize, benchUpdates
	p.Rate.Freq = 0
	c, _ := newCrew(env, p.params, config.Node{}, p.Connections)
	e := &ephemeral{crew: c}
	ctx := context.Background()
	must(b, e.Setup(ctx))
	rec := soak.NewRecorder(e.Name(), env.Clock, 1)
	took := measure(func() { must(b, e.Run(ctx, rec)) })
	for _, o := range rec.Progress() {
		if o.Failed+o.InDoubt > 0 {
			b.Fatalf("operations failed: %+v", o)
		}
	}
	_, err := e.Clean(ctx)
	must(b, err)
	return took
}

func bareLoop(b *testing.B, servers []string) spent {
	b.Helper()
	dir := "/bare"
	data := make([]byte, benchSize)
	_, err := rand.Read(data)
	must(b, err)
	var conns []*zk.Conn
	for range benchSessions {
		c, _, err := zk.Connect(servers, 10*time.Second, zk.WithLogger(quiet{}), zk.WithMaxBufferSize(smallBuffer), zk.WithMaxConnBufferSize(smallBuffer))
		must(b, err)
		conns = append(conns, c)
		if _, err := c.Create(dir, nil, 0, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			b.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	took := measure(func() {
		for i, c := range conns {
			wg.Go(func() {
				path := fmt.Sprintf("%s/%d", dir, i)
				for range benchUpdates / benchSessions / 2 {
					if _, err := c.Create(path, data, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
						b.Error(err)
					}
					if err := c.Delete(path, -1); err != nil {
						b.Error(err)
					}
				}
			})
		}
		wg.Wait()
	})
	if err := conns[0].Delete(dir, -1); err != nil {
		b.Error(err)
	}
	for _, c := range conns {
		c.Close()
	}
	return took
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
