package decide

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"intenthint/internal/kv"
)

// A rubric whose words changed is another rubric. Where a person says that it continues
// the earlier one, its student also learns from that one's answers and marks. What it
// may answer alone is proven anew: its teacher may understand the new words otherwise.

// Errors of [Store.Continue].
var (
	ErrUnknownRubric = errors.New("this rubric is not stored")
	ErrOtherQuestion = errors.New("the two questions have another type, or fewer than two labels in common")
	ErrCircle        = errors.New("the earlier rubric continues this one")
)

// lineage returns a rubric and those that it continues, the latest first. earlier
// returns the one that a rubric continues, "" for none.
func lineage(earlier func(rubric string) string, rubric string) []string {
	out := []string{rubric}
	for {
		before := earlier(out[len(out)-1])
		if before == "" || slices.Contains(out, before) {
			return out
		}
		out = append(out, before)
	}
}

// earlierIn returns which rubric another one continues.
func earlierIn(known map[string]*Rubric) func(rubric string) string {
	return func(rubric string) string {
		if r := known[rubric]; r != nil {
			return r.Continues
		}
		return ""
	}
}

func byID(all []Rubric) map[string]*Rubric {
	out := make(map[string]*Rubric, len(all))
	for i := range all {
		out[all[i].ID] = &all[i]
	}
	return out
}

// Continue says that a rubric continues an earlier one, "" for none.
func (s *Store) Continue(ctx context.Context, rubric, earlier string) error {
	if earlier != "" {
		all, err := s.Rubrics(ctx)
		if err != nil {
			return err
		}
		if err := mayContinue(byID(all), rubric, earlier); err != nil {
			return err
		}
	}
	found := false
	_, err := kv.Change(ctx, s.rubrics, rubric, func(known *kv.Value[Rubric]) (write bool, err error) {
		found, write = known.V.ID != "", known.V.Continues != earlier
		known.V.Continues = earlier
		return found && write, nil
	})
	if err == nil && !found {
		err = fmt.Errorf("%w: %s", ErrUnknownRubric, rubric)
	}
	return err
}

func mayContinue(known map[string]*Rubric, rubric, earlier string) error {
	questions := make([]Question, 2)
	for i, id := range []string{rubric, earlier} {
		if known[id] == nil {
			return fmt.Errorf("%w: %s", ErrUnknownRubric, id)
		}
		var err error
		if questions[i], err = known[id].Parsed(); err != nil {
			return err
		}
	}
	if slices.Contains(lineage(earlierIn(known), earlier), rubric) {
		return ErrCircle
	}
	if !Similar(&questions[0], &questions[1]) {
		return ErrOtherQuestion
	}
	return nil
}

// Similar reports whether one question may continue the other: answers to one are
// answers to the other.
func Similar(a, b *Question) bool {
	common := 0
	for _, label := range a.Labels {
		if slices.Contains(b.Labels, label) {
			common++
		}
	}
	return a.Type == b.Type && common > 1
}

// Lessons returns what the student of a rubric learns from, oldest first: the answers
// about it and about those that it continues.
func (s *Store) Lessons(ctx context.Context, rubric string) ([]Record, error) {
	all, err := s.Rubrics(ctx)
	if err != nil {
		return nil, err
	}
	var own, inherited []Record
	for i, id := range lineage(earlierIn(byID(all)), rubric) {
		records, err := s.Records(ctx, id)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			own = records
		} else {
			inherited = append(inherited, records...)
		}
	}
	return joined(own, inherited), nil
}

// joined returns a rubric's answers and as many inherited ones, the newest, as there is
// room for; oldest first.
func joined(own, inherited []Record) []Record {
	sortRecords(inherited)
	room := max(maxRecords-len(own), 0)
	out := slices.Concat(inherited[max(len(inherited)-room, 0):], own)
	sortRecords(out)
	return out
}
