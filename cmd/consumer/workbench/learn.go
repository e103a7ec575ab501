package workbench

import (
	"cmp"
	"slices"
	"strings"

	"intenthint/app"
	"intenthint/classify"
	"intenthint/classify/evaluate"
	"intenthint/classify/local"
	"intenthint/cmd/consumer/cli"
	"intenthint/intents"
	"intenthint/record"
	"intenthint/redact"
	"intenthint/store"
)

// Learn is `consumer intents learn`.
type Learn struct {
	Since cli.Since `placeholder:"D" help:"Only turns that began since then: a duration (24h, 7d) or an RFC 3339 time."`
	addExamples
}

// Help is the longer text of `consumer intents learn --help`.
func (Learn) Help() string {
	return `Proposes examples from recorded turns: those that people marked (consumer feedback: wrong with an intent, or right), and those that a model answered with a confidence of 0.9 or more. Personal data and secrets are removed from them. A text is dropped if it already is an example of any intent, is longer than 200 characters, or depends on the messages before it ("and tomorrow?"). A text that only a model answered is also dropped if it is nearly the same as an example of the intent, or if the local classifier is sure that it belongs to another intent. At most 50 per intent are added at a time: those that people marked, then the newest.

The diff goes to standard output. Standard error shows what was dropped and why, how many left-out examples the local classifier recognises before and after (a sample of at least a fifth, if there are more than 5,000), and which recorded turns it would answer differently. No model is asked. Nothing is written before you confirm: then the examples are appended to the file beside each intent file, NAME.examples.txt, and a running consumer reloads it at once. The built-in definitions cannot be changed: write them to a directory with --out, and set HINT_INTENTS_DIR to it.

  consumer intents learn --since 7d --dry-run
  consumer intents learn --out my-intents

HINT_LEARN=auto learns the same while the consumer runs, without changing files: consumer intents learnt.

Exit code 1: a file could not be extended (the others still are), or the changes were not confirmed.`
}

// Proposal is what --json prints.
type Proposal struct {
	Intents []proposedIntent `json:"intents"`
	Dropped []record.Unused  `json:"dropped"`
	// Unfit counts the turns that teach nothing, by reason.
	Unfit map[record.Unfit]int `json:"unfit"`
	// Before and After are the local classifier's accuracy without and with the
	// new examples.
	Before  leftOut             `json:"before"`
	After   leftOut             `json:"after"`
	Changed []record.Difference `json:"changed"`
	Turns   int                 `json:"turns"`
	Written []string            `json:"written"`
}

// proposedIntent is the result for one intent.
type proposedIntent struct {
	addition
	// Error is the reason why there are no examples.
	Error string `json:"error,omitempty"`
}

// leftOut is the share of examples that are recognised when they are left out
// of training.
type leftOut struct {
	// Examples is how many were left out: all, or a sample of a large catalogue.
	Examples int `json:"examples"`
	// Accuracy, 0–1, is for the examples of intents, OutOfScope for those that fit
	// none.
	Accuracy   float64 `json:"accuracy"`
	OutOfScope float64 `json:"outOfScope"`

	outside int // examples that fit no intent
}

// Run is called by kong.
func (c *Learn) Run(inv *cli.Invocation) error {
	source, err := c.source(inv)
	if err != nil {
		return err
	}
	if err := c.confirmable(inv); err != nil {
		return err
	}
	found, err := c.read(inv)
	if err != nil {
		return err
	}
	out, err := c.propose(inv, source, found)
	if err != nil {
		return err
	}
	if !c.JSON {
		if err := c.printDiff(inv, source, out.additions()); err != nil {
			return err
		}
		if err := out.printSummary(inv.Stderr); err != nil {
			return err
		}
	}
	var undone error
	out.Written, undone = c.write(inv, source, out.additions())
	if c.JSON {
		if err := cli.PrintJSON(inv, out); err != nil {
			return err
		}
	}
	if undone == nil && slices.ContainsFunc(out.Intents, func(e proposedIntent) bool { return e.Error != "" }) {
		return cli.ErrReported
	}
	return undone
}

// recorded is what was read from the record.
type recorded struct {
	turns   []record.Turn
	lessons []record.Lesson
	unfit   map[record.Unfit]int
}

// read reads the recorded turns.
func (c *Learn) read(inv *cli.Invocation) (recorded, error) {
	out := recorded{unfit: map[record.Unfit]int{}}
	var err error
	out.turns, err = turnsToClassify(inv, record.Filter{Since: c.Since.Time}, func(s store.Summary, turn *store.Turn) {
		if l, why := record.LessonOf(cmp.Or(s.SessionID, s.SessionKey), turn, inv.Config.Classifier.MinConfidence); why == "" {
			out.lessons = append(out.lessons, l)
		} else {
			out.unfit[why]++
		}
	})
	return out, err
}

