package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"intenthint/app"
	"intenthint/cmd/consumer/cli"
	"intenthint/config"
	"intenthint/internal/bus"
	"intenthint/knowhub"
	"intenthint/payload"
	"intenthint/subjects"
)

type askCmd struct {
	JSON    bool     `name:"json" help:"Print one JSON object."`
	Agent   string   `default:"main" help:"The agent to ask."`
	Session string   `help:"A session id, or a full session key (agent:…). Default: a new session."`
	Text    []string `arg:"" help:"The user's message."`
}

// Help is the longer text of `consumer ask --help`.
func (askCmd) Help() string {
	return `Sends a before_prompt_build request as a gateway does for a direct chat. The request goes to HINT_NATS_URL, or else to the consumer running on this machine. If neither is available, a consumer is started for this request, unless HINT_NATS_URL is set. The turn is tracked like any other.`
}

// asked is what --json prints.
type asked struct {
	Intent     string   `json:"intent,omitempty"`
	Confidence *float64 `json:"confidence,omitempty"`
	Source     string   `json:"source,omitempty"`
	Model      string   `json:"model,omitempty"`
	Skip       string   `json:"skip,omitempty"`
	// ElapsedMs is the time in the consumer, RoundTripMs the time seen from here.
	ElapsedMs      float64 `json:"elapsedMs"`
	RoundTripMs    float64 `json:"roundTripMs"`
	SessionID      string  `json:"sessionId,omitempty"`
	SessionKey     string  `json:"sessionKey"`
	RunID          string  `json:"runId"`
	PrependContext string  `json:"prependContext,omitempty"`
}

// Validate rejects a blank message.
func (c *askCmd) Validate() error {
	if c.message() == "" {
		return errors.New("missing text")
	}
	return nil
}

func (c *askCmd) message() string { return strings.TrimSpace(strings.Join(c.Text, " ")) }

func (c *askCmd) Run(inv *cli.Invocation) error {
	q, err := c.request(inv.Config)
	if err != nil {
		return err
	}
	o, err := cli.RunningSystem(inv)
	if err != nil {
		return err
	}
	// Do not start anything in place of a configured server, or on an address
	// where another program listens.
	configured := len(inv.Config.Bus.URLs) > 0
	if o.URL != "" {
		o.Log = inv.Quiet()
		b, err := bus.Open(inv.Ctx, o)
		if err == nil {
			err = c.ask(inv, b.NC, q, configured)
			b.Close()
			if configured || !errors.Is(err, errGone) {
				return err
			}
		}
		if configured || errors.Is(err, bus.ErrRefused) || errors.Is(err, bus.ErrNotNATS) {
			return err
		}
		_, _ = fmt.Fprintf(inv.Stderr, "%v; starting a temporary consumer instead\n", err)
	}
	return withSystem(inv, func(nc *nats.Conn) error { return c.ask(inv, nc, q, true) })
}

// withSystem runs the whole system in this process while ask runs. Stopping it
// waits until the turn is in its session.
func withSystem(inv *cli.Invocation, ask func(*nats.Conn) error) error {
	if err := app.CheckServer(inv.Config); err != nil {
		return err
	}
	cfg := *inv.Config
	cfg.HTTP, cfg.Bus.URLs = config.HTTP{}, nil
	// The usual port is for a long-running consumer.
	cfg.Parts = knowhub.Declared.With(cfg.Parts, func(s *knowhub.Settings) { s.Listen = "127.0.0.1:0" })
	system := app.New(&cfg, app.Options{Version: version, Log: inv.Quiet(), Level: new(slog.LevelVar)})
	if err := system.Start(inv.Ctx); err != nil {
		return errors.Join(err, system.Stop())
	}
	own, err := system.Bus().Another(inv.Ctx, "intenthint ask")
	if err != nil {
		return errors.Join(err, system.Stop())
	}
	err = ask(own.NC)
	own.Close()
	return errors.Join(err, system.Stop())
}

// prompt is a request and the context that it names.
type prompt struct {
	msg *nats.Msg
	ctx payload.Context
}

// request returns the request that a gateway sends for a direct chat.
func (c *askCmd) request(cfg *config.Config) (*prompt, error) {
	ctx := payload.Context{RunID: "ask-" + nuid.Next(), AgentID: c.Agent, Trigger: "user", SessionID: c.Session}
	switch {
	case strings.Contains(c.Session, ":"):
		ctx.SessionID, ctx.SessionKey = "", c.Session
	case c.Session == "":
		ctx.SessionID = ctx.RunID
		fallthrough
	default:
		ctx.SessionKey = "agent:" + c.Agent + ":cli:direct:" + ctx.SessionID
	}
	body, err := json.Marshal(map[string]any{
		"hook":  subjects.HookBeforePromptBuild,
		"event": map[string]any{"prompt": c.message(), "messages": []any{}},
		"ctx":   ctx,
		"ts":    time.Now().UnixMilli(),
		"id":    nuid.Next(),
	})
	msg := nats.NewMsg(subjects.Prefix(cfg.Bus.Prefix).Request(subjects.HookBeforePromptBuild, c.Agent))
	msg.Data = body
	msg.Header.Set(subjects.HeaderTimeoutMs, strconv.FormatInt(cfg.Classifier.Timeout.Milliseconds(), 10))
	return &prompt{msg, ctx}, err
}

