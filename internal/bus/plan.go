package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"
)

// The kinds of a [Target].
const (
	KindStream  = "stream"
	KindDurable = "durable"
	KindBucket  = "bucket"
)

// Target is a stream, durable or bucket and its differences from the
// configuration.
type Target struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Missing: it does not exist.
	Missing     bool         `json:"missing"`
	Differences []Difference `json:"differences"`

	resource resource
	// change makes the differences in place.
	change func(ctx context.Context, differences []Difference) error
}

// Difference is a setting of an existing resource that differs from the wanted
// value. Operator settings that the configuration does not name do not count.
type Difference struct {
	// Field is the name in the NATS API.
	Field string `json:"field"`
	From  string `json:"from"`
	To    string `json:"to"`
	// Recreate: NATS cannot change it in place.
	Recreate bool `json:"recreate,omitempty"`
	// Effect is the consequence for consumers, "" if negligible.
	Effect string `json:"effect,omitempty"`
	// Loss describes the data that the change would delete, "" if none.
	Loss string `json:"loss,omitempty"`

	// unusable: no consumer can work with it.
	unusable bool
	// subjects are the new ones, if they differ.
	subjects []string
}

// Errors of [Apply].
var (
	// errLoses reports a change that would lose data.
	errLoses = errors.New("data loss")
	// errRecreate reports a change that NATS cannot make in place.
	errRecreate = errors.New("recreation required")
)

// InOrder reports whether no change is needed.
func (t Target) InOrder() bool { return !t.Missing && len(t.Differences) == 0 }

// Unusable returns the difference that makes the target unusable for consumers;
// ok is false if there is none.
func (t Target) Unusable() (Difference, bool) {
	i := slices.IndexFunc(t.Differences, func(d Difference) bool { return d.unusable })
	if i < 0 {
		return Difference{}, false
	}
	return t.Differences[i], true
}

// resource is a stream, durable or bucket with its wanted configuration.
type resource interface {
	// look compares the existing resource. The target has a kind and a name
	// even on error.
	look(ctx context.Context, js jetstream.JetStream) (Target, error)
	create(ctx context.Context, js jetstream.JetStream) error
}

// Plan compares the existing resources with the layout and further buckets. It
// is read-only.
func Plan(ctx context.Context, js jetstream.JetStream, l Layout, buckets ...Bucket) ([]Target, error) {
	all := l.resources()
	for _, b := range buckets {
		all = append(all, b.resource())
	}
	targets := make([]Target, len(all))
	for i, r := range all {
		var err error
		if targets[i], err = r.look(ctx, js); err != nil {
			return nil, err
		}
	}
	return targets, nil
}

// Apply creates what is missing, or changes what differs and can be changed in
// place. It compares again first, so that it never acts on an old plan. A change
// that would lose data is refused unless forced, and the target then stays
// unchanged. A difference that requires recreation is an error too.
func Apply(ctx context.Context, js jetstream.JetStream, t Target, force bool) error {
	now, err := ensure(ctx, js, t.resource)
	if err != nil {
		return err
	}
	var inPlace []Difference
	var refused []error
	for _, d := range now.Differences {
		switch {
		case d.Recreate:
			refused = append(refused, fmt.Errorf("%s %s: changing %s from %s to %s: %w", t.Kind, t.Name, d.Field, d.From, d.To, errRecreate))
		case d.Loss != "" && !force:
			return fmt.Errorf("%s %s: changing %s from %s to %s: %w: %s", t.Kind, t.Name, d.Field, d.From, d.To, errLoses, d.Loss)
		default:
			inPlace = append(inPlace, d)
		}
	}
	if len(inPlace) > 0 {
		_, err := Call(ctx, js.Conn(), func(ctx context.Context) (any, error) { return nil, now.change(ctx, inPlace) })
		if err != nil {
			return fmt.Errorf("change %s %s: %w", t.Kind, t.Name, err)
		}
	}
	return errors.Join(refused...)
}