// propose chooses examples, and measures their effect.
func (c *Learn) propose(inv *cli.Invocation, s *source, found recorded) (Proposal, error) {
	classifier := local.Trained(s.catalog)
	lessons, homeless := s.withFile(found.lessons)
	chosen := record.Choose(s.catalog, classifier, lessons, record.Bounds{Most: record.MaxLessons, Suspect: app.Suspicious})
	out := Proposal{
		Intents: []proposedIntent{}, Dropped: slices.Concat([]record.Unused{}, homeless, chosen.Unused), Unfit: found.unfit, Turns: len(found.turns),
		Changed: []record.Difference{}, Written: []string{},
	}
	var after []intents.Intent
	for _, in := range append(slices.Clone(s.catalog.Enabled()), s.catalog.Fallback()) {
		if examples := chosen.Examples[in.ID]; len(examples) > 0 {
			e := proposedIntent{}
			var err error
			if e.addition, err = s.open(in); err == nil {
				err = e.add(examples)
			}
			if err != nil {
				e.Error = err.Error()
			}
			out.Intents = append(out.Intents, e)
			in.Examples = slices.Concat(in.Examples, e.Added)
		}
		after = append(after, in)
	}
	if len(chosen.Used) == 0 {
		return out, nil
	}
	catalog := intents.NewCatalog(after)
	var err error
	parts := evaluate.Sample(s.catalog)
	if out.Before, err = measure(inv, s.catalog, parts, "before"); err != nil {
		return out, interruptedOr(inv, err)
	}
	if out.After, err = measure(inv, catalog, parts, "after"); err != nil {
		return out, interruptedOr(inv, err)
	}
	was, err := localAnswers(inv, found.turns, s.catalog, classifier)
	if err != nil {
		return out, errInterrupted
	}
	would, err := localAnswers(inv, found.turns, catalog, local.Train(catalog))
	if err != nil {
		return out, errInterrupted
	}
	out.Changed = changesToShow(record.Between(found.turns, was, would).Differences)
	return out, nil
}

// withFile removes the lessons of the fallback if that is the built-in one: it
// has no file in the directory.
func (s *source) withFile(lessons []record.Lesson) (with []record.Lesson, without []record.Unused) {
	isFallback := func(id string) bool { return strings.EqualFold(id, intents.FallbackID) }
	if slices.ContainsFunc(s.files, func(f intents.File) bool { return isFallback(f.Intent.ID) }) {
		return lessons, nil
	}
	for _, l := range lessons {
		if isFallback(l.Intent) {
			without = append(without, record.Unused{Lesson: l, Reason: record.Unknown})
		} else {
			with = append(with, l)
		}
	}
	return with, without
}

// interruptedOr returns errInterrupted for a command that was interrupted
// before it wrote, else err.
func interruptedOr(inv *cli.Invocation, err error) error {
	if inv.Ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

// measure leaves out a part of the examples at a time.
func measure(inv *cli.Invocation, catalog *intents.Catalog, parts evaluate.Parts, when string) (leftOut, error) {
	bar := cli.NewProgress(inv.Stderr)
	bar.Label = when
	bar.Show(0, parts.Tested)
	outcomes, err := evaluate.LeaveOut(inv.Ctx, catalog, parts, bar.Show)
	bar.Clear()
	m := evaluate.Measure(outcomes)
	return leftOut{Examples: m.N, Accuracy: m.Accuracy, OutOfScope: m.OOSRecall, outside: m.NOOS}, err
}

// localAnswers returns the answers of a local classifier to recorded turns.
func localAnswers(inv *cli.Invocation, turns []record.Turn, catalog *intents.Catalog, model *local.Model) ([]record.Answer, error) {
	deny := intents.NewDeny(inv.Config.Policy.IntentDeny)
	return record.Answers(inv.Ctx, turns, classify.New(classify.ModeLocal, model, nil, classify.Options{}), record.ReplayOptions{
		Catalog:       func(agent string) *intents.Catalog { return deny.Narrow(catalog, agent) },
		MinConfidence: inv.Config.Classifier.MinConfidence, Location: inv.Config.Timezone.Location,
	})
}

// changesToShow returns differences, newest first, with redacted texts.
func changesToShow(differences []record.Difference) []record.Difference {
	out := slices.Clone(differences)
	for i := range out {
		out[i].Text = redact.Text(out[i].Text)
	}
	slices.Reverse(out)
	return cli.OrEmpty(out)
}
