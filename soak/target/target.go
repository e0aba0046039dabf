package target

import "context"

// Cluster is a system under test.
type Cluster struct {
	Name     string  `json:"name"`   // its key in the plan, "zk"
	System   string  `json:"system"` // "zookeeper"
	Version  string  `json:"version,omitempty"`
	Lab      bool    `json:"lab"`      // nightshift or a supervisor started it here
	Detached bool    `json:"detached"` // its owner is a supervisor, not this process
	Prefix   string  `json:"prefix"`   // everything created carries the run id under this
	Consent  Consent `json:"consent"`
	Nodes    []Node  `json:"nodes"`
}

// Consent is what the user permits on a cluster. A lab has all.
type Consent struct{ Load, Faults, Purge bool }

// Node is one server.
type Node struct {
	ID       string   `json:"id"`                  // "n1"
	System   string   `json:"system"`              // "zookeeper"
	Addrs    []string `json:"addrs"`               // client addresses, host:port
	Host     string   `json:"host,omitempty"`      // empty or "localhost": this host
	DataDirs []string `json:"data_dirs,omitempty"` // ZooKeeper: dataDir (it holds version-2)
	LogDirs  []string `json:"log_dirs,omitempty"`  // ZooKeeper: dataLogDir; equals DataDirs when together
	Log      string   `json:"log,omitempty"`       // the server's log file
	GCLog    string   `json:"gc_log,omitempty"`    // -Xlog file, uptime nanoseconds
	Cgroup   string   `json:"cgroup,omitempty"`    // cgroup v2 directory of its own
	Role     Role     `json:"role,omitempty"`
	Proc     ProcRef  `json:"proc"`
	Start    Start    `json:"start"`
}

// Role of a node in its cluster, as the node itself says.
type Role string

// The roles of ZooKeeper servers.
const (
	Leader     Role = "leader"
	Follower   Role = "follower"
	Observer   Role = "observer"
	Standalone Role = "standalone"
	Unknown    Role = "" // does not answer or does not serve
)

// Start is how a node is started again. Exactly one way is set; none means that it can't be.
type Start struct {
	Owner string   `json:"owner,omitempty"` // unix socket of the process that owns the server, see Ask
	Argv  []string `json:"argv,omitempty"`  // a command of the user's
}

// Launch is what a server's start consists of; faults that wrap a start may change it.
type Launch struct {
	Argv []string
	Env  []string
	Dir  string
}

// Lookup tells a cluster as it is now: processes, and the roles the nodes say they have.
type Lookup func(ctx context.Context) (Cluster, error)
