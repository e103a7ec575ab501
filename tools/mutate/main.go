// Mutate changes the product in small ways, one at a time, and reports which of
// them the tests of the changed package notice.
//
//	go -C tools run ./mutate -base main          lines that differ from main
//	go -C tools run ./mutate -n 60 -seed 7       a random sample of the tree
//
// The tree is not touched: each mutant is an overlay for `go test -short`. A
// package whose tests fail or take too long noticed its mutant (killed); one
// whose tests pass did not (SURVIVED), which is a test that is missing, or a
// change that makes no difference. Mutants that do not build are not counted.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

type options struct {
	root, base, dirs, operators string
	sample                      int
	seed                        uint64
	most                        time.Duration
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var o options
	flags := flag.NewFlagSet("mutate", flag.ContinueOnError)
	flags.StringVar(&o.root, "root", "..", "`directory` of the module to change")
	flags.StringVar(&o.base, "base", "", "only lines that differ from this `revision`")
	flags.StringVar(&o.dirs, "dirs", "", "only files in these `directories`, comma-separated")
	flags.StringVar(&o.operators, "operators", "", "only operators that contain one of these `words`, comma-separated, such as nil,check")
	flags.IntVar(&o.sample, "n", 0, "`number` of mutants, chosen at random; 0 for all")
	flags.Uint64Var(&o.seed, "seed", 1, "seed of the choice")
	flags.DurationVar(&o.most, "time", 2*time.Minute, "how long the tests of a package may run; after that the mutant is killed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	root, err := filepath.Abs(o.root)
	if err != nil {
		return err
	}
	o.root = root
	mutants, err := o.mutants(ctx)
	if err != nil {
		return err
	}
	found := len(mutants)
	rand.New(rand.NewPCG(o.seed, 0)).Shuffle(found, func(i, j int) { mutants[i], mutants[j] = mutants[j], mutants[i] })
	_, _ = fmt.Fprintf(out, "%d mutants, seed %d\n", found, o.seed)
	temp, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp) //nolint:errcheck // temporary
	var results []result
	sound := map[string]bool{} // the packages whose own tests pass
	for _, m := range mutants {
		if o.sample > 0 && len(results) == o.sample || ctx.Err() != nil {
			break
		}
		dir := filepath.Dir(m.file)
		if _, known := sound[dir]; !known {
			sound[dir] = o.test(ctx, dir, "", false) == survived
			if !sound[dir] && ctx.Err() == nil {
				_, _ = fmt.Fprintf(out, "left out  %s: its tests fail without a mutant\n", dir)
			}
		}
		if !sound[dir] {
			continue
		}
		outcome, err := o.try(ctx, m, temp)
		if err != nil {
			return err
		}
		if outcome == broken || ctx.Err() != nil {
			continue
		}
		results = append(results, result{m, outcome})
		_, _ = fmt.Fprintf(out, "%-9s %s:%d  %s: %s\n", outcome, m.file, m.line, m.operator, m.source)
	}
	summarize(out, results)
	return ctx.Err()
}

// mutants returns the mutants that the options select, by place.
func (o options) mutants(ctx context.Context) (all []mutant, err error) {
	list, err := o.git(ctx, "ls-files", "--", "*.go")
	if err != nil {
		return nil, err
	}
	var changed map[string][]span
	if o.base != "" {
		diff, err := o.git(ctx, "diff", "-U0", "--no-color", "--no-ext-diff", "--relative", o.base, "--", "*.go")
		if err != nil {
			return nil, err
		}
		changed = changedLines(diff)
	}
	for name := range strings.FieldsSeq(list) {
		if !o.product(name) {
			continue
		}
		source, err := os.ReadFile(filepath.Join(o.root, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted and not committed
		}
		if err != nil {
			return nil, err
		}
		found, err := mutantsOf(name, source)
		if err != nil {
			return nil, err
		}
		for _, m := range found {
			in := func(s span) bool { return m.line >= s.first && m.line <= s.last }
			if (o.base == "" || slices.ContainsFunc(changed[name], in)) && chosen(o.operators, m.operator) {
				all = append(all, m)
			}
		}
	}
	slices.SortFunc(all, byPlace)
	return all, nil
}

// chosen reports whether an operator contains one of the words; none means all.
func chosen(words, operator string) bool {
	return words == "" || slices.ContainsFunc(strings.Split(words, ","), func(word string) bool { return strings.Contains(operator, word) })
}

// product reports whether a file is the product's: no test, nor a helper of tests,
// nor of another module.
func (o options) product(name string) bool {
	dir := filepath.ToSlash(filepath.Dir(name)) + "/"
	if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(dir, "tools/") || strings.HasPrefix(dir, "test/") || strings.HasSuffix(dir, "test/") || strings.Contains("/"+dir, "/testdata/") {
		return false
	}
	return o.dirs == "" || slices.ContainsFunc(strings.Split(o.dirs, ","), func(d string) bool {
		d = filepath.ToSlash(filepath.Clean(d)) + "/"
		return d == "./" || strings.HasPrefix(dir, d)
	})
}

func (o options) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...) //nolint:gosec // the caller's own arguments
	cmd.Dir = o.root
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(exit.Stderr))
	}
	return string(out), err
}

