package night

import (
	"context"
	"fmt"
	"io"
	"time"

	"nightshift/probes"
	"nightshift/soak/config"
	"nightshift/soak/record"
)

// Watch looks at data directories until ctx ends, or count times (0: no end), and hands each look to show.
func Watch(ctx context.Context, dirs []string, every time.Duration, count int, show func(probes.DirUsage) error) error {
	if every < time.Second {
		return usagef("--every must be at least 1s")
	}
	var watches []*probes.DirWatch
	for _, d := range dirs {
		w, err := probes.WatchDir(d)
		if err != nil {
			return kindError{ErrUsage, err}
		}
		watches = append(watches, w)
	}
	for n := 1; ; n++ {
		for _, w := range watches {
			u, err := w.Look(ctx, time.Now())
			if err != nil {
				return err
			}
			if err := show(u); err != nil {
				return err
			}
		}
		if n == count || !record.Wait(ctx, every) {
			return nil
		}
	}
}

// ShowUsage prints one look.
func ShowUsage(w io.Writer, u probes.DirUsage) error {
	_, err := fmt.Fprintf(w, "%s  %s, %s allocated; %s\n", u.Dir, config.Bytes(u.Bytes), config.Bytes(u.Allocated), outlook(u))
	for _, h := range u.Kinds {
		if err == nil && h.Count > 0 {
			_, err = fmt.Fprintf(w, "  %-9s %5d files  %10s  %10s allocated\n", h.Kind, h.Count, config.Bytes(h.Bytes), config.Bytes(h.Allocated))
		}
	}
	return err
}

func outlook(u probes.DirUsage) string {
	free := fmt.Sprintf("%s free", config.Bytes(u.Free))
	switch {
	case u.At == 0:
		return free
	case u.ToFull > 0:
		return fmt.Sprintf("grows by %s/h, %s, full in %s", config.Bytes(u.PerHour), free, u.ToFull.Round(time.Minute))
	}
	return free + ", does not grow"
}
