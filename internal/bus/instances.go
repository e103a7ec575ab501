package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// Instance is a running process of a service, as it describes itself to the NATS service
// framework.
type Instance struct {
	ID       string            `json:"id"`
	Metadata map[string]string `json:"metadata"`
	// Started is when it began to answer requests, by its own clock.
	Started time.Time `json:"started"`
}

// InstancesTime bounds [Instances].
const InstancesTime = 2 * time.Second

// instancesQuiet is how long an answer is waited for: an idle process answers within
// milliseconds, a busy one within a few tenths of a second.
const instancesQuiet = 500 * time.Millisecond

// Instances asks the running processes of a service who they are, and returns those that
// answer before half a second passes without an answer. The error wraps [ErrDenied] if
// the user may not ask.
func Instances(ctx context.Context, nc *nats.Conn, service string) ([]Instance, error) {
	ctx, cancel := context.WithTimeout(ctx, InstancesTime)
	defer cancel()
	subject, err := micro.ControlSubject(micro.StatsVerb, service, "")
	if err != nil {
		return nil, err
	}
	inbox := nc.NewInbox()
	answers, err := nc.SubscribeSync(inbox)
	if err != nil {
		return nil, fmt.Errorf("service instances: %w", err)
	}
	defer answers.Unsubscribe() //nolint:errcheck // fails if the connection is closed
	if err := nc.PublishRequest(subject, inbox, nil); err != nil {
		return nil, fmt.Errorf("service instances: %w", err)
	}
	var out []Instance
	for {
		quiet, cancel := context.WithTimeout(ctx, instancesQuiet)
		m, err := answers.NextMsgWithContext(quiet)
		cancel()
		if err != nil { // no more answers
			return out, Refused(nc, subject)
		}
		var i Instance
		if json.Unmarshal(m.Data, &i) == nil && i.ID != "" {
			out = append(out, i)
		}
	}
}

// Refused returns an error that wraps [ErrDenied] if the last error of a connection is that
// its user may not publish to the subject, or to one that begins with it.
func Refused(nc *nats.Conn, subject string) error {
	if err := nc.LastError(); errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), `Publish to "`+subject) {
		return fmt.Errorf("%w: %w", ErrDenied, err)
	}
	return nil
}