// patience is how long to wait for a starting consumer.
const patience = 4 * time.Second

var (
	// errNoAnswer reports that the server is up but no consumer answers.
	errNoAnswer = errors.New("no answer")
	// errGone reports that the connection was lost before an answer came.
	errGone = errors.New("the server went away")
)

// ask sends the request and prints the answer. With stay it waits for a server that
// went away to come back.
func (c *askCmd) ask(inv *cli.Invocation, nc *nats.Conn, q *prompt, stay bool) error {
	reply, took, err := exchange(inv, nc, q.msg, stay)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return fmt.Errorf("%w at %s: NATS is up, but no consumer uses the subject prefix %q (start one: consumer)", errNoAnswer, nc.ConnectedUrlRedacted(), inv.Config.Bus.Prefix)
	case err != nil:
		if denied := nc.LastError(); errors.Is(denied, nats.ErrPermissionViolation) {
			err = denied // the server drops messages that a user may not send
		}
		return fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	if fault := reply.Header.Get(subjects.HeaderError); fault != "" {
		return fmt.Errorf("%s: %s", reply.Header.Get(subjects.HeaderErrorCode), fault)
	}
	var body struct {
		PrependContext string `json:"prependContext"`
	}
	if err := json.Unmarshal(reply.Data, &body); err != nil {
		return fmt.Errorf("invalid JSON in the answer: %w", err)
	}
	out := asked{
		Intent: reply.Header.Get(subjects.HeaderIntent), Source: reply.Header.Get(subjects.HeaderSource),
		Model: reply.Header.Get(subjects.HeaderModel), Skip: reply.Header.Get(subjects.HeaderSkip),
		RoundTripMs: float64(took.Microseconds()) / 1000,
		SessionID:   q.ctx.SessionID, SessionKey: q.ctx.SessionKey, RunID: q.ctx.RunID,
		PrependContext: body.PrependContext,
	}
	if v, err := strconv.ParseFloat(reply.Header.Get(subjects.HeaderConfidence), 64); err == nil {
		out.Confidence = &v
	}
	out.ElapsedMs, _ = strconv.ParseFloat(reply.Header.Get(subjects.HeaderElapsedMs), 64)
	return c.print(inv, out)
}

// exchange sends a request, and retries for up to [patience] while there are no
// responders, and with stay also after the connection was lost: the run is the same, so
// nothing is asked twice.
func exchange(inv *cli.Invocation, nc *nats.Conn, msg *nats.Msg, stay bool) (*nats.Msg, time.Duration, error) {
	giveUp := time.Now().Add(patience)
	for {
		began := time.Now()
		reply, err := once(inv, nc, msg)
		again := errors.Is(err, nats.ErrNoResponders) || stay && errors.Is(err, errGone)
		if !again || time.Now().After(giveUp) || inv.Ctx.Err() != nil {
			return reply, time.Since(began), err
		}
		select {
		case <-inv.Ctx.Done():
		case <-time.After(100 * time.Millisecond): // a person waits, so it does not grow
		}
	}
}

// once sends a request. It does not wait on a connection that is lost: the answer
// would go to the lost one.
func once(inv *cli.Invocation, nc *nats.Conn, msg *nats.Msg) (*nats.Msg, error) {
	lost := nc.StatusChanged(nats.RECONNECTING, nats.CLOSED)
	defer nc.RemoveStatusListener(lost)
	if !nc.IsConnected() {
		return nil, errGone
	}
	limited, cancel := context.WithTimeout(inv.Ctx, inv.Config.Classifier.Timeout+time.Second)
	defer cancel()
	ctx, leave := context.WithCancelCause(limited)
	defer leave(nil)
	go func() {
		select {
		case <-lost:
			leave(errGone)
		case <-ctx.Done():
		}
	}()
	reply, err := nc.RequestMsgWithContext(ctx, msg)
	if err != nil && errors.Is(context.Cause(ctx), errGone) {
		err = errGone
	}
	return reply, err
}

func (c *askCmd) print(inv *cli.Invocation, out asked) error {
	if c.JSON {
		return cli.PrintJSON(inv, out)
	}
	text := out.PrependContext
	if text == "" {
		text = "no hint: " + cmp.Or(out.Skip, "no decision")
	}
	if _, err := fmt.Fprintln(inv.Stdout, text); err != nil {
		return err
	}
	_, err := inv.Stderr.Write(out.summary())
	return err
}

// summary returns the line below the hint: intent, confidence, source and
// duration.
func (a asked) summary() []byte {
	var b bytes.Buffer
	if a.Intent != "" {
		fmt.Fprintf(&b, "\n%s", a.Intent)
		if a.Confidence != nil {
			fmt.Fprintf(&b, " %.2f", *a.Confidence)
		}
		fmt.Fprintf(&b, " from %s ", cmp.Or(a.Model, a.Source))
	}
	fmt.Fprintf(&b, "in %.3f ms (round trip %.3f ms), session %s\n", a.ElapsedMs, a.RoundTripMs, cmp.Or(a.SessionID, a.SessionKey))
	return b.Bytes()
}
