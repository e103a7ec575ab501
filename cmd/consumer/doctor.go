package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"intenthint/app"
	"intenthint/cmd/consumer/cli"
	"intenthint/cmd/consumer/workbench"
	"intenthint/config"
	"intenthint/intents"
	"intenthint/internal/access"
	"intenthint/internal/room"
	"intenthint/internal/text"
)

type doctorCmd struct {
	JSON bool   `name:"json" help:"Print a JSON array."`
	As   string `enum:"consumer,operator,gateway" default:"consumer" placeholder:"WHO" help:"Whose rights the NATS user must have: ${enum}."`
}

// Help is the longer text of `consumer doctor --help`.
func (doctorCmd) Help() string {
	return `Checks everything that a consumer with these settings needs: the NATS server, JetStream, the permissions of the NATS user, the identity of the system, the models with one question each (which costs a few hundred tokens), the intent files, the directories and the HTTP port. It changes nothing, starts no server, and prints no secrets. With --as operator or --as gateway it checks only whether the NATS user of the settings has the rights of an operator or a gateway.

Each line shows "ok", "warn" or "fail", what was found, and what to do. Exit code 1: a check fails, and a consumer would not start or not work.`
}

// States of a [finding].
const (
	stateOK   = "ok"
	stateWarn = "warn"
	stateFail = "fail"
)

// finding is the result of one check.
type finding struct {
	Status string `json:"status"`
	What   string `json:"what"`
	// Advice is what to do, "" if nothing.
	Advice string `json:"advice,omitempty"`
}

// doctor collects findings and prints them as they arrive.
type doctor struct {
	inv      *cli.Invocation
	as       string // whose rights are tried: access.Consumer, Operator or Gateway
	json     bool
	terminal bool
	findings []finding
	broken   error // of writing
}

func (c *doctorCmd) Run(inv *cli.Invocation) error {
	d := &doctor{inv: inv, as: c.As, json: c.JSON, terminal: cli.IsTerminal(inv.Stderr)}
	d.configuration()
	if c.As == access.Consumer {
		d.intents()
		d.directories()
		d.http()
	}
	d.nats()
	if c.As == access.Consumer {
		d.models()
	}
	d.clear()
	if c.JSON {
		d.broken = cli.PrintJSON(inv, d.findings)
	}
	if d.broken != nil {
		return d.broken
	}
	if err := inv.Ctx.Err(); err != nil {
		return err
	}
	if slices.ContainsFunc(d.findings, func(f finding) bool { return f.Status == stateFail }) {
		return cli.ErrReported
	}
	return nil
}

// report adds a finding. advice is "" if there is nothing to do.
func (d *doctor) report(status, what, advice string) {
	const most = 1000 // characters: some lines of a terminal
	f := finding{Status: status, What: text.OneLine(what, most), Advice: text.OneLine(advice, most)}
	d.findings = append(d.findings, f)
	if d.json || d.broken != nil {
		return
	}
	d.clear()
	line := fmt.Sprintf("%-4s  %s", f.Status, f.What)
	if f.Advice != "" {
		line += "  — " + f.Advice
	}
	_, d.broken = fmt.Fprintln(d.inv.Stdout, line)
}

// Progress shows on a terminal what the command is waiting for.
func (d *doctor) progress(what string) {
	if d.terminal {
		_, _ = fmt.Fprintf(d.inv.Stderr, "\r%s…\x1b[K", what)
	}
}

func (d *doctor) clear() {
	if d.terminal {
		_, _ = fmt.Fprint(d.inv.Stderr, "\r\x1b[K")
	}
}

func (d *doctor) configuration() {
	for _, w := range d.inv.Warnings {
		d.report(stateWarn, w.Variable+": "+w.Message, "correct it (consumer run --help)")
	}
	if len(d.inv.Warnings) == 0 {
		d.report(stateOK, "configuration: no warnings", "")
	}
}