// span is a range of lines, both included.
type span struct{ first, last int }

var hunk = regexp.MustCompile(`^@@ -\S+ \+(\d+)(?:,(\d+))? @@`)

// changedLines returns the new lines of each file in a diff without context.
func changedLines(diff string) map[string][]span {
	out, name := map[string][]span{}, ""
	for line := range strings.Lines(diff) {
		if to, ok := strings.CutPrefix(line, "+++ b/"); ok {
			name = strings.TrimSpace(to)
		} else if m := hunk.FindStringSubmatch(line); m != nil {
			first, _ := strconv.Atoi(m[1])
			lines := 1
			if m[2] != "" {
				lines, _ = strconv.Atoi(m[2])
			}
			out[name] = append(out[name], span{first, first + lines - 1})
		}
	}
	return out
}

// outcome is what the tests said.
type outcome string

const (
	killed   outcome = "killed"
	survived outcome = "SURVIVED"
	broken   outcome = "does not build"
)

type result struct {
	mutant
	outcome outcome
}

// try runs the tests of a mutant's package.
func (o options) try(ctx context.Context, m mutant, temp string) (outcome, error) {
	path := filepath.Join(o.root, m.file)
	source, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	changed := filepath.Join(temp, "mutant.go")
	if err := os.WriteFile(changed, m.apply(source), 0o600); err != nil { //nolint:gosec // in a temporary folder
		return "", err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	if err != nil {
		return "", err
	}
	file := filepath.Join(temp, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		return "", err
	}
	return o.test(ctx, filepath.Dir(m.file), file, m.operator == noLock), nil
}

// test runs the tests of a package, with an overlay unless it is "".
func (o options) test(ctx context.Context, dir, overlay string, race bool) outcome {
	args := []string{"test", "-short", "-failfast", "-vet=off", "-timeout", o.most.String()}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	if race {
		args = append(args, "-race")
	}
	ctx, cancel := context.WithTimeout(ctx, 2*o.most+5*time.Minute) // to build it on a busy machine
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", append(args, "./"+filepath.ToSlash(dir))...) //nolint:gosec // a folder of the tree
	cmd.Dir = o.root
	// The tests go with the go command.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return survived
	case bytes.Contains(out, []byte("[build failed]")) || bytes.Contains(out, []byte("[setup failed]")):
		return broken
	}
	return killed
}

// summarize prints how many mutants of each operator were killed, and the
// survivors by place.
func summarize(out io.Writer, results []result) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name string, of func(result) bool) {
		total, dead := 0, 0
		for _, r := range results {
			if of(r) {
				total++
				if r.outcome == killed {
					dead++
				}
			}
		}
		if total > 0 {
			_, _ = fmt.Fprintf(table, "%s\t%d of %d killed\t%.0f %%\n", name, dead, total, 100*float64(dead)/float64(total))
		}
	}
	_, _ = fmt.Fprintln(out)
	for _, operator := range operators {
		row(operator, func(r result) bool { return r.operator == operator })
	}
	row("all", func(result) bool { return true })
	_ = table.Flush()
	slices.SortFunc(results, func(a, b result) int { return byPlace(a.mutant, b.mutant) })
	for _, r := range results {
		if r.outcome == survived {
			_, _ = fmt.Fprintf(out, "survived  %s:%d  %s: %s\n", r.file, r.line, r.operator, r.source)
		}
	}
}
