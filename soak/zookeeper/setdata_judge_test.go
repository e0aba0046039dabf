package zookeeper

import (
	"testing"

	"pgregory.net/rapid"

	zkclient "nightshift/soak/client/zookeeper"
)

func sealed(h Header) []byte {
	b := make([]byte, HeaderSize)
	h.Seal(b)
	return b
}

func TestJudgeOfValues(t *testing.T) {
	v := value{path: "/p", acked: 5, sent: 7}
	damaged := sealed(Header{Run: 1, Unit: 2, Seq: 6})
	damaged[30] ^= 1
	for name, c := range map[string]struct {
		data   []byte
		exists bool
		want   string
	}{
		"last acknowledged": {sealed(Header{Run: 1, Unit: 2, Seq: 5}), true, ""},
		"in doubt, arrived": {sealed(Header{Run: 1, Unit: 2, Seq: 7}), true, CodeRecovered},
		"older":             {sealed(Header{Run: 1, Unit: 2, Seq: 4}), true, CodeWriteLost},
		"no node":           {nil, false, CodeWriteLost},
		"never sent":        {sealed(Header{Run: 1, Unit: 2, Seq: 8}), true, CodeDataWrong},
		"of another run":    {sealed(Header{Run: 9, Unit: 2, Seq: 6}), true, CodeDataWrong},
		"of another path":   {sealed(Header{Run: 1, Unit: 3, Seq: 6}), true, CodeDataWrong},
		"damaged":           {damaged, true, CodeDataWrong},
		"empty":             {nil, true, CodeDataWrong},
	} {
		if code, text := v.judge(c.data, c.exists, 1, 2); code != c.want || (code != "") != (text != "") {
			t.Errorf("%s: got %q %q, want %q", name, code, text, c.want)
		}
	}
}

// The version arithmetic against a model server that applies every set it gets, or loses one it has acknowledged.
func TestVersionsTellWhatBecameOfSets(t *testing.T) {
	lostAnswer := lostAnswer(t)
	rapid.Check(t, func(t *rapid.T) {
		v := value{path: "/p"}
		var version int32 // on the server
		applied, recovered, losses, told := 0, 0, 0, 0
		for range rapid.IntRange(1, 50).Draw(t, "sets") {
			v.sent++
			switch rapid.IntRange(0, 5).Draw(t, "fate") {
			case 0: // answer lost, applied
				if losses > told {
					continue // it would make up for the loss: the versions can't tell
				}
				version++
				applied++
				v.answered(lostAnswer, 0)
			case 1: // answer lost, never arrived
				v.answered(lostAnswer, 0)
			case 2: // refused
				v.answered(zkclient.ErrAuth, 0)
			case 3: // acknowledged and dropped: the server says a version it then does not have
				if losses > told {
					continue
				}
				lost, _ := v.answered(nil, version+1)
				if lost != "" {
					t.Fatal("a loss was told before it could be known")
				}
				recovered, losses = applied, losses+1
			default:
				version++
				lost, n := v.answered(nil, version)
				recovered += n
				if (lost != "") != (losses > told) {
					t.Fatalf("told %q, losses %d, told before %d", lost, losses, told)
				}
				if lost != "" {
					told++
					recovered = applied
				}
				if recovered != applied && losses == 0 {
					t.Fatalf("%d sets in doubt were applied, %d are known", applied, recovered)
				}
			}
		}
	})
}
