package zookeeper_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"nightshift/soak/client/zookeeper"
	"nightshift/soak/lab/zkstub"
)

func TestStatus(t *testing.T) {
	inBubble(t, zkstub.Options{}, func(t *testing.T, e *zkstub.Ensemble) {
		c := connect(t, e, zookeeper.Options{Order: 1})
		if _, err := c.Create(ctx(), "/a", nil, 0); err != nil {
			t.Fatal(err)
		}
		ask := zookeeper.Words{Dial: e.Dial}
		modes := map[string]int{}
		for _, addr := range e.Addrs() {
			st, err := ask.Status(ctx(), addr)
			if err != nil {
				t.Fatal(err)
			}
			modes[st.Mode]++
			if st.Zxid != e.Zxid() || st.Nodes != 6 || st.Version != "3.9.5" || st.Connections < 1 {
				t.Errorf("%s: %+v", addr, st)
			}
		}
		if modes["leader"] != 1 || modes["follower"] != 2 {
			t.Errorf("modes %v", modes)
		}
		mustClose(t, c)
		e.Stop(1)
		e.Stop(2)
		if _, err := ask.Status(ctx(), "n3:2181"); !errors.Is(err, zookeeper.ErrNotServing) {
			t.Errorf("without a quorum: %v", err)
		}
		if s, err := ask.Word(ctx(), "n3:2181", "ruok"); s != "imok" || err != nil {
			t.Errorf("ruok without a quorum: %q, %v", s, err)
		}
		if _, err := ask.Status(ctx(), "n1:2181"); err == nil || errors.Is(err, zookeeper.ErrNotServing) {
			t.Errorf("stopped server: %v", err)
		}
		e.Pause(3)
		start := time.Now()
		short, cancel := context.WithTimeout(ctx(), time.Second)
		defer cancel()
		if _, err := ask.Status(short, "n3:2181"); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("paused server: %v after %v", err, time.Since(start))
		}
		if _, err := ask.Status(ctx(), "n3:2181"); err == nil || time.Since(start) > 10*time.Second {
			t.Errorf("paused server without a deadline: %v after %v", err, time.Since(start))
		}
	})
}

func TestWordNotWhitelisted(t *testing.T) {
	inBubble(t, zkstub.Options{Words: []string{"srvr"}}, func(t *testing.T, e *zkstub.Ensemble) {
		ask := zookeeper.Words{Dial: e.Dial}
		if _, err := ask.Word(ctx(), "n1:2181", "mntr"); !errors.Is(err, zookeeper.ErrNotWhitelisted) {
			t.Errorf("mntr: %v", err)
		}
		if _, err := ask.Word(ctx(), "n1:2181", "srvr"); err != nil {
			t.Errorf("srvr: %v", err)
		}
		if _, err := ask.Word(ctx(), "n1:2181", "longer"); err == nil {
			t.Error("a word of six letters was sent")
		}
	})
}

// The answer of a 3.9 server, and answers that must not pass for one.
func TestStatusTexts(t *testing.T) {
	real := "Zookeeper version: 3.9.5-a1b2c3, built on 2025-10-01 10:00 UTC\nLatency min/avg/max: 0/0.5/12\nReceived: 10\nSent: 9\n" +
		"Connections: 3\nOutstanding: 0\nZxid: 0xf00000001\nMode: leader\nNode count: 7\nProposal sizes last/min/max: 48/48/36\n"
	serve := func(text string) zookeeper.Words {
		return zookeeper.Words{Dial: func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			go func() {
				server.Read(make([]byte, 4))
				server.Write([]byte(text))
				server.Close()
			}()
			return client, nil
		}}
	}
	st, err := serve(real).Status(ctx(), "x:1")
	want := zookeeper.ServerStatus{Version: "3.9.5", Mode: "leader", Zxid: 0xf00000001, Nodes: 7, Connections: 3}
	if err != nil || st != want {
		t.Errorf("%+v, %v", st, err)
	}
	for _, text := range []string{"", "HTTP/1.1 400 Bad Request\r\n", strings.Replace(real, "0xf00000001", "zero", 1), strings.Replace(real, "Node count: 7", "Node count: many", 1)} {
		if st, err := serve(text).Status(ctx(), "x:1"); err == nil {
			t.Errorf("%q passed for %+v", text, st)
		}
	}
}
