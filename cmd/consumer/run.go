package main

import (
	"os/signal"
	"syscall"

	"intenthint/internal/app"
)

type runCmd struct{}

// Help is the longer text of `consumer run --help`.
func (runCmd) Help() string {
	return "Settings are environment variables, or fields of the JSON5 file that HINT_CONFIG names (an openclaw.json, or the plugin's config object alone); the environment wins.\n\n" + usage()
}

func (runCmd) Run(inv *invocation) error {
	if err := app.CheckServer(inv.cfg); err != nil {
		return err
	}
	// The reader of the log may exit before this process.
	signal.Ignore(syscall.SIGPIPE)
	app.LimitMemory()
	log, level := inv.logger()
	for _, w := range inv.warnings {
		log.Warn("configuration warning", "variable", w.Variable, "warning", w.Message)
	}
	log.Info("starting", "version", version, "config", inv.cfg)
	err := app.New(inv.cfg, app.Options{Version: version, Log: log, Level: level}).Run(inv.ctx)
	if err == nil {
		log.Info("stopped")
	}
	return err
}
