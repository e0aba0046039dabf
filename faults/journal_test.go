package faults

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func openJournal(t *testing.T) (*Journal, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), JournalName)
	j, err := OpenJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j, path
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func pendingIDs(t *testing.T, path string) string {
	t.Helper()
	r := NewReader(path)
	must(t, r.Refresh())
	var ids []string
	for _, p := range r.Pending() {
		ids = append(ids, p.Undo.ID+"="+string(p.Mark))
	}
	return strings.Join(ids, " ")
}

func TestJournalKeepsWhatIsNotHealed(t *testing.T) {
	j, path := openJournal(t)
	for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
		must(t, j.Prepared(Undo{ID: id, Kind: "kill", MaxLife: time.Second, Data: json.RawMessage(`{"x":1}`)}))
	}
	must(t, j.Mark("b", MarkInjected, ""))
	must(t, j.Mark("c", MarkReverted, ""))
	must(t, j.Mark("d", MarkGaveUp, "why"))
	must(t, j.Mark("e", MarkHealed, ""))
	must(t, j.Mark("f", MarkClosed, ""))
	if got := pendingIDs(t, path); got != "d=gave-up c=reverted b=injected a=prepared" {
		t.Errorf("pending: %s", got)
	}
	st, err := os.Stat(path)
	must(t, err)
	if st.Mode().Perm() != 0o600 {
		t.Errorf("mode is %v", st.Mode())
	}
	r := NewReader(path)
	must(t, r.Refresh())
	p := r.Pending()[3]
	if p.Undo.Kind != "kill" || p.Undo.MaxLife != time.Second || string(p.Undo.Data) != `{"x":1}` || p.By.Pid != os.Getpid() || p.Since <= 0 {
		t.Errorf("undo came back as %+v", p)
	}
}

// A writer may die at any byte of a line: what stood before it stays, and what comes after it is read.
func TestJournalTornAtAnyByte(t *testing.T) {
	whole, path := openJournal(t)
	must(t, whole.Prepared(Undo{ID: "a"}))
	must(t, whole.Mark("a", MarkInjected, ""))
	first, err := os.ReadFile(path)
	must(t, err)
	must(t, whole.Prepared(Undo{ID: "b"}))
	all, err := os.ReadFile(path)
	must(t, err)
	for n := len(first); n < len(all); n++ {
		torn := filepath.Join(t.TempDir(), "j")
		must(t, os.WriteFile(torn, all[:n], 0o600))
		if got := pendingIDs(t, torn); got != "a=injected" {
			t.Fatalf("torn at %d: %s", n, got)
		}
		j, err := OpenJournal(torn)
		must(t, err)
		must(t, j.Prepared(Undo{ID: "c"}))
		must(t, j.Close())
		got := pendingIDs(t, torn)
		if n == len(all)-1 { // only the newline was missing, and the next line has brought it
			got = strings.Replace(got, " b=prepared", "", 1)
		}
		if got != "c=prepared a=injected" {
			t.Fatalf("after torn at %d: %s", n, got)
		}
	}
}

func TestJournalReaderSaysWhatWasTorn(t *testing.T) {
	_, path := openJournal(t)
	must(t, os.WriteFile(path, []byte("{\"mark\":\"prep\n\n{\"mark\":\"prepared\",\"id\":\"x\"}\n"), 0o600))
	r := NewReader(path)
	must(t, r.Refresh())
	if len(r.Bad()) != 2 || !strings.Contains(r.Bad()[0], "line 1") || !strings.Contains(r.Bad()[1], "line 3") {
		t.Errorf("bad: %q", r.Bad())
	}
	if len(r.Pending()) != 0 {
		t.Errorf("pending: %v", r.Pending())
	}
}

// The guardian follows the journal while the tool writes it.
func TestJournalReaderFollows(t *testing.T) {
	dir := t.TempDir()
	r := NewReader(filepath.Join(dir, "j"))
	must(t, r.Refresh()) // not there yet
	j, err := OpenJournal(filepath.Join(dir, "j"))
	must(t, err)
	for i := range 50 {
		id := fmt.Sprint(i)
		must(t, j.Prepared(Undo{ID: id}))
		must(t, r.Refresh())
		if p := r.Pending(); len(p) != 1 || p[0].Undo.ID != id {
			t.Fatalf("pending: %+v", p)
		}
		must(t, j.Mark(id, MarkHealed, ""))
		must(t, r.Refresh())
	}
	if len(r.open) != 0 {
		t.Errorf("keeps %d", len(r.open))
	}
	must(t, j.Close())
}

// Tool and guardian append to the same file.
func TestJournalTwoWriters(t *testing.T) {
	a, path := openJournal(t)
	b, err := OpenJournal(path)
	must(t, err)
	var wg sync.WaitGroup
	for name, j := range map[string]*Journal{"a": a, "b": b} {
		for w := range 2 {
			wg.Go(func() {
				for i := range 20 {
					if err := j.Prepared(Undo{ID: fmt.Sprint(name, w, i)}); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	must(t, b.Close())
	r := NewReader(path)
	must(t, r.Refresh())
	if len(r.Pending()) != 80 || len(r.Bad()) != 0 {
		t.Errorf("%d pending, bad: %q", len(r.Pending()), r.Bad())
	}
}

// A tool that was stopped while it held the lock must not keep the guardian from writing.
func TestJournalLockHeldByAHungProcess(t *testing.T) {
	j, path := openJournal(t)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	defer func() { _ = f.Close() }()
	must(t, unix.Flock(int(f.Fd()), unix.LOCK_EX))
	must(t, j.Prepared(Undo{ID: "a"}))
	if got := pendingIDs(t, path); got != "a=prepared" {
		t.Errorf("pending: %s", got)
	}
}

func TestJournalThatCannotBeWritten(t *testing.T) {
	j, _ := openJournal(t)
	must(t, j.f.Close())
	if err := j.Prepared(Undo{ID: "a"}); err == nil {
		t.Error("no error")
	}
}

func TestPendingOverdue(t *testing.T) {
	p := Pending{Undo: Undo{MaxLife: 10 * time.Second}, Since: time.Minute, Mark: MarkInjected}
	for _, c := range []struct {
		now  time.Duration
		mark Mark
		want bool
	}{
		{70 * time.Second, MarkInjected, false},
		{71 * time.Second, MarkInjected, true},
		{71 * time.Second, MarkPrepared, true},
		{71 * time.Second, MarkReverted, false}, // its undo succeeded; the tool waits for it to heal
	} {
		p.Mark = c.mark
		if got := p.Overdue(c.now); got != c.want {
			t.Errorf("%s at %s: %v", c.mark, c.now, got)
		}
	}
}
