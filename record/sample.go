package record

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"time"

	"intenthint/payload"
	"intenthint/store"
)

// SampleSize is how many turns of a day are its random sample. A person marks ten in
// about two minutes, and within two weeks the interval is narrower than ten points.
const SampleSize = 10

// placeOf returns a turn's place in a random order of all turns. It depends on nothing but the
// turn's name, least of all on its confidence, and is the same in every process.
func placeOf(session, run string) uint64 {
	sum := sha256.Sum256([]byte(session + "\x00" + run))
	return binary.BigEndian.Uint64(sum[:])
}

// Draw returns n of the classified turns, chosen at random, oldest first. Of more turns it
// chooses the same ones, or others that it draws before them.
func Draw(entries []Entry, n int) []Entry {
	type drawn struct {
		place uint64
		Entry
	}
	var all []drawn
	for _, e := range entries {
		if e.Confidence != nil && e.Text != "" {
			all = append(all, drawn{placeOf(e.Session.Token, e.RunID), e})
		}
	}
	slices.SortFunc(all, func(a, b drawn) int { return cmp.Or(cmp.Compare(a.place, b.place), a.Compare(&b.Turn)) })
	var out []Entry
	for _, d := range all[:min(n, len(all))] {
		out = append(out, d.Entry)
	}
	slices.SortStableFunc(out, func(a, b Entry) int { return a.Compare(&b.Turn) })
	return out
}

// sampled is a drawn turn and what a person said of it, "" for nothing.
type sampled struct {
	place   uint64
	verdict string
}

// dailySample collects the first [SampleSize] turns of every day in the random order.
type dailySample struct{ days map[string][]sampled }

func (s *dailySample) add(day string, session store.Summary, turn *store.Turn) {
	if turn.Intent.Result == nil {
		return
	}
	next := sampled{place: placeOf(session.Token, turn.RunID)}
	if turn.Feedback != nil {
		next.verdict = turn.Feedback.Verdict
	}
	drawn := s.days[day]
	at, _ := slices.BinarySearchFunc(drawn, next, func(a, b sampled) int { return cmp.Compare(a.place, b.place) })
	if at >= SampleSize {
		return
	}
	drawn = slices.Insert(drawn, at, next)
	s.days[day] = drawn[:min(len(drawn), SampleSize)]
}

// SampleReport is how right the classification is, judging by the turns of the random
// sample that people marked (contract §10).
type SampleReport struct {
	// PerDay is how many turns of a day are drawn, Drawn how many there are.
	PerDay int `json:"perDay"`
	Drawn  int `json:"drawn"`
	// Marked counts those that were marked, Right those marked right.
	Marked int `json:"marked"`
	Right  int `json:"right"`
	// Accuracy is Right of Marked, and Interval its 95 % interval; nil without marks.
	Accuracy *float64    `json:"accuracy"`
	Interval *[2]float64 `json:"interval"`
}

func (s *dailySample) report() SampleReport {
	out := SampleReport{PerDay: SampleSize}
	for _, drawn := range s.days {
		out.Drawn += len(drawn)
		for _, d := range drawn {
			switch d.verdict {
			case payload.VerdictRight:
				out.Right++
				out.Marked++
			case payload.VerdictWrong:
				out.Marked++
			}
		}
	}
	if out.Marked > 0 {
		accuracy, interval := float64(out.Right)/float64(out.Marked), wilson(out.Right, out.Marked)
		out.Accuracy, out.Interval = &accuracy, &interval
	}
	return out
}

// wilson returns the 95 % interval of a share by Wilson's score, which holds for few
// trials and for shares near 0 and 1. n is positive.
func wilson(right, n int) [2]float64 {
	const z = 1.959964 // the 97.5 % quantile of the normal distribution
	total := float64(n)
	p := float64(right) / total
	center := (p + z*z/(2*total)) / (1 + z*z/total)
	width := z / (1 + z*z/total) * math.Sqrt(p*(1-p)/total+z*z/(4*total*total))
	return [2]float64{max(0, center-width), min(1, center+width)}
}

// dayOf returns the day of a time in milliseconds, like 2026-11-22.
func dayOf(ts int64, in *time.Location) string {
	return time.UnixMilli(ts).In(in).Format(time.DateOnly)
}
