package zkstub_test

import (
	"strings"
	"testing"
	"time"

	"nightshift/soak/client/zookeeper"
	"nightshift/soak/lab/zkstub"
)

func TestWords(t *testing.T) {
	inBubble(t, zkstub.Options{Dir: t.TempDir(), Tick: 3 * time.Second}, func(t *testing.T, e *zkstub.Ensemble) {
		c := connect(t, e, zookeeper.Options{}, 3, 1)
		_, err := c.Create(ctx(), "/e", []byte("12345"), zookeeper.Ephemeral)
		must(t, err)
		_, _, _, err = c.ExistsW(ctx(), "/e")
		must(t, err)
		ask := zookeeper.Words{Dial: e.Dial}
		for word, want := range map[string][]string{
			"mntr": {"zk_server_state\tleader", "zk_znode_count\t6", "zk_watch_count\t1", "zk_ephemerals_count\t1", "zk_global_sessions\t1", "zk_synced_followers\t2", "zk_num_alive_connections\t2"},
			"conf": {"dataDir=" + e.Dir(3), "tickTime=3000", "minSessionTimeout=6000", "serverId=3"},
			"ruok": {"imok"},
			"srvr": {"Mode: leader", "Node count: 6"},
		} {
			text, err := ask.Word(ctx(), "n3:2181", word)
			must(t, err)
			for _, line := range want {
				if !strings.Contains(text, line) {
					t.Errorf("%s has no %q:\n%s", word, line, text)
				}
			}
		}
		must(t, e.Stop(3))
		if text, err := ask.Word(ctx(), "n2:2181", "mntr"); err != nil || !strings.Contains(text, "not currently serving") {
			t.Errorf("mntr during an election: %q, %v", text, err)
		}
		time.Sleep(3 * time.Second)
		closeAll(t, c)
	})
}
