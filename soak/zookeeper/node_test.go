package zookeeper

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	zkclient "nightshift/soak/client/zookeeper"

	"nightshift/soak/record"
)

func TestLostCreateIsToldFromExpiry(t *testing.T) {
	noNode := fmt.Errorf("delete: %w", zkclient.ErrNoNode)
	for name, c := range map[string]struct {
		before, after, deleter int64 // session ids around the create, and at the delete
		lost                   bool
	}{
		"same session":             {7, 7, 7, true},
		"expired before delete":    {7, 7, 8, false},
		"expired around create":    {7, 8, 8, false},
		"no session at delete":     {7, 7, 0, false},
		"no session around create": {0, 0, 0, false},
	} {
		n := node{path: "/p"}
		n.created(nil, c.before, c.after)
		v := n.deleted(noNode, c.deleter)
		if v.lost != c.lost {
			t.Errorf("%s: lost %v, want %v", name, v.lost, c.lost)
		}
		if want := map[bool]record.Outcome{true: record.Failed, false: record.OK}[c.lost]; v.outcome != want {
			t.Errorf("%s: outcome %v, want %v", name, v.outcome, want)
		}
		if n.state != absent {
			t.Errorf("%s: node is not absent", name)
		}
	}
}

// The book-keeping against a model: one session, a node that is there or not, answers that get lost.
// An honest server is never accused; a server that loses an acknowledged create is, at the next answered delete.
func TestBookKeepingAgainstAModel(t *testing.T) {
	doubtful := func(t *rapid.T) bool { return rapid.IntRange(0, 3).Draw(t, "answer lost") == 0 }
	lostAnswer := lostAnswer(t)
	rapid.Check(t, func(t *rapid.T) {
		n := node{path: "/p"}
		there := false // on the server
		planted := false
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			arrives := rapid.Bool().Draw(t, "arrives")
			if n.state == absent {
				var err error
				switch {
				case doubtful(t):
					err = lostAnswer
					there = there || arrives
				case there:
					err = zkclient.ErrNodeExists
				case !planted && rapid.IntRange(0, 5).Draw(t, "lose") == 0:
					planted = true // acknowledged, and dropped
				default:
					there = true
				}
				n.created(err, 1, 1)
				if err == nil && !there && n.state != present {
					t.Fatal("an acknowledged create is not taken as present")
				}
				continue
			}
			var err error
			switch {
			case doubtful(t):
				err = lostAnswer
				there = there && !arrives
				if planted {
					return // after an unanswered delete nobody can tell
				}
			case there:
				there = false
			default:
				err = zkclient.ErrNoNode
			}
			v := n.deleted(err, 1)
			if v.lost != (planted && errors.Is(err, zkclient.ErrNoNode)) {
				t.Fatalf("lost %v, planted %v, answer %v", v.lost, planted, err)
			}
			if v.lost {
				planted = false
			}
			if !errors.Is(err, lostAnswer) && n.state != absent {
				t.Fatal("an answered delete has not settled the node")
			}
		}
	})
}

func TestJudgeOfWatches(t *testing.T) {
	data := make([]byte, HeaderSize)
	Header{Seq: 4}.Seal(data)
	for name, c := range map[string]struct {
		data       []byte
		err        error
		seq        uint64
		sess, link bool
		want       watchVerdict
	}{
		"read on one connection": {data, nil, 4, true, true, missed},
		"reconnected meanwhile":  {data, nil, 4, true, false, askAgain},
		"session expired":        {data, nil, 4, false, true, excused},
		"node came and went":     {nil, zkclient.ErrNoNode, 4, true, true, excused},
		"no answer":              {nil, zkclient.ErrTimeout, 4, true, true, askAgain},
		"a later create":         {data, nil, 3, true, true, excused},
		"something else's node":  {[]byte("x"), nil, 4, true, true, excused},
	} {
		if got := judgeWatch(c.data, c.err, c.seq, c.sess, c.link); got != c.want {
			t.Errorf("%s: verdict %v, want %v", name, got, c.want)
		}
	}
}
