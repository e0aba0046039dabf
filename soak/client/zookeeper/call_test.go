package zookeeper_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/soak/client/zookeeper"
	"nightshift/soak/lab/zkstub"
)

func TestOperations(t *testing.T) {
	inBubble(t, zkstub.Options{}, func(t *testing.T, e *zkstub.Ensemble) {
		c := connect(t, e, zookeeper.Options{})
		defer mustClose(t, c)
		check := func(what string, err, want error) {
			t.Helper()
			if !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", what, err, want)
			}
			if want != nil && zookeeper.InDoubt(err) {
				t.Errorf("%s: %v is in doubt though the server refused it", what, err)
			}
		}
		_, err := c.Create(ctx(), "/a", nil, 0)
		check("create", err, nil)
		_, err = c.Create(ctx(), "/a", nil, 0)
		check("create again", err, zookeeper.ErrNodeExists)
		_, err = c.Create(ctx(), "/no/where", nil, 0)
		check("create without parent", err, zookeeper.ErrNoNode)
		for i := range 2 {
			p, err := c.Create(ctx(), "/a/s-", []byte{}, zookeeper.Sequence|zookeeper.Ephemeral)
			check("create sequential", err, nil)
			if want := fmt.Sprintf("/a/s-%010d", i); p != want {
				t.Errorf("sequential node %q, want %q", p, want)
			}
		}
		names, err := c.Children(ctx(), "/a")
		check("list", err, nil)
		if len(names) != 2 {
			t.Errorf("children %v", names)
		}
		st, err := c.Set(ctx(), "/a", []byte("data"), 0)
		check("set", err, nil)
		if st.Version != 1 || st.NumChildren != 2 || st.Cversion != 2 || st.DataLength != 4 || st.Mzxid <= st.Czxid || st.Ctime == 0 {
			t.Errorf("stat %+v", st)
		}
		_, err = c.Set(ctx(), "/a", nil, 7)
		check("set another version", err, zookeeper.ErrBadVersion)
		check("delete with children", c.Delete(ctx(), "/a", -1), zookeeper.ErrNotEmpty)
		_, _, err = c.Get(ctx(), "/b")
		check("get nothing", err, zookeeper.ErrNoNode)
		b, st, err := c.Get(ctx(), "/a")
		check("get", err, nil)
		if string(b) != "data" || st.Version != 1 {
			t.Errorf("data %q, stat %+v", b, st)
		}
		there, _, err := c.Exists(ctx(), "/b")
		check("exists", err, nil)
		if there {
			t.Error("a node that was never made exists")
		}
		if _, err = c.Create(ctx(), "no-slash", nil, 0); err == nil || zookeeper.InDoubt(err) {
			t.Errorf("bad path: %v", err)
		}
	})
}

func TestNilDataIsNotEmptyData(t *testing.T) {
	inBubble(t, zkstub.Options{}, func(t *testing.T, e *zkstub.Ensemble) {
		c := connect(t, e, zookeeper.Options{})
		defer mustClose(t, c)
		for i, data := range [][]byte{{}, nil, []byte("x"), nil, {}} {
			p := fmt.Sprintf("/n%d", i)
			if _, err := c.Create(ctx(), p, data, 0); err != nil {
				t.Fatal(err)
			}
			got, _, err := c.Get(ctx(), p)
			if err != nil || !bytes.Equal(got, data) || (got == nil) != (data == nil) {
				t.Errorf("%#v came back as %#v, %v", data, got, err)
			}
		}
	})
}

