package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"intenthint/internal/batch"
	"intenthint/subjects"
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

	unusable bool
	stream   func(*jetstream.StreamConfig)
	consumer func(*jetstream.ConsumerConfig)
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

// resource is a stream, durable or bucket with its wanted configuration.
type resource interface {
	// look compares the existing resource. The target has a kind and a name
	// even on error.
	look(ctx context.Context, js jetstream.JetStream) (Target, error)
	create(ctx context.Context, js jetstream.JetStream) error
	// change applies the differences in place.
	change(ctx context.Context, js jetstream.JetStream, d []Difference) error
}

// Bucket is a key-value bucket that is needed in addition to the layout.
type Bucket struct {
	Config jetstream.KeyValueConfig
	// Atomic: bulk writes use atomic batches if the bucket accepts them.
	Atomic bool
	// Create creates the bucket; nil uses the default.
	Create func(ctx context.Context, js jetstream.JetStream, config jetstream.KeyValueConfig) (jetstream.Stream, error)
}

// Plan compares the existing resources with the layout and further buckets. It
// is read-only.
func Plan(ctx context.Context, js jetstream.JetStream, l Layout, buckets ...Bucket) ([]Target, error) {
	all := l.resources()
	for _, b := range buckets {
		all = append(all, bucketResource{b})
	}
	targets := make([]Target, 0, len(all))
	for _, r := range all {
		t, err := r.look(ctx, js)
		if err != nil {
			return nil, err
		}
		targets = append(targets, t)
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
		if err := t.resource.change(ctx, js, inPlace); err != nil {
			return fmt.Errorf("change %s %s: %w", t.Kind, t.Name, err)
		}
	}
	return errors.Join(refused...)
}

// streamResource is one of the two streams.
type streamResource struct {
	want   jetstream.StreamConfig
	prefix subjects.Prefix
}

func (r streamResource) look(ctx context.Context, js jetstream.JetStream) (Target, error) {
	t := Target{Kind: KindStream, Name: r.want.Name, Differences: []Difference{}, resource: r}
	s, err := FindStream(ctx, js, r.want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Missing = true
		return t, nil
	}
	if err != nil {
		return t, fmt.Errorf("stream %s: %w", r.want.Name, err)
	}
	info := s.CachedInfo()
	want := r.want
	if want.AllowAtomicPublish && !info.Config.AllowAtomicPublish {
		want.AllowAtomicPublish = atomicPublish(ctx, js)
	}
	t.Differences = append(t.Differences, streamDifferences(info.Config, info.State, want, r.prefix, time.Now())...)
	return t, nil
}

// atomicPublishLevel is the level of the JetStream API, of server 2.12, from
// which streams take atomic batches.
const atomicPublishLevel = 2

// atomicPublish reports whether the server supports atomic batches. It assumes so
// if the user has no permission to ask.
func atomicPublish(ctx context.Context, js jetstream.JetStream) bool {
	info, err := Call(ctx, js.Conn(), js.AccountInfo)
	return err != nil || info.API.Level >= atomicPublishLevel
}

// Error codes of a server and of an account with less free storage than a
// stream reserves.
const (
	codeNoStorage    = 10047
	codeAccountLimit = 10002
)

func (r streamResource) create(ctx context.Context, js jetstream.JetStream) error {
	cfg := r.want
	_, err := Call(ctx, js.Conn(), func(ctx context.Context) (jetstream.Stream, error) {
		if cfg.AllowAtomicPublish {
			return batch.CreateStream(ctx, js, cfg)
		}
		return js.CreateStream(ctx, cfg)
	})
	if api, ok := errors.AsType[*jetstream.APIError](err); ok && cfg.MaxBytes > 0 && (api.ErrorCode == codeNoStorage || api.ErrorCode == codeAccountLimit) {
		err = fmt.Errorf("%w: it reserves %d bytes; HINT_STREAM_MAX_BYTES lowers that", err, cfg.MaxBytes)
	}
	if err != nil {
		return fmt.Errorf("create stream %s for %s: %w", cfg.Name, strings.Join(cfg.Subjects, ", "), err)
	}
	return nil
}

