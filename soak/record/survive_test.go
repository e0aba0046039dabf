package record

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// childEnv makes this test binary a writer that is to be killed.
const childEnv = "RECORD_TEST_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		fmt.Println(writeUntilKilled(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// writeUntilKilled says how many seconds of the run are committed, each time some more are.
func writeUntilKilled(dir string) error {
	s, err := Create(dir, NewClock(), Run{ID: "child"})
	if err != nil {
		return err
	}
	for i := 1; ; i++ {
		now := time.Duration(i) * sec
		s.Emit(window(now, 1e6, 2e6))
		s.Emit(Series{at(now), "s", "", "1", float64(i)})
		s.Emit(Note{Stamp: at(now), Text: "n"})
		if i%10 == 0 {
			if err := s.Flush(); err != nil {
				return err
			}
			fmt.Println(i)
		}
	}
}

func TestKilledWriterLosesNothingCommitted(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines, committed := bufio.NewScanner(out), 0
	for lines.Scan() {
		if _, err := fmt.Sscan(lines.Text(), &committed); err != nil {
			t.Errorf("child: %s", lines.Text())
			break
		}
		if committed == 300 { // it goes on writing while it is killed
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || committed < 300 {
		t.Fatalf("child ended with %v after %d", err, committed)
	}
	holds(t, dir, committed)
}

// holds checks a record of writeUntilKilled: it must hold at least the first n seconds, each kind of thing
// as many as the others, and reading must not change the files.
func holds(t *testing.T, dir string, n int) {
	t.Helper()
	before := contents(t, dir)
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	windows := windowsOf(t, r, WindowQuery{})
	samples := must[[]Point](t)(r.Samples(SeriesKey{"s", "", "1"}, Span{}))
	notes := must[[]Note](t)(Events[Note](r, Span{}))
	if len(windows) < n || len(samples) != len(windows) || len(notes) != len(windows) {
		t.Errorf("%d windows, %d samples, %d notes, want %d at least", len(windows), len(samples), len(notes), n)
	}
	for _, step := range []time.Duration{Minute, Quarter} {
		sameWindows(t, windowsOf(t, r, WindowQuery{Step: step}), summed(t, r, step))
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if contents(t, dir) != before {
		t.Error("reading changed the record")
	}
}

// contents are the files that matter to the writer.
func contents(t *testing.T, dir string) string {
	t.Helper()
	all := ""
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(filepath.Join(dir, FileName+suffix))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		all += fmt.Sprintf("%d %x ", len(b), b)
	}
	return all
}

// abandoned is the record of a run that lives on elsewhere, as a copy of its files. Another process
// makes the copy, as closing the file in this one would drop SQLite's locks.
func abandoned(t *testing.T, n int) string {
	t.Helper()
	from, to := t.TempDir(), t.TempDir()
	s := create(t, from)
	for i := 1; i <= n; i++ {
		now := time.Duration(i) * sec
		s.Emit(window(now, 1e6, 2e6))
		s.Emit(Series{at(now), "s", "", "1", float64(i)})
		s.Emit(Note{Stamp: at(now), Text: "n"})
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal"} {
		if out, err := exec.Command("cp", filepath.Join(from, FileName+suffix), to).CombinedOutput(); err != nil {
			t.Fatalf("cp: %v: %s", err, out)
		}
	}
	return to
}

func TestCopyOfALiveRecord(t *testing.T) {
	dir := abandoned(t, 137)
	holds(t, dir, 137)
	holds(t, dir, 137) // and again, with what the first reader left
}

func TestReaderOfALiveRecord(t *testing.T) {
	dir := t.TempDir()
	s := create(t, dir)
	r := open(t, dir)
	for i := range 100 {
		s.Emit(window(time.Duration(i)*sec, 1e6))
		if i%10 == 9 {
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
			if n := len(windowsOf(t, r, WindowQuery{})); n != i+1 {
				t.Errorf("%d windows, want %d", n, i+1)
			}
		}
	}
	// In the middle of a query the writer goes on and the reader sees what was; a callback may ask more.
	n := 0
	err := r.Windows(WindowQuery{}, func(Window) error {
		if n++; n == 1 {
			s.Emit(window(100*sec, 1e6))
			if err := s.Flush(); err != nil {
				return err
			}
			_, err := r.End()
			return err
		}
		return nil
	})
	if err != nil || n != 100 {
		t.Errorf("%d windows, %v; want 100", n, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := len(windowsOf(t, r, WindowQuery{})); n != 101 {
		t.Errorf("%d windows after the end, want 101", n)
	}
	if info, err := os.Stat(filepath.Join(dir, FileName+"-wal")); err != nil || info.Size() != 0 {
		t.Errorf("the log is not copied back: %v, %v", info, err)
	}
}

func TestFinishedRecordIsOneFile(t *testing.T) {
	dir := t.TempDir()
	s := create(t, dir)
	s.Emit(window(0, 1e6))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Errorf("%v, %v; want %s alone", files, err, FileName)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
	if err := s.Flush(); err == nil {
		t.Error("Flush after Close is no error")
	}
}

// tmpfs mounts a small file system, where this process may.
func tmpfs(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		if os.Getenv("NIGHTSHIFT_LAB") == "require" {
			t.Fatalf("mount tmpfs: %v", err)
		}
		t.Skipf("a small file system can't be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}

func TestFullDisk(t *testing.T) {
	dir := tmpfs(t, "2m")
	s := create(t, dir)
	flushed := 0
	for i := 0; s.Err() == nil; i++ {
		if i > 1e6 {
			t.Fatal("the disk does not get full")
		}
		s.Emit(Note{Stamp: at(time.Duration(i)), Text: strings.Repeat("x", 100)})
		if i%100 == 99 && s.Flush() == nil {
			flushed = i + 1
		}
	}
	<-s.Done()
	if err := s.Err(); !strings.Contains(err.Error(), "full") {
		t.Errorf("got %v, want that the disk is full", err)
	}
	s.Emit(Note{})
	if err := s.Close(); !errors.Is(err, s.Err()) {
		t.Errorf("Close says %v", err)
	}
	notes := must[[]Note](t)(Events[Note](open(t, dir), Span{}))
	if len(notes) < flushed || flushed == 0 {
		t.Errorf("%d notes, %d were committed", len(notes), flushed)
	}
}

func TestReadOnlyPlace(t *testing.T) {
	for _, state := range []string{"finished", "killed"} {
		t.Run(state, func(t *testing.T) {
			from := abandoned(t, 50)
			if state == "finished" {
				from = t.TempDir()
				s := create(t, from)
				for i := 1; i <= 50; i++ {
					s.Emit(window(time.Duration(i)*sec, 1e6))
					s.Emit(Series{at(time.Duration(i) * sec), "s", "", "1", 1})
					s.Emit(Note{Text: "n"})
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			dir := tmpfs(t, "8m")
			if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
				t.Fatal(err)
			}
			if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
				t.Fatal(err)
			}
			t.Setenv("TMPDIR", t.TempDir())
			holds(t, dir, 50)
			if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) != 0 {
				t.Errorf("left in TMPDIR: %v, %v", left, err)
			}
			if t.Setenv("TMPDIR", filepath.Join(dir, "none")); state == "killed" {
				if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "copy record.db and record.db-wal") {
					t.Errorf("got %v, want what to do", err)
				}
			}
		})
	}
}

// TestStallIsNoted has the writer begin late, when the queue has been full for a while.
func TestStallIsNoted(t *testing.T) {
	dir := t.TempDir()
	const sent = 3 * queueLen
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(dir, FileName)
		w, err := newWriter(path, Run{ID: "r"})
		if err != nil {
			t.Fatal(err)
		}
		s := newStore(path, NewClock())
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range sent {
				s.Emit(Note{Text: "n"})
			}
		}()
		time.Sleep(2 * stallAfter)
		go s.write(w)
		<-done
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
	var stalls []Note
	rest := 0
	for _, n := range must[[]Note](t)(Events[Note](open(t, dir), Span{})) {
		if n.Code == NoteRecordStall {
			stalls = append(stalls, n)
		} else {
			rest++
		}
	}
	if len(stalls) != 1 || !strings.Contains(stalls[0].Text, "1 events waited") || !strings.Contains(stalls[0].Text, "longest 100ms") || rest != sent {
		t.Errorf("stalls %+v, and %d of %d others", stalls, rest, sent)
	}
}

func TestWhatCannotBeWrittenBecomesANote(t *testing.T) {
	dir := t.TempDir()
	s := create(t, dir)
	s.Emit(&Note{Text: "a pointer"})
	nan := 0.0
	s.Emit(Evidence{Magnitude: nan / nan})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	notes := must[[]Note](t)(Events[Note](open(t, dir), Span{}))
	if len(notes) != 2 || !strings.Contains(notes[0].Text, "*record.Note") || !strings.Contains(notes[1].Text, "NaN") {
		t.Errorf("got %+v", notes)
	}
}

// TestReadersLeaveAFinishedRecordAlone: reading makes no file beside it.
func TestReadersLeaveAFinishedRecordAlone(t *testing.T) {
	dir := t.TempDir()
	s := create(t, dir)
	s.Emit(Note{Stamp: at(sec), Lane: "x", Text: "y"})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if notes, err := Events[Note](r, Span{}); err != nil || len(notes) != 1 {
		t.Errorf("%v %v", notes, err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Errorf("beside the record: %v %v", files, err)
	}
}