func TestEveryOperationEndsAtItsDeadline(t *testing.T) {
	const limit = 3 * time.Second
	outage := map[string]func(*zkstub.Ensemble){
		"paused": func(e *zkstub.Ensemble) {
			for id := range 3 {
				e.Pause(id + 1)
			}
		},
		"stopped": func(e *zkstub.Ensemble) {
			for id := range 3 {
				e.Stop(id + 1)
			}
		},
	}
	for how, strike := range outage {
		t.Run(how, func(t *testing.T) {
			inBubble(t, zkstub.Options{}, func(t *testing.T, e *zkstub.Ensemble) {
				c := connect(t, e, zookeeper.Options{OpTimeout: limit, SessionTimeout: 30 * time.Second})
				ready(t, c)
				strike(e)
				for name, do := range every(c) {
					start := time.Now()
					err := do(ctx())
					took := time.Since(start)
					switch {
					case err == nil:
						t.Errorf("%s: no error without a server", name)
					case took > limit:
						t.Errorf("%s: returned after %v, limit %v", name, took, limit)
					case took < limit && errors.Is(err, zookeeper.ErrTimeout):
						t.Errorf("%s: timeout already after %v", name, took)
					}
				}
				if err := c.Close(closeTime); err == nil {
					t.Error("close said that the session is over")
				}
			})
		})
	}
}

func TestContextEndsACall(t *testing.T) {
	inBubble(t, zkstub.Options{Nodes: 1}, func(t *testing.T, e *zkstub.Ensemble) {
		c := connect(t, e, zookeeper.Options{})
		ready(t, c)
		e.Pause(1)
		for name, do := range every(c) {
			short, cancel := context.WithTimeout(ctx(), 50*time.Millisecond)
			start := time.Now()
			err := do(short)
			if time.Since(start) != 50*time.Millisecond || !errors.Is(err, zookeeper.ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v after %v", name, err, time.Since(start))
			}
			if !zookeeper.InDoubt(err) {
				t.Errorf("%s: %v is not in doubt", name, err)
			}
			cancel()
			if err := do(short); zookeeper.InDoubt(err) || !errors.Is(err, zookeeper.ErrTimeout) {
				t.Errorf("%s with a context that has ended: %v", name, err)
			}
		}
		e.Resume(1)
		synctest.Wait()
		mustClose(t, c)
	})
}

func TestAbandonedCallsAreCountedAndCapped(t *testing.T) {
	inBubble(t, zkstub.Options{Nodes: 1}, func(t *testing.T, e *zkstub.Ensemble) {
		c := connect(t, e, zookeeper.Options{OpTimeout: time.Second, SessionTimeout: 40 * time.Second})
		ready(t, c)
		e.Pause(1)
		data := []byte("payload of the caller")
		var calls sync.WaitGroup
		for i := range 64 {
			calls.Go(func() {
				_, err := c.Create(ctx(), fmt.Sprintf("/n%02d", i), data, 0)
				if zookeeper.Class(err) != "timeout" || !zookeeper.InDoubt(err) {
					t.Errorf("call %d: %v", i, err)
				}
			})
		}
		calls.Wait()
		if n := c.Abandoned(); n != 64 {
			t.Errorf("%d abandoned, want 64", n)
		}
		start := time.Now()
		_, err := c.Create(ctx(), "/refused", nil, 0)
		if !errors.Is(err, zookeeper.ErrTimeout) || zookeeper.InDoubt(err) || time.Since(start) != 0 || !strings.Contains(err.Error(), "64") {
			t.Errorf("call beyond the cap: %v after %v", err, time.Since(start))
		}
		// The caller may use its buffer again as soon as its call has returned; the library still holds the request.
		copy(data, bytes.Repeat([]byte("!"), len(data)))
		e.Resume(1)
		time.Sleep(time.Second)
		if n := c.Abandoned(); n != 0 {
			t.Errorf("%d still abandoned after the server went on", n)
		}
		if n := c.Counts(); n.Abandoned != 64 || n.Refused != 1 {
			t.Errorf("counts %+v", n)
		}
		for i := range 64 {
			got, _, err := c.Get(ctx(), fmt.Sprintf("/n%02d", i))
			if err != nil || string(got) != "payload of the caller" {
				t.Errorf("node %d holds %q, %v", i, got, err)
			}
		}
		mustClose(t, c)
	})
}