func (r streamResource) change(ctx context.Context, js jetstream.JetStream, d []Difference) error {
	return changeStream(ctx, js, r.want.Name, d)
}

func changeStream(ctx context.Context, js jetstream.JetStream, name string, d []Difference) error {
	s, err := FindStream(ctx, js, name)
	if err != nil {
		return err
	}
	cfg := s.CachedInfo().Config
	for _, one := range d {
		one.stream(&cfg)
	}
	_, err = Call(ctx, js.Conn(), func(ctx context.Context) (jetstream.Stream, error) { return js.UpdateStream(ctx, cfg) })
	return err
}

// streamDifferences compares a stream with the wanted configuration.
func streamDifferences(have jetstream.StreamConfig, state jetstream.StreamState, want jetstream.StreamConfig, prefix subjects.Prefix, now time.Time) []Difference {
	var out []Difference
	// A copy of another stream has its messages from there.
	if have.Mirror == nil && len(have.Sources) == 0 {
		out = append(out, subjectDifference(have.Subjects, want.Subjects[0], prefix)...)
	}
	out = append(out, storeDifferences(have, state, want, now)...)
	if have.Retention != want.Retention {
		out = append(out, Difference{
			Field: "retention", From: have.Retention.String(), To: want.Retention.String(),
			Recreate: have.Retention == jetstream.WorkQueuePolicy,
			Effect:   "acknowledged messages are deleted, and session documents cannot be rebuilt",
			stream:   func(c *jetstream.StreamConfig) { c.Retention = want.Retention },
		})
	}
	if have.Discard != want.Discard {
		out = append(out, Difference{
			Field: "discard", From: have.Discard.String(), To: want.Discard.String(),
			Effect: "when the stream is full, new messages are refused",
			stream: func(c *jetstream.StreamConfig) { c.Discard, c.DiscardNewPerSubject = want.Discard, false },
		})
	}
	if have.Duplicates != want.Duplicates {
		out = append(out, Difference{
			Field: "duplicate_window", From: have.Duplicates.String(), To: want.Duplicates.String(),
			stream: func(c *jetstream.StreamConfig) { c.Duplicates = want.Duplicates },
		})
	}
	if n := have.MaxMsgsPerSubject; n > 0 {
		out = append(out, Difference{
			Field: "max_msgs_per_subject", From: strconv.FormatInt(n, 10), To: "unlimited",
			Effect: "older events of a session are deleted, possibly before they are applied",
			stream: func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = -1 },
		})
	}
	if n := have.MaxMsgSize; n > 0 {
		out = append(out, Difference{
			Field: "max_msg_size", From: size(int64(n)), To: "unlimited",
			Effect: "larger events are refused",
			stream: func(c *jetstream.StreamConfig) { c.MaxMsgSize = -1 },
		})
	}
	if have.NoAck {
		out = append(out, Difference{
			Field: "no_ack", From: "true", To: "false", unusable: true,
			Effect: "stored messages are not acknowledged",
			stream: func(c *jetstream.StreamConfig) { c.NoAck = false },
		})
	}
	if have.Sealed {
		out = append(out, Difference{
			Field: "sealed", From: "true", To: "false", Recreate: true, unusable: true,
			Effect: "it accepts no messages",
		})
	}
	if !have.AllowDirect && want.AllowDirect {
		out = append(out, Difference{
			Field: "allow_direct", From: "false", To: "true",
			stream: func(c *jetstream.StreamConfig) { c.AllowDirect = true },
		})
	}
	return out
}

// subjectDifference compares the captured subjects: a stream must capture the
// wanted subject and no requests.
func subjectDifference(have []string, want string, prefix subjects.Prefix) []Difference {
	covered, some, requests := false, false, false
	next := []string{want}
	var lost []string
	for _, s := range have {
		covered = covered || server.SubjectMatchesFilter(want, s)
		some = some || server.SubjectsCollide(s, want)
		requests = requests || server.SubjectsCollide(s, prefix.Requests())
		switch {
		case !server.SubjectsCollide(s, want) && !server.SubjectsCollide(s, prefix.Requests()):
			next = append(next, s)
		case !server.SubjectMatchesFilter(s, want):
			lost = append(lost, s)
		}
	}
	if covered && !requests {
		return nil
	}
	d := Difference{
		Field: "subjects", From: orNone(strings.Join(have, ", ")), To: strings.Join(next, ", "),
		stream: func(c *jetstream.StreamConfig) { c.Subjects = next },
	}
	switch {
	case requests:
		d.unusable = true
		d.Effect = "requests would be answered by the stream instead of a consumer"
	case !some:
		d.unusable = true
		d.Effect = "no messages of " + want + " are stored"
	default:
		d.Effect = "only part of " + want + " is stored"
	}
	if len(lost) > 0 {
		d.Loss = "other messages of " + strings.Join(lost, ", ") + " are no longer captured"
	}
	return []Difference{d}
}

