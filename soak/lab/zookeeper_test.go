package lab

import (
	"slices"
	"strings"
	"testing"
)

func testNode(i int, dir string) *node {
	b := 20000 + 10*i
	return &node{
		id: "n" + string(rune('1'+i)), index: i, dir: dir, dataDir: dir + "/data", logDir: dir + "/txnlog",
		ports: map[string]int{"client": b, "quorum": b + 1, "election": b + 2, "admin": b + 3},
	}
}

func TestZooCfg(t *testing.T) {
	s := Spec{Nodes: 3, Settings: map[string]string{
		"tickTime": "200", "snapCount": "1000", "jute.maxbuffer": "2000000", "zookeeper.some.flag": "x", "odd key": `C:\a`,
	}}
	all := []*node{testNode(0, "/l/n1"), testNode(1, "/l/ä n2"), testNode(2, "/l/n3")}
	const want = `dataDir=/l/\u00e4 n2/data
dataLogDir=/l/\u00e4 n2/txnlog
clientPort=20010
clientPortAddress=127.0.0.1
initLimit=10
syncLimit=6
maxClientCnxns=0
fsync.warningthresholdms=20
4lw.commands.whitelist=*
admin.enableServer=false
jute.maxbuffer=2000000
odd\ key=C:\\a
snapCount=1000
tickTime=200
admin.serverAddress=127.0.0.1
admin.serverPort=20013
server.1=127.0.0.1:20001:20002
server.2=127.0.0.1:20011:20012
server.3=127.0.0.1:20021:20022
`
	if got := string(zooCfg(s, all[1], all)); got != want {
		t.Errorf("got\n%s", got)
	}
	one := testNode(0, "/l/n1")
	one.logDir = one.dataDir
	got := string(zooCfg(Spec{Nodes: 1}, one, []*node{one}))
	if strings.Contains(got, "server.1") || strings.Contains(got, "dataLogDir") {
		t.Errorf("one node, all together:\n%s", got)
	}
}

// Settings that ZooKeeper reads as system properties are passed as such; those of zoo.cfg alone are not.
func TestZookeeperProperties(t *testing.T) {
	got := zookeeperProperties(Spec{Settings: map[string]string{
		"tickTime": "200", "autopurge.purgeInterval": "1", "snapCount": "1000", "jute.maxbuffer": "2000000",
		"zookeeper.some.flag": "x", "quorum.auth.enableSasl": "false", "fsync.warningthresholdms": "7",
	}})
	want := []string{
		"-Dzookeeper.4lw.commands.whitelist=*", "-Dzookeeper.admin.enableServer=false",
		"-Dzookeeper.fsync.warningthresholdms=7", "-Djute.maxbuffer=2000000", "-Dzookeeper.jute.maxbuffer=2000000",
		"-Dzookeeper.snapCount=1000", "-Dzookeeper.some.flag=x",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestZookeeperLaunch(t *testing.T) {
	n := testNode(0, "/l/n1")
	l := zookeeperLaunch(Spec{Heap: 300 << 20, JVM: []string{"-XX:+UseZGC"}}, n, java{path: "/j/bin/java"}, "/c/jars")
	if l.Argv[0] != "/j/bin/java" || l.Dir != "/l/n1" || !slices.Contains(l.Argv, "-Xmx307200k") {
		t.Errorf("%+v", l)
	}
	if i := slices.Index(l.Argv, "-cp"); i < slices.Index(l.Argv, "-XX:+UseZGC") ||
		!slices.Equal(l.Argv[i:], []string{"-cp", "/c/jars/*", "org.apache.zookeeper.server.quorum.QuorumPeerMain", "/l/n1/zoo.cfg"}) {
		t.Errorf("%q", l.Argv)
	}
	if slices.Contains(l.Argv, "-XX:+UseG1GC") {
		t.Error("two collectors are chosen: the JVM refuses to start")
	}
	if slices.ContainsFunc(l.Argv, func(a string) bool { return strings.Contains(a, "PerfData") || strings.Contains(a, "PerfDisable") }) {
		t.Error("perf data is switched, which probes read")
	}
}

func TestJVMEnv(t *testing.T) {
	got := jvmEnv([]string{"PATH=/bin", "JAVA_TOOL_OPTIONS=-javaagent:x", "_JAVA_OPTIONS=-Xmx1m", "JDK_JAVA_OPTIONS=x", "LC_ALL=C", "CLASSPATH=/x"})
	if want := []string{"PATH=/bin", "LC_ALL=C.UTF-8"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
