package report

import "time"

// The JSON form. Its keys stay; new ones may come, and all are always there. Times without a unit in their
// name are seconds from the begin of the run, sizes are bytes, lists are never null, and null is "not seen".
type document struct {
	Verdict      string        `json:"verdict"`
	Qualifier    string        `json:"qualifier"` // "without faults and purges"
	Reasons      []reason      `json:"reasons"`
	Run          runDoc        `json:"run"`
	Operations   []operation   `json:"operations"`
	Faults       []fault       `json:"faults"`
	Purges       []purge       `json:"purges"`
	Disks        []disk        `json:"disks"`
	Spikes       []spike       `json:"spikes"`
	SpikesLeft   int           `json:"spikes_left"` // how many lesser ones there were beyond those in spikes
	Findings     []finding     `json:"findings"`
	Notes        []note        `json:"notes"`
	Expectations []expectation `json:"expectations"`
	Self         self          `json:"self"`
}

type reason struct {
	Code     string   `json:"code"`
	Severity string   `json:"severity"`
	Text     string   `json:"text"`
	From     float64  `json:"from"`
	To       float64  `json:"to"`
	Evidence []string `json:"evidence"`
}

type runDoc struct {
	ID      string    `json:"id"`
	Plan    string    `json:"plan"`
	Seed    uint64    `json:"seed"`
	Started time.Time `json:"started"`
	Ended   string    `json:"ended"` // done, interrupted, failed: ..., or empty: live or killed
	Live    bool      `json:"live"`
	Load    float64   `json:"load"` // length of the load phase in seconds
	Replay  string    `json:"replay"`
	Nodes   []node    `json:"nodes"`
}

type node struct {
	ID      string `json:"id"`
	System  string `json:"system"`
	Addr    string `json:"addr"`
	Role    string `json:"role"`
	Up      bool   `json:"up"`
	Version string `json:"version"`
}

type operation struct {
	Workload   string  `json:"workload"`
	Operation  string  `json:"operation"`
	Size       int     `json:"size"`
	Count      uint64  `json:"count"`
	Failed     uint64  `json:"failed"`
	InDoubt    uint64  `json:"in_doubt"`
	Shed       uint64  `json:"shed"`
	Late       uint64  `json:"late"`
	TPS        float64 `json:"tps"`
	MeanMS     float64 `json:"mean_ms"`
	P50MS      float64 `json:"p50_ms"`
	P95MS      float64 `json:"p95_ms"`
	P99MS      float64 `json:"p99_ms"`
	P999MS     float64 `json:"p999_ms"`
	MaxMS      float64 `json:"max_ms"`
	RecentTPS  float64 `json:"recent_tps"`
	RecentMS   float64 `json:"recent_ms"`
	ServiceP99 float64 `json:"service_p99_ms"`
}

type fault struct {
	ID             string   `json:"id"`
	Kind           string   `json:"kind"`
	Node           string   `json:"node"`
	Role           string   `json:"role"`
	Bit            bool     `json:"bit"`
	Healed         bool     `json:"healed"`
	From           float64  `json:"from"`
	To             float64  `json:"to"`
	DetectMS       *float64 `json:"detect_ms"`
	FirstSuccessMS *float64 `json:"first_success_ms"`
	RecoveredMS    *float64 `json:"recovered_ms"`
	Skipped        string   `json:"skipped"`  // why it did not run; empty: it did
	Overdue        bool     `json:"overdue"`  // not recovered within its limit
	Unjudged       string   `json:"unjudged"` // why recovery could not be judged; empty: it was
	Error          string   `json:"error"`
	Proof          []string `json:"proof"`
}

type purge struct {
	Target     string   `json:"target"`
	Node       string   `json:"node"`
	At         float64  `json:"at"`
	Removed    int      `json:"removed"`
	Freed      int64    `json:"freed"`
	Kept       int      `json:"kept"`
	Restorable bool     `json:"restorable"`
	Zxid       string   `json:"zxid"`
	Refused    string   `json:"refused"` // why the janitor deleted nothing
	Error      string   `json:"error"`
	Files      []string `json:"files"`
}

type disk struct {
	Node      string  `json:"node"`
	Kind      string  `json:"kind"`
	Bytes     int64   `json:"bytes"`
	Allocated int64   `json:"allocated"`
	Files     int     `json:"files"`
	PerHour   float64 `json:"per_hour"`
	Judged    bool    `json:"judged"` // false: the run is too short for per_hour
	Peak      int64   `json:"peak"`
}

type spike struct {
	ID        string      `json:"id"`
	From      float64     `json:"from"`
	To        float64     `json:"to"`
	LongestMS float64     `json:"longest_ms"`
	Ops       uint64      `json:"ops"`
	Cause     string      `json:"cause"`
	Mechanism string      `json:"mechanism"`
	Share     float64     `json:"share"`
	Unknown   string      `json:"unknown"` // none, gap, ambiguous; empty: the cause is known
	Evidence  []candidate `json:"candidates"`
}

type candidate struct {
	Class   string  `json:"class"`
	Ref     string  `json:"ref"`
	Text    string  `json:"text"`
	Role    string  `json:"role"`
	Share   float64 `json:"share"`
	Like    int     `json:"like"`
	Without int     `json:"without_spike"`
	Score   float64 `json:"score"`
	Reason  string  `json:"reason"`
}

type note struct {
	At    float64 `json:"at"`
	Level string  `json:"level"`
	Lane  string  `json:"lane"`
	Code  string  `json:"code"`
	Text  string  `json:"text"`
}

type finding struct {
	Code     string   `json:"code"`
	Severity string   `json:"severity"`
	Subject  string   `json:"subject"`
	Text     string   `json:"text"`
	From     float64  `json:"from"`
	To       float64  `json:"to"`
	Count    int      `json:"count"`
	Evidence []string `json:"evidence"`
}

type expectation struct {
	Name   string `json:"name"`
	Expr   string `json:"expr"`
	Result string `json:"result"`
	Looked int    `json:"looked"`
	Broken int    `json:"broken"`
	Text   string `json:"text"`
}

type self struct {
	CPU     float64 `json:"cpu"` // mean, cores
	RSS     int64   `json:"rss"` // highest, bytes
	Written int64   `json:"written"`
}
