// Command bench measures the hot path against its floors: hints against a bare
// echo service, events against fetching, decoding and acknowledging alone, long
// sessions against short ones, a start with many sessions against one with none.
// Everything runs in processes of its own on this machine, over loopback and in a
// temporary directory. It prints Markdown tables.
//
//	go -C tools run ./bench
//	go -C tools run ./bench -only hint,events
//	go -C tools run ./bench -quick -json
//
// Absolute figures depend on the machine and on its other load: compare the
// ratios.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// part is one of the measurements.
type part struct {
	name, about string
	measure     func(*bench, context.Context) ([]table, error)
}

var parts = []part{
	{"hint", "round trip of a local hint against an echo", (*bench).measureHint},
	{"throughput", "concurrent hints against echoes", (*bench).measureThroughput},
	{"events", "events against fetch, decode and acknowledge; memory", (*bench).measureEvents},
	{"interleaved", "events of many sessions at the same time, in short and long turns", (*bench).measureInterleaved},
	{"sessions", "events of long sessions against those of short ones", (*bench).measureSessions},
	{"start", "start with many sessions against one with none", (*bench).measureStart},
}

// settings are how much is measured.
type settings struct {
	requests, requesters, rounds, sessions int
	round, pause                           time.Duration
	events, eventSessions, eventRounds     int
	consumers                              []int
	interleavedEvents                      int
	interleavedSessions, interleavedCalls  []int
	rest                                   time.Duration
	longSessions, longTurns, shortTurns    int
	rhythm                                 time.Duration
	existing, starts                       int
	repeat                                 int

	only          []string
	json          bool
	dir, consumer string
}

var full = settings{
	requests: 3000, requesters: 8, rounds: 5, sessions: 1000, round: 2 * time.Second,
	events: 30_000, eventSessions: 5000, eventRounds: 3, consumers: []int{1, 2, 4}, rest: 5 * time.Second,
	interleavedEvents: 60_000, interleavedSessions: []int{200, 5000}, interleavedCalls: []int{5, 200},
	longSessions: 40, longTurns: 600, shortTurns: 5, rhythm: 500 * time.Millisecond,
	existing: 10_000, starts: 5, repeat: 3,
}

// quick only shows whether everything works.
var quick = settings{
	requests: 60, requesters: 4, rounds: 1, sessions: 50, round: 200 * time.Millisecond,
	events: 200, eventSessions: 50, eventRounds: 1, consumers: []int{1, 2},
	interleavedEvents: 200, interleavedSessions: []int{5, 20}, interleavedCalls: []int{5, 20},
	longSessions: 4, longTurns: 30, shortTurns: 2, rhythm: 60 * time.Millisecond,
	existing: 200, starts: 1, repeat: 1,
}

// errUsage means that the arguments are wrong, which is already on standard error.
var errUsage = errors.New("usage")

