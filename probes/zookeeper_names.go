package probes

import (
	"strconv"
	"strings"
)

// classify names what a file of a version-2 directory is, as the file types of record.File, and the zxid in
// the names of logs and snapshots. The names are those of Util.getZxidFromName, only stricter: what
// ZooKeeper's server would not write itself is foreign.
func classify(name string) (kind string, zxid uint64) {
	switch name {
	case "acceptedEpoch", "currentEpoch", "updatingEpoch":
		return fileEpoch, 0
	}
	if strings.HasSuffix(name, ".tmp") {
		return fileTemp, 0
	}
	base, rest, _ := strings.Cut(name, ".")
	switch base {
	case "log":
		if z, err := strconv.ParseUint(rest, 16, 63); err == nil {
			return fileLog, z
		}
	case "snapshot":
		rest = strings.TrimSuffix(strings.TrimSuffix(rest, ".gz"), ".snappy")
		if z, err := strconv.ParseUint(rest, 16, 63); err == nil {
			return fileSnapshot, z
		}
	}
	return fileForeign, 0
}
