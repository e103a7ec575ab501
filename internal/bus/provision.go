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
	// errUnusable reports something that exists with a setting under which
	// no consumer can work.
	errUnusable = errors.New("cannot be used")
	// errNotYet: a cluster is still making what this process or another one
	// has created.
	errNotYet = errors.New("was created and is not there yet")
)

// Provision creates the streams and the durables that are missing, and leaves
// alone what exists. Several processes may do it at once. A stream that the
// user may not look at is taken to be there. The warnings name what exists with
// other settings than it would be created with, where that matters.
func Provision(ctx context.Context, js jetstream.JetStream, l Layout) (warnings []string, err error) {
	for _, r := range l.resources() {
		t, err := ensure(ctx, js, r)
		if errors.Is(err, ErrDenied) && !errors.Is(err, errNoReplies) && t.Kind == KindStream && !t.Missing {
			warnings = append(warnings, fmt.Sprintf("stream %s is taken to be there as it should be: %v", t.Name, err))
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, d := range t.Differences {
			switch {
			case d.unusable:
				return nil, fmt.Errorf("%s %s %w: %s is %s, and %s (consumer stream plan shows more)", t.Kind, t.Name, errUnusable, d.Field, d.From, d.Effect)
			case d.Effect != "":
				warnings = append(warnings, fmt.Sprintf("%s %s: %s is %s instead of %s: %s", t.Kind, t.Name, d.Field, d.From, d.To, d.Effect))
			}
		}
	}
	return warnings, nil
}

// CheckRequests returns an error when a stream captures requests and
// acknowledges them: gateways would take that for the answer (contract §2). A
// user who may not list streams hears nothing of it.
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
		return fmt.Errorf("streams that capture requests: %w", err)
	case len(names) > 0:
		return fmt.Errorf("stream %s %w: it captures %s, and its acknowledgements would be taken for answers", strings.Join(names, ", "), errUnusable, l.Prefix.Requests())
	}
	return nil
}

// ensure creates a resource that is missing. The target says what is there in
// the end.
func ensure(ctx context.Context, js jetstream.JetStream, r resource) (Target, error) {
	t, err := r.look(ctx, js)
	if err != nil || !t.Missing {
		return t, err
	}
	failure := r.create(ctx, js)
	// Of several processes one is the fastest, maybe with settings of its own;
	// who was there first does not matter.
	now, err := r.look(ctx, js)
	switch {
	case err == nil && !now.Missing:
		return now, nil
	case failure != nil && !errors.Is(failure, jetstream.ErrStreamNameAlreadyInUse) && !errors.Is(failure, jetstream.ErrConsumerExists):
		return t, failure
	case err == nil:
		return t, fmt.Errorf("%s %s %w", t.Kind, t.Name, errNotYet)
	default:
		return t, err
	}
}

// codeNoPeers is the error code of a cluster with too few servers for the
// replicas, as it has while it starts.
const codeNoPeers = 10005

// Temporary reports whether an error of [Provision] may go away by itself: the
// server is away, or a cluster has no leader or not all of its servers yet.
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