func parse(args []string, stderr io.Writer) (settings, error) {
	s := full
	if slices.Contains(args, "-quick") || slices.Contains(args, "--quick") {
		s = quick
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: go -C tools run ./bench [flags]\n\nParts:")
		for _, p := range parts {
			fmt.Fprintf(stderr, "  %-11s %s\n", p.name, p.about)
		}
		fmt.Fprintln(stderr, "\nFlags:")
		flags.PrintDefaults()
	}
	flags.Bool("quick", false, "measure little, in seconds: whether it works, not how fast it is")
	flags.Func("only", "`parts` to measure, separated by commas", func(text string) error {
		s.only = strings.Split(text, ",")
		for _, name := range s.only {
			if !slices.ContainsFunc(parts, func(p part) bool { return p.name == name }) {
				return fmt.Errorf("no part %q", name)
			}
		}
		return nil
	})
	flags.BoolVar(&s.json, "json", false, "print JSON: seconds, bytes, figures per second and plain ratios, null for unknown figures")
	flags.StringVar(&s.dir, "dir", "", "`directory` on the disk to measure on (default the system's for temporary files)")
	flags.StringVar(&s.consumer, "consumer", "", "`binary` to measure (default built from the source)")
	flags.IntVar(&s.requests, "n", s.requests, "hint: requests of each kind, one at a time")
	flags.DurationVar(&s.pause, "pause", 0, "hint: `time` before each request; 0 means that the events of one hint are stored and folded while the next is answered")
	flags.IntVar(&s.requesters, "c", s.requesters, "throughput: concurrent requesters")
	flags.IntVar(&s.sessions, "s", s.sessions, "hint, throughput: sessions of the requests")
	flags.DurationVar(&s.round, "t", s.round, "throughput: time of a round")
	flags.IntVar(&s.rounds, "rounds", s.rounds, "throughput: rounds, of which the median counts")
	flags.IntVar(&s.events, "events", s.events, "events, interleaved: events of sessions that have their turns one after the other, eight at a time")
	flags.IntVar(&s.eventSessions, "event-sessions", s.eventSessions, "events, interleaved: sessions of those events")
	flags.IntVar(&s.eventRounds, "event-rounds", s.eventRounds, "events, interleaved: rounds, of which the median counts")
	flags.IntVar(&s.longSessions, "long-sessions", s.longSessions, "sessions: concurrent long sessions")
	flags.IntVar(&s.longTurns, "long-turns", s.longTurns, "sessions: turns of a long session")
	flags.DurationVar(&s.rhythm, "rhythm", s.rhythm, "sessions: time between two events of a session")
	flags.IntVar(&s.existing, "existing", s.existing, "start: existing sessions")
	flags.IntVar(&s.starts, "starts", s.starts, "start: starts of each kind, of which the median counts")
	flags.IntVar(&s.repeat, "repeat", s.repeat, "how often each part is measured: the median counts, and a ratio has its spread beside it")
	numbers(flags, "consumers", "events: `numbers` of concurrent consumers", &s.consumers)
	flags.IntVar(&s.interleavedEvents, "interleaved-events", s.interleavedEvents, "interleaved: events of each workload at most, also in the middle of a turn")
	numbers(flags, "interleaved-sessions", "interleaved: `numbers` of sessions that have their turns at the same time", &s.interleavedSessions)
	numbers(flags, "interleaved-calls", "interleaved: `numbers` of tool calls a turn", &s.interleavedCalls)
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return s, err
		}
		return s, errUsage
	}
	switch least := min(s.requests, s.requesters, s.sessions, s.rounds, s.eventRounds, s.events, s.eventSessions, s.interleavedEvents, s.longSessions, s.longTurns, s.existing, s.starts, s.repeat); {
	case flags.NArg() > 0:
		fmt.Fprintf(stderr, "bench: unexpected argument %q\n", flags.Arg(0))
	case least < 1 || s.round <= 0 || s.rhythm <= 0 || s.pause < 0:
		fmt.Fprintln(stderr, "bench: numbers and times must be positive")
	default:
		return s, nil
	}
	return s, errUsage
}

