package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"intenthint/internal/bus"
	"intenthint/internal/config"
	"intenthint/payload"
	"intenthint/subjects"
)

type askCmd struct {
	JSON    bool     `name:"json" help:"Print one JSON object."`
	Agent   string   `default:"main" help:"The agent that is asked."`
	Session string   `help:"The session: an id, or a whole session key (agent:…). Default: one of its own."`
	Text    []string `arg:"" help:"What the user says."`
}

// Help is the longer text of `consumer ask --help`.
func (askCmd) Help() string {
	return `Sends a before_prompt_build request as a gateway does for a direct chat. Without HINT_NATS_URL it asks the consumer that runs on this machine, and starts one for the question when there is none. The turn is tracked like any other.`
}

// asked is what --json prints.
type asked struct {
	Intent     string   `json:"intent,omitempty"`
	Confidence *float64 `json:"confidence,omitempty"`
	Source     string   `json:"source,omitempty"`
	Model      string   `json:"model,omitempty"`
	Skip       string   `json:"skip,omitempty"`
	// ElapsedMs is the time in the consumer, RoundTripMs that seen from here.
	ElapsedMs      float64 `json:"elapsedMs"`
	RoundTripMs    float64 `json:"roundTripMs"`
	SessionID      string  `json:"sessionId,omitempty"`
	SessionKey     string  `json:"sessionKey"`
	RunID          string  `json:"runId"`
	PrependContext string  `json:"prependContext,omitempty"`
}

func (c *askCmd) Run(inv *invocation) error {
	text := strings.TrimSpace(strings.Join(c.Text, " "))
	if text == "" {
		return errors.New("there is nothing to ask: give a text")
	}
	o, err := runningSystem(inv)
	if err != nil {
		return err
	}
	if o.URL != "" {
		nc, err := connect(o)
		if err != nil {
			return err
		}
		defer nc.Close()
		return c.ask(inv, nc, text)
	}
	return withSystem(inv, func(nc *nats.Conn) error { return c.ask(inv, nc, text) })
}

// connect opens a client connection.
func connect(o bus.Options) (*nats.Conn, error) {
	opts := []nats.Option{nats.Name(o.Name), nats.Timeout(5 * time.Second)}
	if o.Creds != "" {
		opts = append(opts, nats.UserCredentials(o.Creds))
	}
	nc, err := nats.Connect(o.URL, opts...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", bus.ErrUnreachable, err)
	}
	return nc, nil
}

// withSystem runs the whole system in this process for as long as ask takes.
func withSystem(inv *invocation, ask func(*nats.Conn) error) error {
	ctx, stop := context.WithCancel(inv.ctx)
	defer stop()
	cfg := *inv.cfg
	cfg.HTTP = config.HTTP{}
	ready := make(chan *bus.Bus, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- serve(ctx, &cfg, inv.quiet(), func(b *bus.Bus) { ready <- b })
	}()
	select {
	case err := <-ended:
		return err
	case b := <-ready:
		err := ask(b.NC)
		stop()
		return errors.Join(err, <-ended)
	}
}

// request makes the message that a gateway sends for a direct chat.
func (c *askCmd) request(cfg *config.Config, text string) (*nats.Msg, payload.Context, error) {
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
		"event": map[string]any{"prompt": text, "messages": []any{}},
		"ctx":   ctx,
		"ts":    time.Now().UnixMilli(),
		"id":    nuid.Next(),
	})
	msg := nats.NewMsg(subjects.Prefix(cfg.Bus.Prefix).Request(subjects.HookBeforePromptBuild, c.Agent))
	msg.Data = body
	msg.Header.Set(subjects.HeaderTimeoutMs, strconv.FormatInt(cfg.Classifier.Timeout.Milliseconds(), 10))
	return msg, ctx, err
}

func (c *askCmd) ask(inv *invocation, nc *nats.Conn, text string) error {
	msg, ctx, err := c.request(inv.cfg, text)
	if err != nil {
		return err
	}
	began := time.Now()
	reply, err := nc.RequestMsg(msg, inv.cfg.Classifier.Timeout+time.Second)
	took := time.Since(began)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return fmt.Errorf("%w at %s: NATS is there, but no consumer with the subject prefix %q (start one: consumer)", errNoAnswer, nc.ConnectedUrlRedacted(), inv.cfg.Bus.Prefix)
	case err != nil:
		return fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	if fault := reply.Header.Get(subjects.HeaderError); fault != "" {
		return fmt.Errorf("%s: %s", reply.Header.Get(subjects.HeaderErrorCode), fault)
	}
	out := asked{
		Intent: reply.Header.Get(subjects.HeaderIntent), Source: reply.Header.Get(subjects.HeaderSource),
		Model: reply.Header.Get(subjects.HeaderModel), Skip: reply.Header.Get(subjects.HeaderSkip),
		RoundTripMs: float64(took.Microseconds()) / 1000,
		SessionID:   ctx.SessionID, SessionKey: ctx.SessionKey, RunID: ctx.RunID,
	}
	if v, err := strconv.ParseFloat(reply.Header.Get(subjects.HeaderConfidence), 64); err == nil {
		out.Confidence = &v
	}
	out.ElapsedMs, _ = strconv.ParseFloat(reply.Header.Get(subjects.HeaderElapsedMs), 64)
	var body struct {
		PrependContext string `json:"prependContext"`
	}
	if err := json.Unmarshal(reply.Data, &body); err != nil {
		return fmt.Errorf("the answer is not valid JSON: %w", err)
	}
	out.PrependContext = body.PrependContext
	if c.JSON {
		return printJSON(inv, out)
	}
	if out.PrependContext == "" {
		_, err = fmt.Fprintf(inv.stdout, "no hint: %s\n", firstOf(out.Skip, "no decision"))
	} else {
		_, err = fmt.Fprintln(inv.stdout, out.PrependContext)
	}
	if err != nil {
		return err
	}
	_, err = inv.stderr.Write(out.summary())
	return err
}

// summary is the line below the hint: who said it, how sure and how fast.
func (a asked) summary() []byte {
	var b bytes.Buffer
	if a.Intent != "" {
		fmt.Fprintf(&b, "\n%s", a.Intent)
		if a.Confidence != nil {
			fmt.Fprintf(&b, " %.2f", *a.Confidence)
		}
		fmt.Fprintf(&b, " from %s", firstOf(a.Model, a.Source))
	}
	fmt.Fprintf(&b, " in %.3f ms (round trip %.3f ms), session %s\n", a.ElapsedMs, a.RoundTripMs, firstOf(a.SessionID, a.SessionKey))
	return b.Bytes()
}
