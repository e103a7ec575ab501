// Command bench measures a local hint against its floor: a bare echo service,
// asked in turn with it over the same server, each in a process of its own.
// Absolute times depend on the machine; the ratios are what to look at.
//
//	go run ./bench
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

const (
	hintSubject = "openclaw.request.before_prompt_build.main"
	echoSubject = "bench.echo"
)

var (
	echoURL    = flag.String("echo", "", "internal: serve as the echo service on this server")
	requests   = flag.Int("n", 3000, "requests of each kind, one at a time")
	requesters = flag.Int("c", 8, "requesters at once for the throughput")
	seconds    = flag.Duration("t", 3*time.Second, "time of each throughput run")
)

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	run := measure
	if *echoURL != "" {
		run = serveEcho
	}
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// serveEcho answers every request with the body that a hint has about.
func serveEcho(ctx context.Context) error {
	nc, err := nats.Connect(*echoURL)
	if err != nil {
		return err
	}
	defer nc.Close()
	body := bytes.Repeat([]byte("x"), 2200)
	service, err := micro.AddService(nc, micro.Config{
		Name: "echo", Version: "1.0.0",
		Endpoint: &micro.EndpointConfig{Subject: echoSubject, Handler: micro.HandlerFunc(func(r micro.Request) { _ = r.Respond(body) })},
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	return service.Stop()
}

func measure(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "intenthint-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	url, stop, err := startConsumer(ctx, dir)
	if err != nil {
		return err
	}
	defer stop()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	echo := exec.CommandContext(ctx, self, "-echo", url) //nolint:gosec // this program itself
	echo.Stderr = os.Stderr
	if err := echo.Start(); err != nil {
		return err
	}
	defer func() { _ = echo.Process.Kill(); _ = echo.Wait() }()
	nc, err := nats.Connect(url)
	if err != nil {
		return err
	}
	defer nc.Close()
	for _, subject := range []string{hintSubject, echoSubject} {
		if err := await(ctx, nc, subject); err != nil {
			return err
		}
	}
	fmt.Printf("%s, %d CPUs, %s, GOMAXPROCS %d\n", runtime.Version(), runtime.NumCPU(), time.Now().Format(time.DateOnly), runtime.GOMAXPROCS(0))
	if err := latency(ctx, nc); err != nil {
		return err
	}
	return throughput(ctx, url)
}

// startConsumer builds the consumer and starts it with a server of its own.
func startConsumer(ctx context.Context, dir string) (url string, stop func(), err error) {
	binary := filepath.Join(dir, "consumer")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "intenthint/cmd/consumer") //nolint:gosec // a fixed command
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return "", nil, fmt.Errorf("build the consumer: %w", err)
	}
	cmd := exec.CommandContext(ctx, binary) //nolint:gosec // the binary just built
	cmd.Env = []string{"HINT_DATA_DIR=" + filepath.Join(dir, "data"), "HINT_NATS_PORT=-1", "HINT_HTTP_ADDR=off", "HINT_LOG_LEVEL=warn"}
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() { _ = cmd.Process.Signal(os.Interrupt); _ = cmd.Wait() }
	for range 500 {
		if data, err := os.ReadFile(filepath.Join(dir, "data", "nats.url")); err == nil {
			return strings.TrimSpace(string(data)), stop, nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	stop()
	return "", nil, errors.New("the consumer did not start")
}

func await(ctx context.Context, nc *nats.Conn, subject string) error {
	for range 500 {
		if _, err := nc.Request(subject, prompt(0), 2*time.Second); err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("nobody answers on %s", subject)
}

var sequence atomic.Int64

// prompt is the request of a direct chat with a short history: a new run in one
// of a hundred sessions.
func prompt(n int) []byte {
	turn := func(role, text string) map[string]string { return map[string]string{"role": role, "content": text} }
	data, err := json.Marshal(map[string]any{
		"hook": "before_prompt_build",
		"event": map[string]any{
			"prompt": "can you remind me to water the plants tomorrow at nine?",
			"messages": []any{
				turn("user", "good morning"), turn("assistant", "Good morning! What can I do for you?"),
			},
		},
		"ctx": map[string]any{
			"runId": fmt.Sprint("run-", sequence.Add(1)), "agentId": "main", "trigger": "user",
			"sessionId": fmt.Sprint("session-", n%100), "sessionKey": fmt.Sprintf("agent:main:telegram:direct:%d", n%100),
		},
		"ts": time.Now().UnixMilli(),
	})
	if err != nil {
		panic(err) // strings and numbers
	}
	return data
}

// latency asks both in turn, so that a change of the machine's speed meets both.
func latency(ctx context.Context, nc *nats.Conn) error {
	ask := func(subject string, body []byte) (time.Duration, error) {
		began := time.Now()
		_, err := nc.RequestWithContext(ctx, subject, body)
		return time.Since(began), err
	}
	var hints, echoes []time.Duration
	for i := range *requests + 200 {
		body := prompt(i)
		bare, err := ask(echoSubject, body)
		if err != nil {
			return err
		}
		hint, err := ask(hintSubject, body)
		if err != nil {
			return err
		}
		if i >= 200 { // warm
			hints, echoes = append(hints, hint), append(echoes, bare)
		}
	}
	fmt.Printf("\n%-24s %10s %10s %8s\n", "round trip, one at a time", "hint", "echo", "ratio")
	for _, q := range []struct {
		name string
		at   float64
	}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}} {
		h, e := quantile(hints, q.at), quantile(echoes, q.at)
		fmt.Printf("%-24s %10s %10s %8.2f\n", q.name, h.Round(time.Microsecond), e.Round(time.Microsecond), float64(h)/float64(e))
	}
	return nil
}

// throughput lets several requesters ask one service for a while, in turn.
func throughput(ctx context.Context, url string) error {
	rate := func(subject string) (float64, error) {
		var (
			wg      sync.WaitGroup
			count   atomic.Int64
			failure atomic.Pointer[error]
		)
		ctx, cancel := context.WithTimeout(ctx, *seconds)
		defer cancel()
		began := time.Now()
		for range *requesters {
			wg.Go(func() {
				nc, err := nats.Connect(url)
				if err != nil {
					failure.Store(&err)
					return
				}
				defer nc.Close()
				for i := 0; ctx.Err() == nil; i++ {
					if _, err := nc.Request(subject, prompt(i), 5*time.Second); err != nil {
						failure.Store(&err)
						return
					}
					count.Add(1)
				}
			})
		}
		wg.Wait()
		if err := failure.Load(); err != nil {
			return 0, *err
		}
		return float64(count.Load()) / time.Since(began).Seconds(), nil
	}
	echo, err := rate(echoSubject)
	if err != nil {
		return err
	}
	hint, err := rate(hintSubject)
	if err != nil {
		return err
	}
	fmt.Printf("\n%-24s %8.0f/s %8.0f/s %8.2f\n", fmt.Sprintf("%d requesters", *requesters), hint, echo, hint/echo)
	return nil
}

func quantile(list []time.Duration, at float64) time.Duration {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[min(int(float64(len(sorted))*at), len(sorted)-1)]
}
