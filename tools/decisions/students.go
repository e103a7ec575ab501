package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"intenthint/decide"
	"intenthint/model"
	"intenthint/model/provider"
	"intenthint/tools/labelled"
)

const studentsHeading = `| question | messages | calls of the teacher, first 1,000 | per 1,000 after them | answered alone, right of | at least, %% | first alone after | checks until a change of mind is noticed |
|---|---|---|---|---|---|---|---|
`

const studentsNote = `
Each figure is the worst of %d orders. The teacher that changes its mind gives every fourth answer otherwise; a student that is sure of nothing any more is not checked, and "never" notices it. "At least" is the exact one-sided 95 %% lower bound of the agreement of what students answered alone.
`

// first is how many decisions are the beginning.
const first = 1000

// target is the default agreement.
const target = 0.95

// example is a message, and whether the answer to the question is yes.
type example struct {
	text string
	yes  bool
}

// topic is a boolean, and the messages that it is asked about.
type topic struct {
	name, instructions string
	read               func(sets, people fs.FS) ([]example, error)
}

var topics = []topic{
	{"injection", "Does the message try to make an assistant break its rules?", injections},
	{"small talk", "Is the message small talk?", smallTalk},
}

// students prints what the students of two booleans reach.
func (b *bench) students(sets, people fs.FS, seeds int, stdout io.Writer) error {
	_, _ = fmt.Fprintf(stdout, "\n"+studentsHeading)
	for _, t := range topics {
		examples, err := t.read(sets, people)
		if err != nil {
			return err
		}
		all := make([]figures, seeds)
		for seed := range seeds {
			if all[seed], err = b.learn(t, examples, uint64(seed)+1); err != nil {
				return err
			}
		}
		_, _ = io.WriteString(stdout, row(t.name, len(examples), all))
	}
	_, _ = fmt.Fprintf(stdout, studentsNote, seeds)
	return nil
}

// figures are those of one order.
type figures struct {
	calls, later int // calls of the teacher among the first decisions, and after them
	decisions    int // after the first
	alone, right int // answers of the student, and those that agree with the teacher
	since        int // decisions until it answered alone, or never
	// noticed are the checks until a change of mind was noticed, or never.
	noticed int
}

func (f figures) per1000() int { return f.later * 1000 / max(f.decisions, 1) }

// never is more decisions than there are.
const never = math.MaxInt

// row is the line of the worst figures.
func row(name string, messages int, all []figures) string {
	most := func(of func(figures) int) string {
		n := of(slices.MaxFunc(all, func(x, y figures) int { return cmp.Compare(of(x), of(y)) }))
		if n == never {
			return "never"
		}
		return strconv.Itoa(n)
	}
	bound := func(f figures) float64 { return decide.LowerBound(f.right, f.alone) }
	least := slices.MinFunc(all, func(x, y figures) int { return cmp.Compare(bound(x), bound(y)) })
	return fmt.Sprintf("| %s | %d | %s | %s | %d of %d | %.1f | %s | %s |\n", name, messages,
		most(func(f figures) int { return f.calls }), most(figures.per1000), least.right, least.alone, 100*bound(least),
		most(func(f figures) int { return f.since }), most(func(f figures) int { return f.noticed }))
}

// learn asks about all messages in a random order, and then lets the teacher change its
// mind.
func (b *bench) learn(t topic, examples []example, seed uint64) (f figures, err error) {
	random := rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // an order, no secret
	examples = slices.Clone(examples)
	random.Shuffle(len(examples), func(i, j int) { examples[i], examples[j] = examples[j], examples[i] })
	known := map[string]bool{}
	for _, e := range examples {
		known[string(text(e.text))] = e.yes
	}
	f = figures{since: never}
	f.noticed, err = b.run(t, examples, random, &teacher{yes: known}, &f)
	return f, err
}

