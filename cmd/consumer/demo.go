package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	root "intenthint"
	"intenthint/app"
	"intenthint/cmd/consumer/cli"
	"intenthint/cmd/consumer/demo"
	"intenthint/config"
	"intenthint/internal/telemetry"
)

type demoCmd struct {
	Data string `placeholder:"DIR" help:"Use this directory, which must be empty or missing, and keep it."`
	Keep bool   `help:"Keep the temporary directory."`
}

// Help is the longer text of `consumer demo --help`.
func (demoCmd) Help() string {
	return `Starts a system of its own with an embedded NATS server on a free port, plays a day of believable traffic to it, and serves its pages until SIGINT or SIGTERM. Standard output gets one line, the link that signs in. The directory is then removed, unless --keep or --data says otherwise. No model is asked, and of the settings only HINT_HTTP_ADDR, HINT_HTTP_TOKEN, HINT_AUTH and those of the log are used.`
}

func (c *demoCmd) Run(inv *cli.Invocation) (err error) {
	dir, err := c.directory()
	if err != nil {
		return err
	}
	if !c.keeps() {
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	cfg, err := demoConfig(inv.Config, dir)
	if err != nil {
		return err
	}
	// Warnings about the day's dead letters would alarm people.
	level := new(slog.LevelVar)
	level.Set(slog.LevelError)
	system := app.New(cfg, app.Options{Version: version, Log: telemetry.NewLogger(inv.Stderr, cfg.Log.Format, level), Level: level})
	err = system.Start(inv.Ctx)
	if err == nil {
		err = c.serve(inv, system, cfg)
	}
	if inv.Ctx.Err() != nil {
		err = nil // the end that was asked for
	}
	return errors.Join(err, system.Stop())
}

// serve fills the system and tells where it is, until the command is to end.
func (c *demoCmd) serve(inv *cli.Invocation, system *app.App, cfg *config.Config) error {
	day, err := demo.Bundled()
	if err != nil {
		return err
	}
	own, err := system.Bus().Another(inv.Ctx, "intenthint demo")
	if err != nil {
		return err
	}
	err = demo.Play(inv.Ctx, own.NC, own.JS, app.Layout(cfg), day, time.Now())
	own.Close()
	if err != nil {
		return err
	}
	token, err := app.PageToken(cfg)
	if err != nil {
		return err
	}
	until := "removed at the end"
	if c.keeps() {
		until = "kept; HINT_DATA_DIR=" + cfg.DataDir + " consumer serves it again"
	}
	_, _ = fmt.Fprintf(inv.Stderr, "The last 24 hours of %s and %s, at %s.\nDirectory: %s (%s)\nEnd with Ctrl-C.\n",
		cli.Count(len(day.Sessions), "chat"), cli.Count(len(day.Groups), "group"), system.Bus().URL(), cfg.DataDir, until)
	if _, err := fmt.Fprintln(inv.Stdout, app.SignInLink(app.HTTPAddresses(cfg)[0], token)); err != nil {
		return err
	}
	<-inv.Ctx.Done()
	return nil
}

func (c *demoCmd) keeps() bool { return c.Keep || c.Data != "" }

// errNotEmpty reports a directory that may hold a system of somebody's.
var errNotEmpty = errors.New("not empty")

// directory returns the directory of the system, which is empty.
func (c *demoCmd) directory() (string, error) {
	if c.Data == "" {
		return os.MkdirTemp("", "intenthint-demo-")
	}
	dir, err := filepath.Abs(c.Data)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	f, err := os.Open(dir)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	if _, err := f.Readdirnames(1); !errors.Is(err, io.EOF) {
		return "", errors.Join(err, fmt.Errorf("%s is %w; a demonstration needs a directory of its own", dir, errNotEmpty))
	}
	return dir, nil
}

// demoConfig returns the settings of a demonstration, which takes few from the
// environment: it must neither reach another system nor ask a model.
func demoConfig(given *config.Config, dir string) (*config.Config, error) {
	conf := filepath.Join(dir, "nats.conf")
	if err := os.WriteFile(conf, []byte(root.NATSConf), 0o600); err != nil {
		return nil, err
	}
	settings := map[string]string{
		"HINT_DATA_DIR":           dir,
		"HINT_NATS_CONF":          conf,
		"HINT_NATS_PORT":          "-1",
		"HINT_HTTP_ADDR":          "127.0.0.1:0",
		"HINT_AUTH":               given.Auth,
		"HINT_LOG_FORMAT":         given.Log.Format,
		"HINT_LOG_LEVEL":          "error",
		"HINT_ALLOWED_CHAT_TYPES": "direct,group",
		"HINT_TRIAGE":             `{"enabled":true,"local":true}`,
		"HINT_KNOWHUB":            `{"enabled":true,"listen":"127.0.0.1:0","recall":2}`,
		"HINT_PRICES":             `{"example/large":{"input":3,"output":15,"cacheRead":0.3}}`,
	}
	if given.HTTP.Fixed && given.HTTP.Addr != "" {
		settings["HINT_HTTP_ADDR"] = given.HTTP.Addr
	}
	if given.HTTP.Token != "" {
		settings["HINT_HTTP_TOKEN"] = given.HTTP.Token
	}
	cfg, _, err := config.LoadFrom(settings, app.Objects()...)
	return cfg, err
}