// storeDifferences compares the settings that streams and buckets share.
func storeDifferences(have jetstream.StreamConfig, state jetstream.StreamState, want jetstream.StreamConfig, now time.Time) []Difference {
	var out []Difference
	if have.Storage != want.Storage {
		out = append(out, Difference{
			Field: "storage", From: strings.ToLower(have.Storage.String()), To: strings.ToLower(want.Storage.String()), Recreate: true,
			Effect: "its contents are lost when the server restarts",
		})
	}
	if from, to := max(have.Replicas, 1), max(want.Replicas, 1); from != to {
		out = append(out, Difference{
			Field: "num_replicas", From: strconv.Itoa(from), To: strconv.Itoa(to),
			stream: func(c *jetstream.StreamConfig) { c.Replicas = to },
		})
	}
	if have.MaxAge != want.MaxAge {
		d := Difference{
			Field: "max_age", From: age(have.MaxAge), To: age(want.MaxAge),
			stream: func(c *jetstream.StreamConfig) {
				c.MaxAge = want.MaxAge
				if c.MaxAge > 0 {
					c.Duplicates = min(c.Duplicates, c.MaxAge)
				}
			},
		}
		if state.Msgs > 0 && want.MaxAge > 0 && state.FirstTime.Before(now.Add(-want.MaxAge)) {
			d.Loss = "the oldest message is from " + state.FirstTime.UTC().Format(time.RFC3339)
		}
		out = append(out, d)
	}
	if from, to := max(have.MaxBytes, -1), max(want.MaxBytes, -1); from != to {
		d := Difference{
			Field: "max_bytes", From: size(from), To: size(to),
			stream: func(c *jetstream.StreamConfig) { c.MaxBytes = to },
		}
		if to >= 0 && state.Bytes > uint64(to) {
			d.Loss = "it holds " + size(int64(state.Bytes))
		}
		out = append(out, d)
	}
	if !have.AllowAtomicPublish && want.AllowAtomicPublish && have.Mirror == nil {
		out = append(out, Difference{
			Field: "allow_atomic", From: "false", To: "true",
			stream: func(c *jetstream.StreamConfig) { c.AllowAtomicPublish = true },
		})
	}
	return out
}

// durableResource is the durable that all consumer processes share.
type durableResource struct {
	stream string
	want   jetstream.ConsumerConfig
	prefix subjects.Prefix
}

func (r durableResource) look(ctx context.Context, js jetstream.JetStream) (Target, error) {
	t := Target{Kind: KindDurable, Name: r.want.Durable, Differences: []Difference{}, resource: r}
	c, err := FindConsumer(ctx, js, r.stream, r.want.Durable)
	switch {
	case errors.Is(err, jetstream.ErrConsumerNotFound), errors.Is(err, jetstream.ErrStreamNotFound):
		t.Missing = true
	case errors.Is(err, jetstream.ErrNotPullConsumer):
		t.Differences = append(t.Differences, Difference{
			Field: "deliver_subject", From: "set (a push consumer)", To: "none (a pull consumer)", Recreate: true, unusable: true,
			Effect: "events cannot be pulled from it",
		})
	case err != nil:
		return t, fmt.Errorf("durable %s of stream %s: %w", r.want.Durable, r.stream, err)
	default:
		t.Differences = append(t.Differences, durableDifferences(c.CachedInfo().Config, r.want, r.prefix, PullBytes(js.Conn()), time.Now())...)
	}
	return t, nil
}

