// Command injections measures the marker of prompt injections on texts that people
// wrote.
//
//	go -C tools run ./injections [-lines even|odd] [-sweep] [-wrong] DIR
//
// DIR holds injections/*.jsonl, lines of {"text", "attack", "src"}, and
// messages/user-*.jsonl, prompts of people, which are harmless; those of 300
// characters and more are "long prompts". Files that are missing are skipped. -lines
// takes every second line, counted from 1. -sweep shows what other thresholds of the
// learnt part would mark. -wrong prints the texts that are judged wrongly.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"intenthint/knowhub/safety"
)

func main() {
	var o options
	flag.StringVar(&o.lines, "lines", "", "every second `line`: even or odd; all without it")
	flag.BoolVar(&o.sweep, "sweep", false, "show other thresholds of the learnt part")
	flag.BoolVar(&o.wrong, "wrong", false, "print the texts that are judged wrongly")
	flag.Parse()
	if flag.NArg() != 1 || !slices.Contains([]string{"", "even", "odd"}, o.lines) {
		_, _ = fmt.Fprintln(os.Stderr, "usage: go -C tools run ./injections [-lines even|odd] [-sweep] [-wrong] DIR")
		os.Exit(2)
	}
	if err := run(os.DirFS(flag.Arg(0)), o, os.Stdout); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "injections:", err)
		os.Exit(1)
	}
}

type options struct {
	lines        string // "even", "odd", or "" for all
	sweep, wrong bool
}

// text is a text of a set.
type text struct {
	Text, Src string
	Attack    bool
}

// long is the length from which a prompt is a long one, in characters.
const long = 300

// run prints how many texts of each set are marked, and how many by rules.
func run(dir fs.FS, o options, stdout io.Writer) error {
	texts, err := read(dir, o.lines)
	if err != nil {
		return err
	}
	if len(texts) == 0 {
		_, err := fmt.Fprintln(stdout, "skipped: no injections/*.jsonl and no messages/user-*.jsonl")
		return err
	}
	sets := map[string][]verdict{}
	for _, t := range texts {
		v := judge(t.Text)
		sets[t.set()] = append(sets[t.set()], v)
		if o.wrong && v.marked(0) != t.Attack {
			_, _ = fmt.Fprintf(stdout, "%s: %q\n", t.set(), t.Text)
		}
	}
	_, _ = fmt.Fprintf(stdout, "%-28s %6s %16s %8s\n", "", "texts", "marked", "by rules")
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		all := sets[name]
		n, rules := count(all, 0), 0
		for _, v := range all {
			if v.ruled {
				rules++
			}
		}
		_, _ = fmt.Fprintf(stdout, "%-28s %6d %6d (%4.1f %%) %8d\n", name, len(all), n, percent(n, len(all)), rules)
	}
	if o.sweep {
		sweep(sets, stdout)
	}
	return nil
}

// sweep prints the share that is marked if the threshold is moved.
func sweep(sets map[string][]verdict, stdout io.Writer) {
	names := slices.Sorted(maps.Keys(sets))
	_, _ = fmt.Fprintf(stdout, "\nthreshold moved by, and per cent marked of %s\n", strings.Join(names, ", "))
	for by := -10; by <= 20; by++ {
		above := float64(by) / 10
		_, _ = fmt.Fprintf(stdout, "%5.1f", above)
		for _, name := range names {
			_, _ = fmt.Fprintf(stdout, " %5.1f", percent(count(sets[name], above), len(sets[name])))
		}
		_, _ = fmt.Fprintln(stdout)
	}
}

// verdict is what is found in a text.
type verdict struct {
	ruled  bool    // rules mark it, whatever the learnt part says
	excess float64 // of the learnt part
}

func judge(s string) verdict {
	marks := safety.Marks(s)
	return verdict{ruled: slices.ContainsFunc(marks, func(m string) bool { return m != safety.Learnt }), excess: safety.Excess(s)}
}

func (v verdict) marked(above float64) bool { return v.ruled || v.excess > above }

func count(all []verdict, above float64) (n int) {
	for _, v := range all {
		if v.marked(above) {
			n++
		}
	}
	return n
}

func percent(part, all int) float64 { return 100 * float64(part) / float64(max(1, all)) }

// set returns the name of the set that a text belongs to.
func (t text) set() string {
	name, _, _ := strings.Cut(t.Src, ":")
	if strings.HasPrefix(name, "notinject") {
		name = "notinject"
	}
	kind := "harmless"
	if t.Attack {
		kind = "attacks"
	}
	return name + ", " + kind
}

// read returns the texts of the files that are there.
func read(dir fs.FS, lines string) (texts []text, err error) {
	for _, pattern := range []string{"injections/*.jsonl", "messages/user-*.jsonl"} {
		names, err := fs.Glob(dir, pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			data, err := fs.ReadFile(dir, name)
			if err != nil {
				return nil, err
			}
			scan := bufio.NewScanner(bytes.NewReader(data))
			scan.Buffer(nil, len(data)+1)
			for n := 1; scan.Scan(); n++ {
				if lines != "" && (n%2 == 0) != (lines == "even") {
					continue
				}
				var t text
				if err := json.Unmarshal(scan.Bytes(), &t); err != nil {
					return nil, fmt.Errorf("%s: line %d: %w", name, n, err)
				}
				if path.Dir(name) == "messages" {
					if t.Src = "prompts"; utf8.RuneCountInString(t.Text) >= long {
						t.Src = "long prompts"
					}
				}
				texts = append(texts, t)
			}
		}
	}
	return texts, nil
}