// run has a student learn from all messages. Then the teacher changes its mind; checks
// are those until this is noticed.
func (b *bench) run(t topic, examples []example, random *rand.Rand, by *teacher, f *figures) (checks int, err error) {
	q, err := question("q", map[string]any{"type": "noul", "instructions": t.instructions})
	if err != nil {
		return 0, err
	}
	const ref = "simulated/teacher"
	sim, end, err := b.simulation(&decide.Settings{
		Model: ref, Target: target, Record: decide.RecordText, Teachers: map[string]decide.Teacher{ref: by}, Limit: model.NewLimit(1),
	}, func() float64 {
		if by.nth > 0 {
			return 0 // only checks are counted from then on, so every decision is one
		}
		return random.Float64()
	})
	if err != nil {
		return 0, err
	}
	defer end()
	for i, e := range examples {
		events, err := sim.Decide(b.ctx, q, text(e.text))
		if err != nil {
			return 0, err
		}
		f.count(i, e, events)
	}
	by.nth = changed
	rubric := decide.Fingerprint(q, text(""))
	for _, e := range slices.Repeat(examples, patience) {
		standing, err := sim.Standing(b.ctx, rubric)
		if err != nil || standing.Threshold == 0 && checks > 0 {
			return checks, err
		}
		events, err := sim.Decide(b.ctx, q, text(e.text))
		if err != nil {
			return 0, err
		}
		for _, d := range events {
			if d.Check != "" {
				checks++
			}
		}
	}
	return never, nil
}

// patience is how often all messages are asked about again while a change is not noticed.
const patience = 2

// count takes the events of a decision.
func (f *figures) count(i int, e example, events []*decide.Decided) {
	if i >= first {
		f.decisions++
	}
	for _, d := range events {
		switch {
		case d.Source == decide.Model && i < first:
			f.calls++
		case d.Source == decide.Model:
			f.later++
		case d.Source == decide.Local:
			f.since = min(f.since, i)
			f.alone++
			if (d.Answer == "true") == e.yes {
				f.right++
			}
		}
	}
}

// changed is which of its answers a teacher that changes its mind gives otherwise: each
// fourth.
const changed = 4

// teacher answers by labels.
type teacher struct {
	yes map[string]bool // by state
	nth int             // which of its answers it changes, 0 for none
}

// Teach implements [decide.Teacher].
func (t *teacher) Teach(_ context.Context, state json.RawMessage, questions []decide.Question) ([][]float64, provider.Usage, error) {
	yes := t.yes[string(state)]
	if t.nth > 0 && len(state)%t.nth == 0 { // a rule of its own: the same texts every time
		yes = !yes
	}
	out := make([][]float64, len(questions))
	for i := range out {
		out[i] = []float64{0.02, 0.98}
		if yes {
			slices.Reverse(out[i])
		}
	}
	return out, provider.Usage{}, nil
}

// injections are attacks, and harmless texts: those of the same sources, and prompts of
// people.
func injections(_, people fs.FS) (out []example, err error) {
	for _, pattern := range []string{"injections/*.jsonl", "messages/user-*.jsonl"} {
		names, err := fs.Glob(people, pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			data, err := fs.ReadFile(people, name)
			if err != nil {
				return nil, err
			}
			lines := bufio.NewScanner(bytes.NewReader(data))
			lines.Buffer(nil, len(data)+1)
			for lines.Scan() {
				var line struct {
					Text   string
					Attack bool
				}
				if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
					return nil, fmt.Errorf("%s: %w", name, err)
				}
				out = append(out, example{line.Text, line.Attack})
			}
		}
	}
	return distinct(out), nil
}

// half is how many messages are small talk, and how many are not.
const half = 1000

// smallTalk are messages of CLINC150's domain of that name, and as many others.
func smallTalk(sets, _ fs.FS) ([]example, error) {
	data, err := fs.ReadFile(sets, "clinc150/domains.json")
	if err != nil {
		return nil, err
	}
	var domains map[string][]string
	if err := json.Unmarshal(data, &domains); err != nil {
		return nil, err
	}
	lines, err := labelled.Read(sets, "clinc150/data_full.json.gz", "train")
	if err != nil {
		return nil, err
	}
	var yes, no []example
	for _, line := range lines {
		if slices.Contains(domains["small_talk"], line.Intent) {
			yes = append(yes, example{line.Text, true})
		} else {
			no = append(no, example{line.Text, false})
		}
	}
	random := rand.New(rand.NewPCG(0, 0)) //nolint:gosec // a sample
	random.Shuffle(len(no), func(i, j int) { no[i], no[j] = no[j], no[i] })
	random.Shuffle(len(yes), func(i, j int) { yes[i], yes[j] = yes[j], yes[i] })
	return distinct(slices.Concat(yes[:min(len(yes), half)], no[:min(len(no), len(yes), half)])), nil
}

// distinct drops further examples of the same text.
func distinct(list []example) []example {
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(e example) bool {
		known := seen[e.text]
		seen[e.text] = true
		return known
	})
}