func (d *doctor) intents() {
	dir := d.inv.Config.IntentsDir
	what := "intents in " + cmp.Or(dir, "the binary")
	fsys, err := workbench.IntentsFS(dir)
	var files []intents.File
	if err == nil {
		files, _, err = intents.Load(fsys)
	}
	if err != nil {
		d.report(stateFail, fmt.Sprintf("%s: %v", what, err), "correct HINT_INTENTS_DIR")
		return
	}
	enabled := len(intents.CatalogOf(files).Enabled())
	what += ": " + cli.Count(enabled, "intent")
	faults := 0
	for _, f := range intents.Lint(fsys) {
		if f.Severity == intents.Error {
			faults++
		}
	}
	switch {
	case enabled == 0:
		d.report(stateFail, what+", no turn gets a hint", "consumer intents lint names the faults")
	case faults > 0:
		d.report(stateWarn, what+", "+cli.Count(faults, "fault"), "consumer intents lint names them")
	default:
		d.report(stateOK, what, "")
	}
}

// Free space below which a directory is reported. lowRoom is the default of
// HINT_STREAM_MAX_BYTES, fullRoom the amount that a consumer pulls at once.
const (
	lowRoom  = 1 << 30
	fullRoom = 16 << 20
)

func (d *doctor) directories() {
	cfg := d.inv.Config
	d.directory("data directory", cfg.DataDir, "HINT_DATA_DIR")
	if cfg.Store.Kind == config.StoreFile {
		d.directory("sessions directory", cfg.Store.SessionsDir, "HINT_SESSIONS_DIR")
	}
}

// adviceOn returns the advice for a directory that cannot be written.
func adviceOn(err error) string {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return "free disk space"
	}
	return "make it writable for this user"
}

func (d *doctor) directory(name, dir, variable string) {
	what := name + " " + dir
	existing, err := existingDir(dir)
	if err == nil {
		err = writable(existing)
	}
	if err != nil {
		d.report(stateFail, fmt.Sprintf("%s: %v", what, err), adviceOn(err)+", or set another "+variable)
		return
	}
	if existing != filepath.Clean(dir) {
		what += " (created at the start)"
	}
	free, known := room.Free(existing)
	if known {
		what += fmt.Sprintf(": writable, %.1f GiB free", float64(free)/(1<<30))
	}
	switch {
	case known && free < fullRoom:
		d.report(stateFail, what, "free disk space")
	case known && free < lowRoom:
		d.report(stateWarn, what, "free disk space: the event stream alone may grow to HINT_STREAM_MAX_BYTES")
	default:
		d.report(stateOK, what, "")
	}
}

// existingDir returns the directory, or its nearest parent if it does not exist.
func existingDir(dir string) (string, error) {
	for dir = filepath.Clean(dir); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir):
		case err != nil:
			return "", err
		case !info.IsDir():
			return "", fmt.Errorf("%s is not a directory", dir)
		default:
			return dir, nil
		}
	}
}

// writable returns why no file can be created and written in a directory.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString("doctor\n")
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

func (d *doctor) http() {
	cfg := d.inv.Config.HTTP
	if cfg.Addr == "" {
		d.report(stateOK, "HTTP: off", "")
		return
	}
	d.progress("asking the running consumer")
	ctx, cancel := context.WithTimeout(d.inv.Ctx, healthTime)
	defer cancel()
	for _, base := range app.HTTPAddresses(d.inv.Config) {
		address, err := healthURL(base, "/healthz")
		if err != nil {
			continue
		}
		report, err := askHealth(ctx, address)
		switch {
		case err != nil:
		case report.Status == "ok":
			d.report(stateOK, "HTTP: a consumer answers at "+base+", healthy", "")
			return
		default:
			d.report(stateFail, "HTTP: the consumer at "+base+" is not healthy: "+failedChecks(report), "see its log")
			return
		}
	}
	var listen net.ListenConfig
	listener, err := listen.Listen(d.inv.Ctx, "tcp", cfg.Addr)
	switch {
	case err == nil:
		_ = listener.Close()
		d.report(stateOK, "HTTP: "+cfg.Addr+" is free", "")
	case !cfg.Fixed && errors.Is(err, syscall.EADDRINUSE):
		d.report(stateWarn, "HTTP: "+cfg.Addr+" is taken by another program, a consumer uses a free port instead", "set HINT_HTTP_ADDR")
	default:
		d.report(stateFail, fmt.Sprintf("HTTP: %v", err), "set another HINT_HTTP_ADDR")
	}
}

// took formats the time since something began.
func took(began time.Time) string {
	return time.Since(began).Round(100 * time.Microsecond).String()
}

// joined lists a few things in a line.
func joined(list []string) string { return strings.Join(list, ", ") }
