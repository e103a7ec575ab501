package main

import (
	"fmt"
	"time"

	"intenthint/cmd/consumer/cli"
	"intenthint/internal/text"
	"intenthint/knowhub/experience"
	"intenthint/knowhub/extract"
	"intenthint/knowhub/index"
	"intenthint/redact"
)

type knowhubAuditCmd struct {
	Stale time.Duration `default:"4320h" help:"The age from which an experience is stale; 0 means never."`
	JSON  bool          `name:"json" help:"Print one JSON object."`
}

// Help is the longer text of `consumer knowhub audit --help`.
func (knowhubAuditCmd) Help() string {
	return `Checks the experiences that are not rejected, and counts:

  exact   the same but for case, letter forms or white space, under another id
  near    nearly the same words
  secrets text that strict redaction would remove
  loops   made from recalled experiences, reminders or hints
  stale   older than --stale

Each finding is followed by the command that mends it. Nothing is changed.

Exit code 1: at least one was found.`
}

// auditFinding is one fault of an experience.
type auditFinding struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	// Other is the experience that it is a duplicate of.
	Other string `json:"other,omitempty"`
	Task  string `json:"task"`
	// Mend is the command that mends it.
	Mend string `json:"mend"`
}

// mend returns the command that mends a finding: duplicates and stale ones are kept
// from agents, text that must not be kept is deleted.
func mend(kind string, e experience.Experience) string {
	verb := "rm"
	if kind != "secret" && kind != "loop" {
		if verb = "reject"; e.Status == experience.Approved {
			verb = "withdraw"
		}
	}
	return "consumer knowhub " + verb + " " + e.ID
}

// audit is what --json prints.
type audit struct {
	Experiences int            `json:"experiences"`
	Exact       int            `json:"exactDuplicates"`
	Near        int            `json:"nearDuplicates"`
	Secrets     int            `json:"secrets"`
	Loops       int            `json:"recallLoops"`
	Stale       int            `json:"stale"`
	Findings    []auditFinding `json:"findings"`
}

func (c *knowhubAuditCmd) Run(inv *cli.Invocation) error {
	x, err := openKnowHub(inv)
	if err != nil {
		return err
	}
	defer x.Close()
	all, _, err := x.all(inv, func(e experience.Experience) bool { return e.Status != experience.Rejected })
	if err != nil {
		return err
	}
	a := &audit{Experiences: len(all), Findings: []auditFinding{}}
	a.look(all, x.set.Shared, c.Stale, time.Now())
	if err := a.compare(inv, all, x.set.Shared); err != nil {
		return err
	}
	if c.JSON {
		err = cli.PrintJSON(inv, a)
	} else {
		err = a.print(inv)
	}
	if err == nil && len(a.Findings) > 0 {
		err = cli.ErrReported
	}
	return err
}

func (a *audit) add(kind string, n *int, e experience.Experience, other string) {
	*n++
	a.Findings = append(a.Findings, auditFinding{kind, e.ID, other, text.OneLine(e.Task, 80), mend(kind, e)})
}

// look finds the faults of single experiences, and exact duplicates.
func (a *audit) look(all []experience.Experience, shared bool, stale time.Duration, now time.Time) {
	first := make(map[string]string, len(all)) // id by content
	for _, e := range all {
		said := experience.ID(e, shared)
		if other, ok := first[said]; ok {
			a.add("exact", &a.Exact, e, other)
		} else {
			first[said] = e.ID
		}
		whole := e.Task + "\n" + e.Resource + "\n" + e.Result
		if redact.Text(whole) != whole {
			a.add("secret", &a.Secrets, e, "")
		}
		if reason, _ := extract.Keep(extract.Candidate{Task: e.Task, Resource: e.Resource, Result: e.Result, Confidence: 1}, 0); reason == extract.OwnBlock {
			a.add("loop", &a.Loops, e, "")
		}
		if stale > 0 && now.Sub(e.CreatedAt) > stale {
			a.add("stale", &a.Stale, e, "")
		}
	}
}

// compare finds near duplicates.
func (a *audit) compare(inv *cli.Invocation, all []experience.Experience, shared bool) error {
	x := index.New()
	changes := make([]experience.Change, len(all))
	for i, e := range all {
		changes[i] = experience.Change{ID: e.ID, Revision: uint64(i) + 1, Experience: e}
	}
	x.Apply(changes)
	// Of two near duplicates, a search may find the pair from one side only.
	seen := map[[2]string]bool{}
	outlines := outlines{}
	bar := cli.NewProgress(inv.Stderr)
	defer bar.Clear()
	for i, e := range all {
		if err := inv.Ctx.Err(); err != nil {
			return err
		}
		bar.Show(i, len(all))
		for _, h := range x.Near(e, !shared) {
			pair := [2]string{min(e.ID, h.ID), max(e.ID, h.ID)}
			if e.ID == h.ID || seen[pair] {
				continue
			}
			seen[pair] = true
			exact := experience.ID(h.Experience, shared) == experience.ID(e, shared)
			if !exact && outlines.of(e).Alike(outlines.of(h.Experience)) {
				a.add("near", &a.Near, e, h.ID)
			}
		}
	}
	return nil
}

// outlines caches the outlines of experiences by id: an experience that resembles
// others is compared often.
type outlines map[string]extract.Outline

// maxOutlines bounds the cache. Most outlines take a few kilobytes, that of the
// longest possible experience half a megabyte.
const maxOutlines = 4096

func (o outlines) of(e experience.Experience) extract.Outline {
	known, ok := o[e.ID]
	if !ok {
		if len(o) == maxOutlines {
			clear(o)
		}
		known = extract.OutlineOf(e)
		o[e.ID] = known
	}
	return known
}

func (a *audit) print(inv *cli.Invocation) error {
	for _, f := range a.Findings {
		of := ""
		if f.Other != "" {
			of = " of " + f.Other
		}
		_, _ = fmt.Fprintf(inv.Stdout, "%s: %s%s: %s\n  %s\n", f.ID, f.Kind, of, f.Task, f.Mend)
	}
	_, err := fmt.Fprintf(inv.Stdout, "%s: %d exact duplicates, %d near duplicates, %d with secrets, %d recall loops, %d stale\n",
		cli.Count(a.Experiences, "experience"), a.Exact, a.Near, a.Secrets, a.Loops, a.Stale)
	return err
}
