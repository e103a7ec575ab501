package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// ratioColumn is the name of the columns whose figures are compared with those of other
// machines.
const ratioColumn = "ratio"

// measured runs a part as often as the settings say, and returns the medians of its
// figures.
func (b *bench) measured(ctx context.Context, p part) ([]table, error) {
	var runs [][]table
	for n := range b.repeat {
		b.say("%s: %s, %d of %d", p.name, p.about, n+1, b.repeat)
		tables, err := p.measure(b, ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		runs = append(runs, tables)
	}
	out := runs[0]
	for i := range out {
		var same []table
		for _, tables := range runs {
			same = append(same, tables[i])
		}
		out[i] = middleOf(same)
	}
	return out, nil
}

// middleOf returns the table of the medians of the same table from several runs. A ratio
// has its least and greatest value beside it.
func middleOf(runs []table) table {
	out := runs[0]
	out.Rows = slices.Clone(out.Rows)
	for r := range out.Rows {
		out.Rows[r] = slices.Clone(out.Rows[r])
		for c := range out.Rows[r] {
			var cells []cell
			for _, run := range runs {
				if _, known := run.Rows[r][c].value.(float64); known {
					cells = append(cells, run.Rows[r][c])
				}
			}
			if len(cells) == 0 {
				continue // a label, or unknown
			}
			slices.SortFunc(cells, func(a, b cell) int { return cmp.Compare(a.value.(float64), b.value.(float64)) })
			middle := cells[len(cells)/2]
			if out.Columns[c] == ratioColumn && len(cells) > 1 {
				middle.text += fmt.Sprintf(" (%s–%s)", cells[0], cells[len(cells)-1])
			}
			out.Rows[r][c] = middle
		}
	}
	return out
}

// How the time of a sync is measured: files of about the size of an event.
const (
	syncs     = 51
	syncBytes = 2 << 10
)

// syncTime returns the median time in which the disk of a directory stores some bytes
// for good; 0 if they cannot be written.
func syncTime(dir string) time.Duration {
	path := filepath.Join(dir, "sync")
	file, err := os.Create(path) //nolint:gosec // in a directory of its own
	if err != nil {
		return 0
	}
	defer os.Remove(path) //nolint:errcheck // the directory is removed, too
	defer file.Close()    //nolint:errcheck // nothing of it is needed
	times := make([]time.Duration, 0, syncs)
	for range syncs {
		began := time.Now()
		if _, err := file.Write(make([]byte, syncBytes)); err != nil {
			return 0
		}
		if err := file.Sync(); err != nil {
			return 0
		}
		times = append(times, time.Since(began))
	}
	return median(times)
}
