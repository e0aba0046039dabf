package zookeeper

import (
	"strconv"
	"strings"
	"unicode"
)

// Zxid is a transaction id: the epoch of the leader in the high 32 bits, a counter in the low ones.
type Zxid int64

// String gives the id as ZooKeeper's own messages do: 0x and lower-case hex.
func (z Zxid) String() string { return "0x" + strconv.FormatUint(uint64(z), 16) }

// MarshalText writes the form of String, also in JSON.
func (z Zxid) MarshalText() ([]byte, error) { return []byte(z.String()), nil }

// UnmarshalText reads the form of String.
func (z *Zxid) UnmarshalText(b []byte) error {
	v, err := strconv.ParseInt(strings.TrimPrefix(string(b), "0x"), 16, 64)
	*z = Zxid(v)
	return err
}

// Epoch is the number of the leader that gave out the id.
func (z Zxid) Epoch() uint32 { return uint32(uint64(z) >> 32) }

// Counter counts the transactions of one epoch from 1.
func (z Zxid) Counter() uint32 { return uint32(uint64(z)) }

// Follows says whether no transaction can lie between prev and z: z is the next of the same epoch, or the first of a
// later one. An epoch in which nothing was written leaves no trace, so the epoch may grow by more than one. A server
// writes one record for every id, failed requests included.
func (z Zxid) Follows(prev Zxid) bool {
	if z.Epoch() == prev.Epoch() {
		return z == prev+1
	}
	return z.Epoch() > prev.Epoch() && z.Counter() == 1
}

// Kind says what a name in a version-2 directory stands for.
type Kind uint8

// The kinds of names. Foreign is everything that a server did not write under that name.
const (
	Foreign Kind = iota
	Log
	Snapshot
	Epoch
	Temp
)

var kindNames = [...]string{"foreign", "log", "snapshot", "epoch", "temp"}

// String gives the kind in lower case, as reports and JSON use it.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// MarshalText writes the form of String.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Compression is how a snapshot is packed, told by the end of its name (snapshot.compression.method, ZooKeeper 3.6).
type Compression uint8

// The packings that ZooKeeper can write.
const (
	Plain Compression = iota
	Gzip
	Snappy
)

// Name is what a file name says.
type Name struct {
	Kind        Kind
	Zxid        Zxid        // of a log its first transaction, of a snapshot the last one applied when its writing began
	Compression Compression // of a snapshot
}

// Classify parses a name as strictly as servers write it: log.<hex> and snapshot.<hex>[.gz|.snappy] with lower-case hex
// and neither sign nor padding. Anything looser is Foreign, whatever ZooKeeper would make of it: see ParseAsZooKeeper.
// The name alone does not say that it is a regular file, nor that its content is what the name promises.
func Classify(name string) Name {
	switch strings.TrimSuffix(name, ".tmp") {
	case "acceptedEpoch", "currentEpoch":
		if strings.HasSuffix(name, ".tmp") {
			return Name{Kind: Temp}
		}
		return Name{Kind: Epoch}
	case "updatingEpoch": // a marker that some 3.4 servers leave
		return Name{Kind: Epoch}
	}
	if hex, ok := strings.CutPrefix(name, "log."); ok {
		if z, ok := strictHex(hex); ok {
			return Name{Kind: Log, Zxid: z}
		}
		return Name{}
	}
	rest, ok := strings.CutPrefix(name, "snapshot.")
	if !ok {
		return Name{}
	}
	rest, temp := strings.CutSuffix(rest, ".tmp")
	hex, packed, _ := strings.Cut(rest, ".")
	n := Name{Kind: Snapshot}
	switch {
	case packed == "gz":
		n.Compression = Gzip
	case packed == "snappy":
		n.Compression = Snappy
	case hex != rest:
		return Name{}
	}
	if temp {
		n.Kind = Temp
	}
	if n.Zxid, ok = strictHex(hex); !ok {
		return Name{}
	}
	return n
}

// strictHex reads what Long.toHexString writes for a non-negative number.
func strictHex(s string) (Zxid, bool) {
	v, err := strconv.ParseInt(s, 16, 64)
	return Zxid(v), err == nil && v >= 0 && strconv.FormatInt(v, 16) == s
}

// ParseAsZooKeeper parses a name as loosely as ZooKeeper does (Util.getZxidFromName): the part after the first dot is a
// signed hex number, later parts are ignored. A name that is Foreign to Classify and parses here is taken by servers
// and by their purge for a real log or snapshot, and shadows the one that is needed.
func ParseAsZooKeeper(name string) (kind Kind, z Zxid, ok bool) {
	parts := strings.Split(name, ".")
	if len(parts) < 2 {
		return Foreign, 0, false
	}
	switch parts[0] {
	case "log":
		kind = Log
	case "snapshot":
		kind = Snapshot
	default:
		return Foreign, 0, false
	}
	v, err := strconv.ParseInt(asciiDigits(parts[1]), 16, 64)
	if err != nil {
		return Foreign, 0, false
	}
	return kind, Zxid(v), true
}

// asciiDigits maps the digits of other scripts to ASCII, because Java's Long.parseLong reads them too, as far as they are
// one UTF-16 unit.
func asciiDigits(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r <= unicode.MaxASCII:
			return r
		case 'Ａ' <= r && r <= 'Ｆ':
			return 'a' + r - 'Ａ'
		case 'ａ' <= r && r <= 'ｆ':
			return 'a' + r - 'ａ'
		}
		for _, t := range unicode.Nd.R16 {
			if rune(t.Lo) <= r && r <= rune(t.Hi) {
				return '0' + (r-rune(t.Lo))%10
			}
		}
		return r
	}, s)
}
