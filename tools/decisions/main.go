// Command decisions measures the answers to typed questions, and prints two Markdown
// tables: choices that are answered by the names of their options alone, and students
// that learn two booleans from a simulated teacher.
//
//	go -C tools run ./decisions [-seeds N] DATA_DIR PEOPLE_DIR
//
// DATA_DIR holds the public sets, as for the command accuracy:
//
//	clinc150/data_full.json.gz, clinc150/domains.json   clinc/oos-eval
//	banking77/{train,test}.csv                          PolyAI-LDN/task-specific-datasets
//
// PEOPLE_DIR holds injections/*.jsonl, lines of {"text", "attack", "src"}, and
// messages/user-*.jsonl, prompts of people, which are harmless.
//
// The engine and its buckets are the real ones; the NATS server is in this process. The
// teacher knows the labels of the sets. A figure of a student is the worst of all orders
// of the messages; the order is random, by the seed.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"intenthint/classify/encoder"
	"intenthint/decide"
	"intenthint/internal/bus"
	"intenthint/part"
	"intenthint/subjects"
)

func main() {
	seeds := flag.Int("seeds", 3, "`number` of random orders for each student")
	flag.Parse()
	if flag.NArg() != 2 || *seeds < 1 {
		_, _ = fmt.Fprintln(os.Stderr, "usage: go -C tools run ./decisions [-seeds N] DATA_DIR PEOPLE_DIR")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := withBench(ctx, func(b *bench) error {
		return run(b, os.DirFS(flag.Arg(0)), os.DirFS(flag.Arg(1)), *seeds, os.Stdout)
	})
	stop()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "decisions:", err)
		os.Exit(1)
	}
}

// run prints both tables.
func run(b *bench, sets, people fs.FS, seeds int, stdout io.Writer) error {
	for _, print := range []func() error{
		func() error { return b.choices(sets, stdout) },
		func() error { return b.students(sets, people, seeds, stdout) },
	} {
		if err := print(); err != nil {
			return err
		}
	}
	return nil
}

// bench makes simulations, each in a system of its own on one server.
type bench struct {
	ctx     context.Context //nolint:containedctx // the run of this program
	js      jetstream.JetStream
	encoder func() (part.Encoder, error)
	systems int
}

// startTime bounds the start of the server.
const startTime = time.Minute

// withBench runs a server on a free port while do runs.
func withBench(ctx context.Context, do func(*bench) error) error {
	dir, err := os.MkdirTemp("", "intenthint-decisions-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ns, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: dir, NoLog: true, NoSigs: true})
	if err != nil {
		return err
	}
	go ns.Start()
	defer ns.WaitForShutdown()
	defer ns.Shutdown()
	if !ns.ReadyForConnections(startTime) {
		return fmt.Errorf("the NATS server did not start within %s", startTime)
	}
	nc, err := nats.Connect(ns.ClientURL())
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	built, err := encoder.NewEmbedder(runtime.GOMAXPROCS(0), encoder.RecentTexts)
	if err != nil {
		return err
	}
	return do(&bench{ctx: ctx, js: js, encoder: func() (part.Encoder, error) { return built, nil }})
}

// simulation begins one in a new system. end ends it.
func (b *bench) simulation(s *decide.Settings, random func() float64) (sim *decide.Simulation, end func(), err error) {
	b.systems++
	layout := bus.Layout{
		Prefix: subjects.DefaultPrefix, QueueGroup: subjects.DefaultQueueGroup,
		Stream: fmt.Sprintf("%s_%d", subjects.DefaultStream, b.systems),
	}
	log := slog.New(slog.DiscardHandler)
	store := decide.StoreOf(layout, b.js, log)
	if err := store.Open(b.ctx); err != nil {
		return nil, nil, err
	}
	ctx, end := context.WithCancel(b.ctx)
	return decide.NewSimulation(ctx, s, decide.SimulationOptions{Layout: layout, Store: store, Encoder: b.encoder, Random: random, Log: log}), end, nil
}
