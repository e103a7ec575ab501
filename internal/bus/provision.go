package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Errors of [Provision].
var (
	// errUnusable reports an existing stream or durable with a setting under
	// which no consumer can work.
	errUnusable = errors.New("unusable configuration")
	// errNotYet: a cluster has accepted the creation but not completed it.
	errNotYet = errors.New("created but not yet available")
)

// Provision creates the missing streams and durables and does not change
// existing ones. It is safe for concurrent use by several processes. A stream
// that the user has no permission to read is assumed to exist. The warnings name
// existing resources whose settings differ in a way that matters.
func Provision(ctx context.Context, js jetstream.JetStream, l Layout) (warnings []string, err error) {
	for _, r := range l.resources() {
		t, err := ensure(ctx, js, r)
		if errors.Is(err, ErrDenied) && !errors.Is(err, errNoReplies) && t.Kind == KindStream && !t.Missing {
			warnings = append(warnings, fmt.Sprintf("stream %s cannot be checked: %v", t.Name, err))
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, d := range t.Differences {
			switch {
			case d.unusable:
				return nil, fmt.Errorf("%s %s: %w: %s is %s: %s (details: consumer stream plan)",
					t.Kind, t.Name, errUnusable, d.Field, d.From, d.Effect)
			case d.Effect != "":
				warnings = append(warnings, fmt.Sprintf("%s %s: %s is %s instead of %s: %s", t.Kind, t.Name, d.Field, d.From, d.To, d.Effect))
			}
		}
	}
	return warnings, nil
}

// CheckRequests returns an error if a stream captures requests and acknowledges
// them: gateways would take that for the answer (contract §2). It returns nil if
// the user has no permission to list streams.
func CheckRequests(ctx context.Context, js jetstream.JetStream, l Layout) error {
	names, err := Call(ctx, js.Conn(), func(ctx context.Context) (names []string, err error) {
		streams := js.ListStreams(ctx, jetstream.WithStreamListSubject(l.Prefix.Requests()))
		for s := range streams.Info() {
			if !s.Config.NoAck {
				names = append(names, s.Config.Name)
			}
		}
		return names, streams.Err()
	})
	switch {
	case errors.Is(err, ErrDenied):
		return nil
	case err != nil:
		return fmt.Errorf("listing streams that capture requests: %w", err)
	case len(names) > 0:
		return fmt.Errorf("stream %s: %w: it captures %s, and gateways would take its acknowledgements for answers",
			strings.Join(names, ", "), errUnusable, l.Prefix.Requests())
	}
	return nil
}

// ensure creates a resource if it is missing. The target describes the resource
// afterwards.
func ensure(ctx context.Context, js jetstream.JetStream, r resource) (Target, error) {
	t, err := r.look(ctx, js)
	if err != nil || !t.Missing {
		return t, err
	}
	failure := r.create(ctx, js)
	// Another process may have created it first, possibly with other settings.
	now, err := r.look(ctx, js)
	switch {
	case err == nil && !now.Missing:
		return now, nil
	case failure != nil && !errors.Is(failure, jetstream.ErrStreamNameAlreadyInUse) && !errors.Is(failure, jetstream.ErrConsumerExists):
		return t, failure
	case err == nil:
		return t, fmt.Errorf("%s %s: %w", t.Kind, t.Name, errNotYet)
	default:
		return t, err
	}
}

// codeNoPeers is the error code of a cluster with too few servers for the
// replicas, as during its start.
const codeNoPeers = 10005

// codeNoLeader is the error code of a cluster whose servers have no leader, as after
// the loss of half of them.
const codeNoLeader = 10008

// NoLeader reports whether an error means that the cluster has no leader.
func NoLeader(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && api.ErrorCode == codeNoLeader
}

// Temporary reports whether an error of [Provision] may be transient: the server
// is unreachable, or a cluster has no leader or is missing servers.
func Temporary(err error) bool {
	var api *jetstream.APIError
	switch {
	case err == nil:
		return false
	case errors.As(err, &api):
		return api.Code == 503 || api.ErrorCode == codeNoPeers
	default:
		return errors.Is(err, errNotYet) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) ||
			errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrConnectionReconnecting) ||
			errors.Is(err, nats.ErrDisconnected)
	}
}
