package main

import (
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"intenthint/app"
	"intenthint/cmd/consumer/cli"
	"intenthint/config"
)

type runCmd struct{}

// Help is the longer text of `consumer run --help`.
func (runCmd) Help() string {
	var b strings.Builder
	b.WriteString("Settings are environment variables, or fields of the JSON5 file that HINT_CONFIG names (an openclaw.json, or the plugin's config object alone); the environment takes precedence.\n\n")
	_ = config.Usage(&b, app.Objects()...) // a builder does not fail
	return b.String()
}

func (runCmd) Run(inv *cli.Invocation) error {
	if err := app.CheckServer(inv.Config); err != nil {
		return err
	}
	// The reader of the log may exit before this process.
	signal.Ignore(syscall.SIGPIPE)
	app.LimitMemory()
	log, level := inv.Logger()
	// The first line has the link to the pages, so it waits until they are served.
	warn := sync.OnceFunc(func() {
		for _, w := range inv.Warnings {
			log.Warn("configuration warning", "variable", w.Variable, "warning", w.Message)
		}
	})
	o := app.Options{Version: version, Commit: commit(), Log: log, Level: level, Listening: func(link string) {
		about := []any{"version", version, "config", inv.Config}
		if link != "" {
			about = append(about, "pages", link)
		}
		log.Info("starting", about...)
		if inv.Config.Auth == config.AuthOff {
			log.Warn("authentication off, every process of this machine may read and change everything", "variable", "HINT_AUTH")
		}
		warn()
	}}
	defer warn() // also where nothing could be served
	logged := false
	o.Failed = func(err error) {
		if _, wrong := misconfigured(inv, err); !wrong {
			log.Error("start failed", "error", err)
			logged = true
		}
	}
	if cli.IsTerminal(inv.Stderr) {
		o.Ready = func() {
			log.Info("try in another terminal", "command", "consumer ask 'can you review my pull request?'")
		}
	}
	err := app.New(inv.Config, o).Run(inv.Ctx)
	if logged {
		return cli.ErrReported
	}
	return err
}
