package main

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"intenthint/app"
	"intenthint/cmd/consumer/cli"
	"intenthint/internal/access"
	"intenthint/internal/bus"
	"intenthint/internal/natsserver"
)

// nats checks the server, and everything that a consumer needs there.
func (d *doctor) nats() {
	d.progress("connecting to NATS")
	if err := app.CheckServer(d.inv.Config); err != nil {
		d.report(stateFail, fmt.Sprintf("embedded NATS server: %v", err), "correct HINT_NATS_CONF")
		return
	}
	o, err := cli.RunningSystem(d.inv)
	switch {
	case errors.Is(err, natsserver.ErrStranger):
		d.report(stateFail, fmt.Sprintf("NATS: %v", err), "set HINT_DATA_DIR, HINT_NATS_CONTEXT, HINT_NATS_URL or another HINT_NATS_PORT")
		return
	case err != nil:
		d.report(stateFail, fmt.Sprintf("embedded NATS server: %v", err), "correct HINT_NATS_CONF")
		return
	case o.URL == "":
		d.report(stateOK, "NATS: none is running on "+d.inv.Config.DataDir+", a consumer starts its own", "")
		return
	}
	// The findings replace the log.
	o.Log, o.As = slog.New(slog.DiscardHandler), d.as
	began := time.Now()
	b, err := bus.Open(d.inv.Ctx, o)
	if err != nil {
		advice := "start the server, or correct HINT_NATS_URL"
		switch {
		case errors.Is(err, bus.ErrRefused):
			advice = "correct the NATS user or certificates"
		case errors.Is(err, bus.ErrNotNATS):
			if len(d.inv.Config.Bus.URLs) == 0 {
				advice = "set another HINT_NATS_PORT, or HINT_NATS_URL"
			}
		}
		d.report(stateFail, fmt.Sprintf("NATS: %v", err), advice)
		d.certificateFile(o.Identity.Cert)
		return
	}
	defer b.Close()
	d.report(stateOK, fmt.Sprintf("NATS: %s, version %s, connected in %s", b.URL(), b.NC.ConnectedServerVersion(), took(began)), "")
	d.certificates(b)
	if d.as == access.Gateway { // which need not have JetStream
		d.rights(b)
		return
	}
	if o.Local && o.Embedded.Auth && !b.NC.AuthRequired() {
		d.report(stateFail, "NATS: the server of this data directory asks for no user", "set HINT_AUTH alike for all consumers of the directory")
	}
	if !d.jetStream(b) {
		return
	}
	d.rights(b)
	if d.streams(b) {
		d.system(b)
	}
}

// jetStream reports whether JetStream can be used.
func (d *doctor) jetStream(b *bus.Bus) bool {
	d.progress("asking JetStream")
	_, err := bus.Call(d.inv.Ctx, b.NC, b.JS.AccountInfo)
	switch {
	case bus.NoLeader(err):
		d.leaderless(b)
		return false
	case timedOut(err) && d.silent(b):
		// Every other call would take as long.
		d.report(stateFail, fmt.Sprintf("JetStream did not answer in time: %v", err), adviceOnSilence)
		return false
	case err != nil && !timedOut(err):
		if err := b.CheckJetStream(d.inv.Ctx); err != nil {
			d.report(stateFail, err.Error(), "enable JetStream for this account")
			return false
		}
	}
	d.report(stateOK, "JetStream: enabled", "")
	return true
}

// leaderless reports a cluster without a leader, and how many of its servers answer.
func (d *doctor) leaderless(b *bus.Bus) {
	answering, known := b.Servers(d.inv.Ctx)
	// A lost server that is not in the settings is not known, but replicas need one each.
	known = max(known, app.Layout(d.inv.Config).Replicas)
	d.report(stateFail, fmt.Sprintf("JetStream: the cluster has no leader: %d of %d servers answer", answering, known),
		"start the servers that are missing: more than half must run")
}

// soon is how long before its end a certificate is reported: a month, as for those that
// are renewed by hand.
const soon = 30 * 24 * time.Hour

// certificates reports the ends of the certificates of a connection.
func (d *doctor) certificates(b *bus.Bus) {
	server, client := b.Certificates()
	d.certificate("certificate of the NATS server", server)
	d.certificate("client certificate", client)
}

// certificateFile reports the end of the client certificate of the settings, which a
// server may have refused.
func (d *doctor) certificateFile(file string) {
	if file == "" {
		return
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return // connecting has reported it
	}
	if block, _ := pem.Decode(data); block != nil {
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			d.certificate("client certificate", c)
		}
	}
}

// certificate reports the end of a certificate; nil means none.
func (d *doctor) certificate(what string, c *x509.Certificate) {
	if c == nil {
		return
	}
	day := c.NotAfter.UTC().Format(time.DateOnly)
	switch left := time.Until(c.NotAfter); {
	case left <= 0:
		d.report(stateFail, fmt.Sprintf("%s: ended on %s", what, day), "renew it")
	case left < soon:
		d.report(stateWarn, fmt.Sprintf("%s: ends on %s, in %s", what, day, cli.Count(int(left/(24*time.Hour)), "day")), "renew it")
	default:
		d.report(stateOK, fmt.Sprintf("%s: ends on %s", what, day), "")
	}
}

// silent reports whether JetStream does not answer the look-up of the stream either.
// A user who may not ask about the account gets no answer to that question where
// the request is dropped, as with imports of another account or on a leaf node.
func (d *doctor) silent(b *bus.Bus) bool {
	_, err := bus.Call(d.inv.Ctx, b.NC, func(ctx context.Context) (jetstream.Stream, error) {
		return b.JS.Stream(ctx, app.Layout(d.inv.Config).Stream)
	})
	return timedOut(err)
}