func TestUnsentIsNotInDoubt(t *testing.T) {
	inBubble(t, zkstub.Options{}, func(t *testing.T, e *zkstub.Ensemble) {
		for id := range 3 {
			e.Stop(id + 1)
		}
		c := connect(t, e, zookeeper.Options{OpTimeout: 10 * time.Second})
		_, err := c.Create(ctx(), "/x", nil, 0)
		if !errors.Is(err, zookeeper.ErrConnection) || zookeeper.InDoubt(err) {
			t.Errorf("create without any server: %v, in doubt %t", err, zookeeper.InDoubt(err))
		}
		if err := c.Close(closeTime); err != nil {
			t.Errorf("close without a session: %v", err)
		}
		if _, err := c.Create(ctx(), "/x", nil, 0); !errors.Is(err, zookeeper.ErrClosed) || zookeeper.InDoubt(err) {
			t.Errorf("create after close: %v", err)
		}
	})
}

func TestLostWriteIsInDoubt(t *testing.T) {
	inBubble(t, zkstub.Options{Latency: 10 * time.Millisecond}, func(t *testing.T, e *zkstub.Ensemble) {
		c := connect(t, e, zookeeper.Options{Order: 1})
		ready(t, c)
		time.AfterFunc(5*time.Millisecond, func() { e.Stop(1) })
		_, err := c.Create(ctx(), "/x", nil, 0)
		if !errors.Is(err, zookeeper.ErrConnection) || !zookeeper.InDoubt(err) {
			t.Errorf("create on a server that was killed: %v, in doubt %t", err, zookeeper.InDoubt(err))
		}
		if _, _, err := c.Exists(ctx(), "/x"); err != nil { // on another server, in the same session
			t.Error(err)
		}
		mustClose(t, c)
	})
}

func TestLargeRequestsAndAnswers(t *testing.T) {
	inBubble(t, zkstub.Options{}, func(t *testing.T, e *zkstub.Ensemble) {
		big := connect(t, e, zookeeper.Options{Buffer: 1 << 20})
		defer mustClose(t, big)
		var logged []string
		small := connect(t, e, zookeeper.Options{Buffer: 8 << 10, Log: func(s string) { logged = append(logged, s) }})
		defer mustClose(t, small)
		for n := 8<<10 - 200; n < 8<<10+200; n++ { // every length around the end of the buffer: it must not panic
			_, err := small.Set(ctx(), "/zookeeper", make([]byte, n), -1)
			if err != nil && (zookeeper.InDoubt(err) || !strings.Contains(err.Error(), "Options.Buffer")) {
				t.Fatalf("%d bytes: %v", n, err)
			}
			if err == nil && n > 8<<10 {
				t.Fatalf("%d bytes went through", n)
			}
		}
		if _, err := big.Create(ctx(), "/big", make([]byte, 100<<10), 0); err != nil {
			t.Fatal(err)
		}
		if b, _, err := big.Get(ctx(), "/big"); err != nil || len(b) != 100<<10 {
			t.Fatalf("%d bytes, %v", len(b), err)
		}
		_, _, err := small.Get(ctx(), "/big")
		if !errors.Is(err, zookeeper.ErrConnection) || !strings.Contains(err.Error(), "Options.Buffer") {
			t.Errorf("answer larger than the buffer: %v", err)
		}
		ready(t, small) // the connection comes back
	})
}

func TestForeignServer(t *testing.T) {
	for banner, says := range map[string]string{
		"HTTP/1.1 400 Bad Request\r\n\r\n": "does not answer like a ZooKeeper server",
		"\x00\x00\x00\x02ab":               "does not answer like a ZooKeeper server",
		"":                                 "no server could be reached",
	} {
		t.Run(says, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, err := zookeeper.Connect(zookeeper.Options{
					Servers: []string{"web:80"}, OpTimeout: 5 * time.Second,
					Dial: func(context.Context, string, string) (net.Conn, error) {
						client, server := net.Pipe()
						go func() {
							defer server.Close()
							server.Read(make([]byte, 256))
							server.Write([]byte(banner))
						}()
						return client, nil
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				err = c.Sync(ctx(), "/")
				if !errors.Is(err, zookeeper.ErrConnection) || zookeeper.InDoubt(err) || !strings.Contains(err.Error(), says) {
					t.Errorf("sync: %v", err)
				}
				mustClose(t, c)
			})
		})
	}
}
