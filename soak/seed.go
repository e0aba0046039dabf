package soak

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
)

// Seed is the one source of all chance in a run.
type Seed uint64

// Stream is the random stream of one lane or worker: the same seed and name give the same stream,
// and no stream depends on what another one draws.
func (s Seed) Stream(name string) *rand.Rand {
	h := sha256.New()
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(s))
	h.Write(b[:])
	h.Write([]byte(name))
	return rand.New(rand.NewChaCha8([32]byte(h.Sum(nil))))
}