// numbers adds a flag for positive numbers.
func numbers(flags *flag.FlagSet, name, usage string, value *[]int) {
	usage = fmt.Sprintf("%s, separated by commas (default %s)", usage, strings.Trim(strings.ReplaceAll(fmt.Sprint(*value), " ", ","), "[]"))
	flags.Func(name, usage, func(text string) error {
		*value = nil
		for item := range strings.SplitSeq(text, ",") {
			n, err := strconv.Atoi(item)
			if err != nil || n < 1 {
				return fmt.Errorf("not a positive number: %q", item)
			}
			*value = append(*value, n)
		}
		return nil
	})
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 {
		if role, ok := roles[args[0]]; ok {
			// The parent's end closes standard input.
			ctx, cancel := context.WithCancel(ctx)
			go func() {
				_, _ = io.Copy(io.Discard, os.Stdin)
				cancel()
			}()
			return role(ctx, args[1:])
		}
	}
	s, err := parse(args, stderr)
	if err != nil {
		return err
	}
	began := time.Now()
	b := &bench{settings: s, say: func(format string, args ...any) {
		fmt.Fprintf(stderr, "%6.1fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}}
	m := thisMachine(began)
	err = b.prepare(ctx)
	defer func() { _ = os.RemoveAll(b.temp) }()
	if err != nil {
		return err
	}
	m.SyncBefore = syncTime(b.temp).Seconds()
	var all []table
	for _, p := range parts {
		if len(s.only) > 0 && !slices.Contains(s.only, p.name) {
			continue
		}
		tables, err := b.measured(ctx, p)
		if err != nil {
			return err
		}
		all = append(all, tables...)
	}
	m.LoadAfter, m.SyncAfter = load(), syncTime(b.temp).Seconds()
	report := report{machine: m, Tables: all}
	b.say("done")
	if s.json {
		enc := json.NewEncoder(stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(report)
	}
	fmt.Fprintln(stdout, m)
	for _, t := range report.Tables {
		t.markdown(stdout)
	}
	return nil
}

// report is the result.
type report struct {
	machine
	Tables []table `json:"tables"`
}

// machine is where it was measured.
type machine struct {
	Date       string `json:"date"`
	CPUs       int    `json:"cpus"`
	GOMAXPROCS int    `json:"gomaxprocs"`
	CPU        string `json:"cpu,omitempty"`
	System     string `json:"system"`
	Go         string `json:"go"`
	NATSServer string `json:"natsServer"`
	// Load is the system's load average over the minute before the start, LoadAfter
	// that before the end.
	Load      string `json:"load,omitempty"`
	LoadAfter string `json:"loadAfter,omitempty"`
	// SyncBefore and SyncAfter are how long the disk takes to store 2 kB for good, in
	// seconds; 0 if that is not known.
	SyncBefore float64 `json:"syncBefore,omitempty"`
	SyncAfter  float64 `json:"syncAfter,omitempty"`
}

var cpuModel = regexp.MustCompile(`(?m)^model name\s*: (.*)$`)

func thisMachine(now time.Time) machine {
	m := machine{
		Date: now.Format(time.DateOnly), CPUs: runtime.NumCPU(), GOMAXPROCS: runtime.GOMAXPROCS(0),
		System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), NATSServer: server.VERSION,
	}
	info, _ := os.ReadFile("/proc/cpuinfo")
	if model := cpuModel.FindSubmatch(info); model != nil {
		m.CPU = string(model[1])
	}
	m.Load = load()
	return m
}

// load returns the system's load average over the last minute; "" where it is not known.
func load() string {
	data, _ := os.ReadFile("/proc/loadavg")
	out, _, _ := strings.Cut(string(data), " ")
	return out
}

func (m machine) String() string {
	out := fmt.Sprintf("%s, %d CPUs", m.Date, m.CPUs)
	if m.CPU != "" {
		out += " (" + m.CPU + ")"
	}
	if m.GOMAXPROCS != m.CPUs {
		out += fmt.Sprintf(", GOMAXPROCS %d", m.GOMAXPROCS)
	}
	out += fmt.Sprintf(", %s, %s, nats-server %s", m.System, m.Go, m.NATSServer)
	if m.Load != "" {
		out += ", load at the start " + m.Load
	}
	if m.LoadAfter != "" {
		out += ", at the end " + m.LoadAfter
	}
	if m.SyncBefore > 0 && m.SyncAfter > 0 {
		seconds := func(s float64) string { return durationText(time.Duration(s * float64(time.Second))) }
		out += fmt.Sprintf(", a sync of 2 kB %s at the start, %s at the end", seconds(m.SyncBefore), seconds(m.SyncAfter))
	}
	return out
}

// dataDirectory returns a new path in the temporary directory.
func (b *bench) dataDirectory(name string) string {
	b.directories++
	return filepath.Join(b.temp, fmt.Sprintf("%02d-%s", b.directories, name))
}

// discard deletes a data directory except for the session files, which stay until
// the end: after deleting thousands of files, a file system takes several times as
// long to make new ones.
func discard(data string) {
	entries, _ := os.ReadDir(data)
	for _, e := range entries {
		if e.Name() != "sessions" {
			_ = os.RemoveAll(filepath.Join(data, e.Name()))
		}
	}
}
