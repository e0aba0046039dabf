package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"nightshift/soak/target"
)

// HealLimit is how long Heal tries to undo one fault.
const HealLimit = 60 * time.Second

// Healer undoes what a journal says is still in effect.
type Healer struct {
	Host     Host
	Kinds    []Info        // nil: Kinds()
	Limit    time.Duration // for each fault; 0: HealLimit
	Say      func(string)  // what is done, one line each
	Orphaned bool          // the caller knows that the process which injected has ended
}

// Heal undoes what is pending in the journal at path, proves it, and writes it there; say is told what is done.
// It starts nothing whose owner is gone, ends no process, and may be called again. The error says what could not
// be undone: calling Heal again goes on with it.
func Heal(ctx context.Context, path string, host Host, say func(string)) error {
	return Healer{Host: host, Say: say}.Heal(ctx, path)
}

// Heal is the func Heal with the settings of h.
func (h Healer) Heal(ctx context.Context, path string) error {
	if h.Kinds == nil {
		h.Kinds = Kinds()
	}
	if h.Limit == 0 {
		h.Limit = HealLimit
	}
	r := NewReader(path)
	if err := r.Refresh(); err != nil {
		return err
	}
	for _, text := range r.Bad() {
		h.Say(text)
	}
	pending := r.Pending()
	if len(pending) == 0 {
		h.Say("no fault is left to undo")
		return nil
	}
	boot, err := target.BootID()
	if err != nil {
		return err
	}
	run := &healing{Healer: h, boot: boot}
	// A journal that can't be written must not keep us from undoing.
	run.journal, err = OpenJournal(path)
	errs := append(make([]error, 0, len(pending)+2), err)
	errs = append(errs, run.all(ctx, pending)...)
	if run.journal != nil {
		errs = append(errs, run.journal.Close())
	}
	return errors.Join(errs...)
}

// healing is one call of Heal.
type healing struct {
	Healer
	mu      sync.Mutex // of Say
	boot    string
	journal *Journal // nil when it can't be written
}

// all undoes each fault on its own, so that none waits for another.
func (h *healing) all(ctx context.Context, pending []Pending) []error {
	errs := make([]error, len(pending))
	var wg sync.WaitGroup
	for i, p := range pending {
		wg.Go(func() { errs[i] = h.one(ctx, p) })
	}
	wg.Wait()
	return errs
}

func (h *healing) one(ctx context.Context, p Pending) error {
	u := p.Undo
	what := fmt.Sprintf("%s (%s on %s)", u.ID, u.Kind, u.Scope.Node.ID)
	if u.BootID != h.boot {
		return h.end(u.ID, MarkClosed, what+": this host has been booted since; the process went with the other boot")
	}
	info, err := find(h.Kinds, u.Kind)
	if err != nil {
		return fmt.Errorf("undo %s: %w", what, err)
	}
	ctx, cancel := context.WithTimeout(ctx, h.Limit)
	defer cancel()
	ev, err := mend(ctx, info.New(h.Host), u, func() { h.say(what + ": reverted") })
	if errors.Is(err, target.ErrNoOwner) {
		return h.end(u.ID, MarkClosed, what+": the owner is gone and its servers with it; nothing was started")
	}
	if err != nil {
		err = fmt.Errorf("undo %s: not seen healed; %w", what, err)
		return errors.Join(err, h.mark(u.ID, MarkGaveUp, err.Error()))
	}
	if !h.Orphaned && p.By.Pid != os.Getpid() && p.By.Alive() {
		// It may be just about to inject: only itself, or its guardian after its end, closes the entry.
		h.say(fmt.Sprintf("%s: %s; process %d, which injected it, still runs and will end it itself", what, ev.Text, p.By.Pid))
		return nil
	}
	return h.end(u.ID, MarkHealed, what+": "+ev.Text)
}

// end says how it went and writes it down.
func (h *healing) end(id string, m Mark, text string) error {
	h.say(text)
	return h.mark(id, m, text)
}

func (h *healing) mark(id string, m Mark, text string) error {
	if h.journal == nil {
		return nil // that it can't be opened is among the errors already
	}
	return h.journal.Mark(id, m, text)
}

func (h *healing) say(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Say(text)
}

// RevertOverdue reverts what is pending in r and has outlived its life: the process that injected it hangs. It does
// not close the entry, because that process may wake up and inject: then the entry is overdue again.
func (h Healer) RevertOverdue(ctx context.Context, r *Reader) error {
	now, err := bootTime()
	if err != nil {
		return err
	}
	boot, err := target.BootID()
	if err != nil {
		return err
	}
	if h.Kinds == nil {
		h.Kinds = Kinds()
	}
	var errs []error
	for _, p := range r.Pending() {
		if p.Undo.BootID == boot && p.Overdue(now) {
			errs = append(errs, h.revertOverdue(ctx, p.Undo, r.path))
		}
	}
	return errors.Join(errs...)
}

func (h Healer) revertOverdue(ctx context.Context, u Undo, path string) error {
	info, err := find(h.Kinds, u.Kind)
	if err != nil {
		return fmt.Errorf("revert %s: %w", u.ID, err)
	}
	ctx, cancel := context.WithTimeout(ctx, revertAgain)
	defer cancel()
	if err := info.New(h.Host).Revert(ctx, u); err != nil {
		return fmt.Errorf("revert %s: %w", u.ID, err)
	}
	text := fmt.Sprintf("its life of %s was over and nobody had reverted it", u.MaxLife)
	h.Say(fmt.Sprintf("%s (%s on %s): reverted; %s", u.ID, u.Kind, u.Scope.Node.ID, text))
	// Not before the revert: a journal that can't be opened must not keep us from it.
	j, err := OpenJournal(path)
	if err != nil {
		return err
	}
	return errors.Join(j.Mark(u.ID, MarkReverted, text), j.Close())
}
