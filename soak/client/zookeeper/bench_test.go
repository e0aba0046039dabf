package zookeeper_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"nightshift/soak/client/zookeeper"
	"nightshift/soak/lab/zkstub"
)

// quiet keeps the bare library's lines off the output.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

// serversEnv names real servers (host:port,...) to run the benchmark on instead of the stub.
const serversEnv = "NIGHTSHIFT_ZOOKEEPER"

// BenchmarkAgainstBare runs a closed loop of creates and deletes of an ephemeral node, bare library and wrapper
// in alternating pairs over loopback TCP, and reports the median of the pairs: 100 is as fast as the library.
// The stub answers faster than any server, so that it shows the wrapper's cost at its largest.
func BenchmarkAgainstBare(b *testing.B) {
	servers := strings.Split(os.Getenv(serversEnv), ",")
	if servers[0] == "" {
		e, err := zkstub.New(zkstub.Options{Nodes: 1, Listen: true})
		if err != nil {
			b.Fatal(err)
		}
		defer e.Close()
		servers = e.TCP()
	}
	bare, _, err := zk.Connect(servers, 10*time.Second, zk.WithLogger(quiet{}), zk.WithLogInfo(false))
	if err != nil {
		b.Fatal(err)
	}
	defer bare.Close()
	ours, err := zookeeper.Connect(zookeeper.Options{Servers: servers})
	if err != nil {
		b.Fatal(err)
	}
	defer ours.Close(4 * time.Second)
	ctx, data, acl := context.Background(), make([]byte, 1024), zk.WorldACL(zk.PermAll)
	loop := map[string]func(){
		"bare": func() {
			if _, err := bare.Create("/bare", data, zk.FlagEphemeral, acl); err != nil {
				b.Fatal(err)
			}
			if err := bare.Delete("/bare", -1); err != nil {
				b.Fatal(err)
			}
		},
		"ours": func() {
			if _, err := ours.Create(ctx, "/ours", data, zookeeper.Ephemeral); err != nil {
				b.Fatal(err)
			}
			if err := ours.Delete(ctx, "/ours", -1); err != nil {
				b.Fatal(err)
			}
		},
	}
	const each = 200
	run := func(name string) time.Duration {
		start := time.Now()
		for range each {
			loop[name]()
		}
		return time.Since(start)
	}
	run("bare")
	run("ours")
	var shares []float64
	var spent [2]time.Duration
	order := []string{"bare", "ours"}
	for b.Loop() {
		took := map[string]time.Duration{}
		for _, name := range order {
			took[name] = run(name)
		}
		slices.Reverse(order)
		shares = append(shares, 100*float64(took["bare"])/float64(took["ours"]))
		spent[0] += took["bare"]
		spent[1] += took["ours"]
	}
	slices.Sort(shares)
	b.ReportMetric(shares[len(shares)/2], "percent-of-bare")
	per := float64(2 * each * len(shares))
	b.ReportMetric(float64(spent[0].Microseconds())/per, "us-bare")
	b.ReportMetric(float64(spent[1].Microseconds())/per, "us-ours")
}