// adviceOnSilence is the advice for a JetStream that does not answer.
const adviceOnSilence = "look at the log of the NATS server, at the free space of its store directory, and whether a cluster has a leader"

// timedOut reports whether the server did not answer in time. A missing permission
// is another error, see [bus.Call].
func timedOut(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout)
}

// adviceOnCall returns the advice for a failed call of the JetStream API.
func adviceOnCall(err error) string {
	if timedOut(err) {
		return adviceOnSilence
	}
	return "give the NATS user this right (deploy/accounts.conf)"
}

// withArticle has those whose rights are tried, as a text names them.
var withArticle = map[string]string{access.Consumer: "a consumer", access.Operator: "an operator", access.Gateway: "a gateway"}

func (d *doctor) rights(b *bus.Bus) {
	d.progress("trying rights")
	rights, err := bus.Rights(d.inv.Ctx, b.NC, d.as, app.Layout(d.inv.Config), app.Buckets(d.inv.Config)...)
	missing := 0
	for _, r := range rights {
		if r.Err != nil {
			missing++
			d.report(stateFail, fmt.Sprintf("right of %s for %s: %v", withArticle[d.as], r.Does, r.Err), "give the NATS user this right (deploy/accounts.conf)")
		}
	}
	switch {
	case err != nil:
		d.report(stateFail, fmt.Sprintf("rights: %v", err), "try again")
	case missing == 0:
		d.report(stateOK, fmt.Sprintf("rights: all %d of %s", len(rights), withArticle[d.as]), "")
	}
}

// streams checks the streams, the durable and the buckets. It reports whether
// JetStream answered.
func (d *doctor) streams(b *bus.Bus) (answered bool) {
	d.progress("comparing streams")
	switch err := bus.CheckRequests(d.inv.Ctx, b.JS, app.Layout(d.inv.Config)); {
	case bus.NoLeader(err):
		d.leaderless(b)
		return false
	case timedOut(err):
		d.report(stateFail, err.Error(), adviceOnSilence)
		return false
	case err != nil:
		d.report(stateFail, err.Error(), "take the request subjects out of that stream")
	}
	targets, err := planOf(d.inv, b)
	if bus.NoLeader(err) {
		d.leaderless(b)
		return false
	}
	if err != nil {
		d.report(stateFail, fmt.Sprintf("streams: %v", err), adviceOnCall(err))
		return !timedOut(err)
	}
	var missing, refused []string // refused: also to create
	differ := false
	for _, t := range targets {
		name := t.Kind + " " + t.Name
		if t.Missing {
			if err := bus.MayCreate(d.inv.Ctx, b.NC, app.Layout(d.inv.Config), t); err != nil {
				refused = append(refused, name)
			} else {
				missing = append(missing, name)
			}
			continue
		}
		if u, ok := t.Unusable(); ok {
			differ = true
			d.report(stateFail, fmt.Sprintf("%s: %s is %s: %s", name, u.Field, u.From, u.Effect), "consumer stream plan, consumer stream apply")
			continue
		}
		for _, x := range t.Differences {
			if x.Effect != "" {
				differ = true
				d.report(stateWarn, fmt.Sprintf("%s: %s is %s instead of %s: %s", name, x.Field, x.From, x.To, x.Effect), "consumer stream plan, consumer stream apply")
			}
		}
	}
	if len(refused) > 0 {
		d.report(stateFail, "missing, and this NATS user may not create it: "+joined(refused), "consumer stream apply by an operator")
	}
	switch {
	case len(missing) > 0:
		d.report(stateWarn, "missing: "+joined(missing), "the start of a consumer creates it, or consumer stream apply by a user who may")
	case !differ && len(refused) == 0:
		d.report(stateOK, fmt.Sprintf("streams: %d streams, durables and buckets can be used", len(targets)), "")
	}
	return true
}

// system checks that this configuration belongs to the system behind the stream.
func (d *doctor) system(b *bus.Bus) {
	d.progress("reading the identity of the system")
	system, err := app.CheckSystem(d.inv.Ctx, d.inv.Config, b)
	switch {
	case errors.Is(err, app.ErrStoreMismatch):
		d.report(stateFail, err.Error(), "set HINT_STORE, HINT_DATA_DIR or HINT_SESSIONS_DIR to the session store of the running consumers, or HINT_STREAM to a name of its own")
		return
	case err != nil && (errors.Is(err, bus.ErrDenied) || bus.Temporary(err)): // a start goes on, or waits
		d.report(stateWarn, fmt.Sprintf("system: %v", err), adviceOnCall(err))
		return
	case err != nil:
		d.report(stateFail, fmt.Sprintf("system: %v", err), "correct HINT_DATA_DIR, HINT_SESSIONS_DIR or HINT_STREAM")
		return
	case system.ID == "":
		d.report(stateOK, "system: the first consumer gives it its identity", "")
		return
	}
	what := fmt.Sprintf("system %s: sessions in %s", system.ID, app.StoreName(d.inv.Config))
	_, alive, err := bus.ReadSystem(d.inv.Ctx, b.JS, app.Layout(d.inv.Config))
	switch {
	case err != nil && !errors.Is(err, jetstream.ErrStreamNotFound):
		d.report(stateWarn, fmt.Sprintf("%s: %v", what, err), "try again")
	case alive:
		d.report(stateOK, what+", consumers are running", "")
	default:
		d.report(stateWarn, what+", no consumer takes events", "start one: consumer run")
	}
}