func (r durableResource) create(ctx context.Context, js jetstream.JetStream) error {
	_, err := Call(ctx, js.Conn(), func(ctx context.Context) (jetstream.Consumer, error) {
		return js.CreateConsumer(ctx, r.stream, r.want)
	})
	if err != nil {
		return fmt.Errorf("create durable %s of stream %s: %w", r.want.Durable, r.stream, err)
	}
	return nil
}

func (r durableResource) change(ctx context.Context, js jetstream.JetStream, d []Difference) error {
	c, err := FindConsumer(ctx, js, r.stream, r.want.Durable)
	if err != nil {
		return err
	}
	cfg := c.CachedInfo().Config
	paused := cfg.PauseUntil
	for _, one := range d {
		one.consumer(&cfg)
	}
	if paused != cfg.PauseUntil { // an update does not change it
		_, err = Call(ctx, js.Conn(), func(ctx context.Context) (*jetstream.ConsumerPauseResponse, error) {
			return js.ResumeConsumer(ctx, r.stream, r.want.Durable)
		})
		if err != nil {
			return err
		}
	}
	_, err = Call(ctx, js.Conn(), func(ctx context.Context) (jetstream.Consumer, error) {
		return js.UpdateConsumer(ctx, r.stream, cfg)
	})
	return err
}

// durableDifferences compares a durable with the wanted configuration. bytes is
// the byte limit of a pull request.
func durableDifferences(have, want jetstream.ConsumerConfig, prefix subjects.Prefix, bytes int, now time.Time) []Difference {
	var out []Difference
	refused := func(field, limit, asked string, lift func(*jetstream.ConsumerConfig)) {
		out = append(out, Difference{
			Field: field, From: limit, To: "none", unusable: true,
			Effect: "pull requests for " + asked + " are refused", consumer: lift,
		})
	}
	if n := have.MaxRequestBatch; n > 0 && n < PullMessages {
		refused("max_batch", strconv.Itoa(n), strconv.Itoa(PullMessages), func(c *jetstream.ConsumerConfig) { c.MaxRequestBatch = 0 })
	}
	if n := have.MaxRequestMaxBytes; n > 0 && n < bytes {
		refused("max_bytes", size(int64(n)), size(int64(bytes)), func(c *jetstream.ConsumerConfig) { c.MaxRequestMaxBytes = 0 })
	}
	if d := have.MaxRequestExpires; d > 0 && d < PullExpiry {
		refused("max_expires", d.String(), PullExpiry.String(), func(c *jetstream.ConsumerConfig) { c.MaxRequestExpires = 0 })
	}
	if until := have.PauseUntil; until != nil && until.After(now) {
		out = append(out, Difference{
			Field: "pause_until", From: until.UTC().Format(time.RFC3339), To: "none",
			Effect:   "no events are applied before that time",
			consumer: func(c *jetstream.ConsumerConfig) { c.PauseUntil = nil },
		})
	}
	if have.AckPolicy != want.AckPolicy {
		out = append(out, Difference{
			Field: "ack_policy", From: have.AckPolicy.String(), To: want.AckPolicy.String(), Recreate: true, unusable: true,
			Effect: "events are acknowledged before they are applied",
		})
	}
	if have.HeadersOnly {
		out = append(out, Difference{
			Field: "headers_only", From: "true", To: "false", unusable: true,
			Effect:   "events come without their bodies",
			consumer: func(c *jetstream.ConsumerConfig) { c.HeadersOnly = false },
		})
	}
	wanted := want.FilterSubjects
	if len(wanted) == 0 {
		wanted = []string{prefix.Events()}
	}
	if filters := filtersOf(have); !letThrough(filters, wanted) {
		out = append(out, Difference{
			Field: "filter_subjects", From: strings.Join(filters, ", "), To: orNone(strings.Join(want.FilterSubjects, ", ")),
			Effect:   "the other events are never applied",
			consumer: func(c *jetstream.ConsumerConfig) { c.FilterSubject, c.FilterSubjects = "", want.FilterSubjects },
		})
	}
	if have.MaxDeliver > 0 {
		out = append(out, Difference{
			Field: "max_deliver", From: strconv.Itoa(have.MaxDeliver), To: "unlimited",
			Effect:   "events are lost after that many failed deliveries, for example on a full disk",
			consumer: func(c *jetstream.ConsumerConfig) { c.MaxDeliver = want.MaxDeliver },
		})
	}
	if len(have.BackOff) > 0 {
		out = append(out, Difference{
			Field: "backoff", From: fmt.Sprint(have.BackOff), To: "none",
			consumer: func(c *jetstream.ConsumerConfig) { c.BackOff, c.AckWait = nil, want.AckWait },
		})
	} else if have.AckWait != want.AckWait {
		out = append(out, Difference{
			Field: "ack_wait", From: have.AckWait.String(), To: want.AckWait.String(),
			consumer: func(c *jetstream.ConsumerConfig) { c.AckWait = want.AckWait },
		})
	}
	if have.MaxAckPending != want.MaxAckPending {
		out = append(out, Difference{
			Field: "max_ack_pending", From: strconv.Itoa(have.MaxAckPending), To: strconv.Itoa(want.MaxAckPending),
			consumer: func(c *jetstream.ConsumerConfig) { c.MaxAckPending = want.MaxAckPending },
		})
	}
	if have.InactiveThreshold > 0 {
		out = append(out, Difference{
			Field: "inactive_threshold", From: have.InactiveThreshold.String(), To: "none",
			Effect:   "it is deleted after that time without a running process, and all events are then redelivered",
			consumer: func(c *jetstream.ConsumerConfig) { c.InactiveThreshold = 0 },
		})
	}
	return out
}

