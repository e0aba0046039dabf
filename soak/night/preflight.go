package night

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	zkload "nightshift/soak/zookeeper"

	"nightshift/soak/config"
	"nightshift/soak/record"
	"nightshift/soak/target"
)

// spareFiles is how many open files the rest of nightshift may need beside the workloads' connections.
const spareFiles = 200

// preflight refuses a run that would measure its own limits instead of the cluster's.
func (s *shift) preflight(ctx context.Context) error {
	if s.o.double != nil {
		return nil
	}
	var problems []string
	total := 0
	for _, name := range s.order {
		need := s.need(name)
		total += need.Connections
		c, err := s.patients[name].Lookup(ctx)
		if err != nil {
			return err
		}
		problems = append(problems, s.connectionLimit(ctx, s.patients[name], c, need.Connections)...)
		problems = append(problems, s.diskLimit(name, c, need)...)
	}
	problems = append(problems, fileLimit(total)...)
	if len(problems) > 0 {
		return refusedf("the run would not measure the cluster:\n  %s", strings.Join(problems, "\n  "))
	}
	return nil
}

// need sums what the workloads of one target ask for.
func (s *shift) need(name string) zkload.Requirements {
	var sum zkload.Requirements
	for _, w := range s.workloads {
		if w.Target == name {
			n := w.need
			sum.Connections += n.Connections
			sum.Rate += n.Rate
		}
	}
	return sum
}

func fileLimit(connections int) []string {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err != nil {
		return []string{"the limit of open files can't be read: " + err.Error()}
	}
	if want := uint64(connections + spareFiles); r.Cur < want {
		return []string{fmt.Sprintf("%d connections need %d open files, and the limit is %d; raise it with: ulimit -n %d", connections, want, r.Cur, want)}
	}
	return nil
}

var clientLimit = regexp.MustCompile(`(?m)^maxClientCnxns=(-?\d+)$`)

// connectionLimit asks each server how many connections it takes from one address. After a fault all of
// ours may be on one server.
func (s *shift) connectionLimit(ctx context.Context, p *patient, c target.Cluster, connections int) (problems []string) {
	for _, n := range c.Nodes {
		ctx, cancel := context.WithTimeout(ctx, askLimit)
		text, err := p.words().Word(ctx, n.Addrs[0], "conf")
		cancel()
		if err != nil {
			s.emit(record.Note{Stamp: s.clock.Stamp(), Lane: p.spec.name, Level: "warn",
				Text: fmt.Sprintf("%s does not tell its maxClientCnxns (%v); if it is below %d, connections will be refused", n.ID, err, connections)})
			continue
		}
		m := clientLimit.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		if limit, err := strconv.Atoi(m[1]); err == nil && limit > 0 && limit < connections {
			problems = append(problems, fmt.Sprintf("%s takes maxClientCnxns=%d connections from one address, the plan opens %d; raise it in the server's zoo.cfg, or use fewer connections",
				n.ID, limit, connections))
		}
	}
	return problems
}

// diskLimit holds the bytes that the plan will write against the room there is. With a janitor the logs of
// a few of its rounds are there at a time, without one all of them.
func (s *shift) diskLimit(name string, c target.Cluster, need zkload.Requirements) (problems []string) {
	span := s.plan.For
	for _, j := range s.janitor {
		if j.Target == name && c.Consent.Purge {
			span = min(span, j.First+4*j.Every)
		}
	}
	each := config.Bytes(float64(need.Rate) * span.Seconds())
	room := map[uint64]config.Bytes{}
	where := map[uint64]string{}
	wanted := map[uint64]config.Bytes{}
	for _, n := range c.Nodes {
		dir := firstOf(n.LogDirs)
		var st unix.Statfs_t
		var id unix.Stat_t
		if dir == "" || unix.Statfs(dir, &st) != nil || unix.Stat(dir, &id) != nil {
			continue // not on this host: its own probe says so
		}
		room[id.Dev] = config.Bytes(int64(st.Bavail) * st.Bsize)
		where[id.Dev] = dir
		wanted[id.Dev] += each
	}
	for dev, want := range wanted {
		if want > room[dev] {
			problems = append(problems, fmt.Sprintf("%s has %s free, and the plan writes about %s there within %s", where[dev], room[dev], want, span))
		}
	}
	return problems
}
