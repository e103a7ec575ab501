// Command groups measures the trained gate of triage on recorded group chat, and on
// the labelled set of the project.
//
//	go -C tools run ./groups [-missed] FILE.jsonl …
//
// A line of a file is a message of a sequence (seq), in order: its sender, its text,
// whether the agent wrote it (from_agent), and whether it was meant for the agent
// (to_agent), which makes it wanted. There are no times, so "soon" is by messages. Skipped are those that the gate is sure to skip, in per cent of
// all messages, and missed the wanted ones among them, in per cent of the wanted.
// Messages that the rules before the gate decide (the agent's name, a single character)
// count as let through.
//
// Each group of the project's own set is judged by a gate that was trained on the
// others. -missed prints the wanted messages that were skipped.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"intenthint/triage"
	"intenthint/triage/local"
)

func main() {
	missed := flag.Bool("missed", false, "print the wanted messages that were skipped")
	flag.Parse()
	if flag.NArg() == 0 {
		_, _ = fmt.Fprintln(os.Stderr, "usage: go -C tools run ./groups [-missed] FILE.jsonl …")
		os.Exit(2)
	}
	if err := run(flag.Args(), *missed, os.Stdout); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "groups:", err)
		os.Exit(1)
	}
}

// run prints a line for each file and half of its sequences, and one for the
// project's own set.
func run(files []string, missed bool, stdout io.Writer) error {
	gate := local.New(nil)
	_, _ = fmt.Fprintln(stdout, "set                    messages  wanted  by rule  skipped           missed           answered  wasted")
	for _, file := range files {
		data, err := os.ReadFile(file) //nolint:gosec // a file that the user names
		if err != nil {
			return err
		}
		chat, err := read(data)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		name := filepath.Base(file)
		var all count
		for half, title := range []string{"even", "odd"} {
			var c count
			for i, sequence := range chat {
				if i%2 == half {
					c.judge(gate, sequence)
				}
			}
			all.add(c)
			_, _ = fmt.Fprintln(stdout, c.row(name+" "+title))
		}
		_, _ = fmt.Fprintln(stdout, all.row(name))
		for _, text := range all.texts {
			if missed {
				_, _ = fmt.Fprintf(stdout, "  missed: %q\n", text)
			}
		}
	}
	_, _ = fmt.Fprintln(stdout, own().row("own set"))
	return nil
}

// message is a message of a chat, with those before it.
type message struct {
	local.Input
	wanted bool
}

// read returns the messages of people of each sequence.
func read(data []byte) (chat [][]message, err error) {
	type line struct {
		Seq, Sender, Text string
		FromAgent         bool `json:"from_agent"`
		ToAgent           bool `json:"to_agent"`
	}
	agent := map[string]string{} // by sequence
	var lines []line
	for scan, n := bufio.NewScanner(bytes.NewReader(data)), 1; scan.Scan(); n++ {
		var l line
		if err := json.Unmarshal(scan.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if lines = append(lines, l); l.FromAgent {
			agent[l.Seq] = l.Sender
		}
	}
	var recent []local.Earlier
	for i, l := range lines {
		if i == 0 || lines[i-1].Seq != l.Seq {
			chat, recent = append(chat, nil), nil
		}
		if !l.FromAgent {
			in := local.Input{Group: l.Seq, Text: l.Text, Sender: l.Sender, BotName: agent[l.Seq], Recent: recent[max(0, len(recent)-local.MaxRecent):len(recent):len(recent)]}
			chat[len(chat)-1] = append(chat[len(chat)-1], message{in, l.ToAgent})
		}
		recent = append(recent, local.Earlier{Sender: l.Sender, Text: l.Text, Bot: l.FromAgent})
	}
	return chat, nil
}

// count is what a gate did.
type count struct {
	messages, wanted int
	ruled            int // decided by a rule before the gate
	skipped, missed  int
	answered, waste  int
	texts            []string // missed
}

func (c *count) add(o count) {
	c.messages += o.messages
	c.ruled += o.ruled
	c.wanted += o.wanted
	c.skipped += o.skipped
	c.missed += o.missed
	c.answered += o.answered
	c.waste += o.waste
	c.texts = append(c.texts, o.texts...)
}

func (c *count) judge(gate *local.Gate, messages []message) {
	for _, m := range messages {
		c.messages++
		if m.wanted {
			c.wanted++
		}
		if _, ok := new(triage.Settings).ByText(triage.Message{Text: m.Text, Names: []string{m.BotName}}); ok {
			c.ruled++
			continue
		}
		respond, sure, _ := gate.Judge(m.Input)
		switch {
		case sure && respond:
			c.answered++
			if !m.wanted {
				c.waste++
			}
		case sure:
			c.skipped++
			if m.wanted {
				c.missed++
				c.texts = append(c.texts, m.Text)
			}
		}
	}
}

func (c *count) row(name string) string {
	return fmt.Sprintf("%-22s %8d %7d %8d %8d (%4.1f %%) %6d (%4.1f %%) %9d %7d",
		name, c.messages, c.wanted, c.ruled, c.skipped, percent(c.skipped, c.messages), c.missed, percent(c.missed, c.wanted), c.answered, c.waste)
}

func percent(part, all int) float64 { return 100 * float64(part) / float64(max(1, all)) }

// own measures on the project's own set, by cross-validation over its groups.
func own() *count {
	groups := map[string][]message{}
	for _, e := range local.Bundled() {
		if e.Group != "" {
			groups[e.Group] = append(groups[e.Group], message{e.Input, e.Respond})
		}
	}
	c := &count{}
	for group, messages := range groups {
		var rest []local.Example
		for _, e := range local.Bundled() {
			if e.Group != group {
				rest = append(rest, e)
			}
		}
		c.judge(local.Train(rest), messages)
	}
	return c
}