func filtersOf(c jetstream.ConsumerConfig) []string {
	if c.FilterSubject != "" {
		return []string{c.FilterSubject}
	}
	return c.FilterSubjects
}

// letThrough reports whether filters match all wanted subjects. An empty filter
// list matches everything.
func letThrough(filters, want []string) bool {
	for _, subject := range want {
		if !slices.ContainsFunc(filters, func(f string) bool { return server.SubjectMatchesFilter(subject, f) }) {
			return len(filters) == 0
		}
	}
	return true
}

// bucketResource is a key-value bucket.
type bucketResource struct{ Bucket }

// bucketStream begins the name of the stream behind a bucket.
const bucketStream = "KV_"

func (r bucketResource) look(ctx context.Context, js jetstream.JetStream) (Target, error) {
	t := Target{Kind: KindBucket, Name: r.Config.Bucket, Differences: []Difference{}, resource: r}
	s, err := FindStream(ctx, js, bucketStream+r.Config.Bucket)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Missing = true
		return t, nil
	}
	if err != nil {
		return t, fmt.Errorf("bucket %s: %w", r.Config.Bucket, err)
	}
	info := s.CachedInfo()
	want := jetstream.StreamConfig{Storage: r.Config.Storage, Replicas: r.Config.Replicas, MaxAge: r.Config.TTL, MaxBytes: r.Config.MaxBytes}
	if want.MaxBytes == 0 {
		want.MaxBytes = -1
	}
	want.AllowAtomicPublish = r.Atomic && (info.Config.AllowAtomicPublish || atomicPublish(ctx, js))
	t.Differences = append(t.Differences, storeDifferences(info.Config, info.State, want, time.Now())...)
	return t, nil
}

func (r bucketResource) create(ctx context.Context, js jetstream.JetStream) error {
	_, err := Call(ctx, js.Conn(), func(ctx context.Context) (any, error) {
		if r.Create != nil {
			return r.Create(ctx, js, r.Config)
		}
		return js.CreateKeyValue(ctx, r.Config)
	})
	if err != nil {
		return fmt.Errorf("create bucket %s: %w", r.Config.Bucket, err)
	}
	return nil
}

func (r bucketResource) change(ctx context.Context, js jetstream.JetStream, d []Difference) error {
	return changeStream(ctx, js, bucketStream+r.Config.Bucket, d)
}

func age(d time.Duration) string {
	if d <= 0 {
		return "unlimited"
	}
	return d.String()
}

// size formats bytes in the largest unit that is exact.
func size(n int64) string {
	if n < 0 {
		return "unlimited"
	}
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for n > 0 && n%1024 == 0 && i < len(units)-1 {
		n /= 1024
		i++
	}
	return strconv.FormatInt(n, 10) + " " + units[i]
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}
