package bus

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/subjects"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestStreamDifferences(t *testing.T) {
	t.Parallel()
	l := testLayout()
	now := time.Date(2026, 5, 18, 12, 0, 0, 0, time.UTC)
	holds := jetstream.StreamState{Msgs: 3, Bytes: 32 << 20, FirstTime: now.Add(-30 * time.Minute)}
	full := holds
	type found struct{ field, from, to string }
	for _, row := range []struct {
		name     string
		change   func(*jetstream.StreamConfig)
		want     []found
		recreate bool
		loses    string
	}{
		{name: "as created", change: func(*jetstream.StreamConfig) {}},
		{name: "settings of an operator", change: func(c *jetstream.StreamConfig) {
			c.Subjects = append(c.Subjects, "audit.>")
			c.MaxMsgs, c.Description, c.Compression = 5, "mine", jetstream.S2Compression
		}},
		{name: "wider subject", change: func(c *jetstream.StreamConfig) { c.Subjects = []string{"*.event.>"} }},
		{name: "limit per subject", change: func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 1 }, want: []found{{"max_msgs_per_subject", "1", "unlimited"}}},
		{name: "message size", change: func(c *jetstream.StreamConfig) { c.MaxMsgSize = 1 << 20 }, want: []found{{"max_msg_size", "1 MiB", "unlimited"}}},
		{name: "mirror", change: func(c *jetstream.StreamConfig) {
			c.Mirror, c.Subjects, c.AllowAtomicPublish = &jetstream.StreamSource{Name: "HUB"}, nil, false
		}},
		{
			name: "subjects of one hook and others", change: func(c *jetstream.StreamConfig) { c.Subjects = []string{"openclaw.event.agent_end.>", "audit.>"} },
			want: []found{{"subjects", "openclaw.event.agent_end.>, audit.>", "openclaw.event.>, audit.>"}},
		},
		{
			name: "requests as well", change: func(c *jetstream.StreamConfig) { c.Subjects = []string{"openclaw.>"} },
			want: []found{{"subjects", "openclaw.>", "openclaw.event.>"}}, loses: "openclaw.>",
		},
		{name: "memory", change: func(c *jetstream.StreamConfig) { c.Storage = jetstream.MemoryStorage }, want: []found{{"storage", "memory", "file"}}, recreate: true},
		{name: "work queue", change: func(c *jetstream.StreamConfig) { c.Retention = jetstream.WorkQueuePolicy }, want: []found{{"retention", "WorkQueue", "Limits"}}, recreate: true},
		{name: "replicas", change: func(c *jetstream.StreamConfig) { c.Replicas = 3 }, want: []found{{"num_replicas", "3", "1"}}},
		{name: "longer age, no old messages", change: func(c *jetstream.StreamConfig) { c.MaxAge = 24 * time.Hour }, want: []found{{"max_age", "24h0m0s", "1h0m0s"}}},
		{
			name: "no age limit, old messages", change: func(c *jetstream.StreamConfig) { c.MaxAge = 0; full.FirstTime = now.Add(-2 * time.Hour) },
			want: []found{{"max_age", "unlimited", "1h0m0s"}}, loses: "2026-05-18T10:00:00Z",
		},
		{name: "larger", change: func(c *jetstream.StreamConfig) { c.MaxBytes = 1 << 30 }, want: []found{{"max_bytes", "1 GiB", "64 MiB"}}},
		{
			name: "larger, and full", change: func(c *jetstream.StreamConfig) { c.MaxBytes = -1; full.Bytes = 65<<20 + 1 },
			want: []found{{"max_bytes", "unlimited", "64 MiB"}}, loses: "68157441 B",
		},
		{name: "discard policy", change: func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardNew }, want: []found{{"discard", "DiscardNew", "DiscardOld"}}},
		{name: "duplicate window", change: func(c *jetstream.StreamConfig) { c.Duplicates = time.Second }, want: []found{{"duplicate_window", "1s", "2m0s"}}},
		{name: "direct get", change: func(c *jetstream.StreamConfig) { c.AllowDirect = false }, want: []found{{"allow_direct", "false", "true"}}},
		{name: "atomic batches", change: func(c *jetstream.StreamConfig) { c.AllowAtomicPublish = false }, want: []found{{"allow_atomic", "false", "true"}}},
		{name: "sealed", change: func(c *jetstream.StreamConfig) { c.Sealed = true }, want: []found{{"sealed", "true", "false"}}, recreate: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			have := l.eventStream()
			full = holds
			row.change(&have)
			r := l.resource(l.eventStream())
			got := r.differences(have, full, now)
			var fields []found
			for _, d := range got {
				fields = append(fields, found{d.Field, d.From, d.To})
				require.Equal(t, row.recreate, d.Recreate)
				if row.loses == "" {
					require.Empty(t, d.Loss)
				} else {
					require.Contains(t, d.Loss, row.loses)
				}
			}
			require.Equal(t, row.want, fields)
			if !row.recreate {
				require.Empty(t, r.differences(r.changed(have, got), full, now), "differences remain after the change")
			}
		})
	}
}

// An operator names the sessions directory of a system that has none. Its id stays.
func TestSystemDifferences(t *testing.T) {
	t.Parallel()
	l := testLayout()
	l.System = System{ID: "new", Store: "file", Place: "ops:/srv/sessions"}
	holds := jetstream.StreamState{Msgs: 3}
	for _, row := range []struct {
		name     string
		have     System
		from, to string // "" for no difference
		loses    bool
		after    System
	}{
		{name: "no system", from: "no system", to: "HINT_STORE=file", after: l.System},
		{
			name: "no place", have: System{ID: "old", Store: "file"},
			from: "no sessions directory", to: "sessions in ops:/srv/sessions", after: System{ID: "old", Store: "file", Place: "ops:/srv/sessions"},
		},
		{name: "another place", have: System{ID: "old", Store: "file", Place: "a:/b"}, after: System{ID: "old", Store: "file", Place: "a:/b"}},
		{name: "another store", have: System{ID: "old", Store: "kv"}, from: "HINT_STORE=kv", to: "HINT_STORE=file", loses: true, after: System{ID: "old", Store: l.System.Store, Place: l.System.Place}},
	} {
		t.Run(row.name, func(t *testing.T) {
			have := l.eventStream()
			have.Metadata = row.have.metadata()
			r := l.resource(l.eventStream())
			got := r.differences(have, holds, time.Now())
			if row.from == "" {
				require.Empty(t, got)
			} else {
				require.Len(t, got, 1)
				require.Equal(t, []string{row.from, row.to}, []string{got[0].From, got[0].To})
				require.Equal(t, row.loses, got[0].Loss != "")
			}
			require.Equal(t, row.after, systemOf(r.changed(have, got).Metadata))
		})
	}
}

func TestDurableDifferences(t *testing.T) {
	t.Parallel()
	l := testLayout()
	now := time.Now()
	for _, row := range []struct {
		name     string
		change   func(*jetstream.ConsumerConfig)
		field    string
		recreate bool
	}{
		{"as created", func(*jetstream.ConsumerConfig) {}, "", false},
		{"filter that matches all", func(c *jetstream.ConsumerConfig) { c.FilterSubject = "openclaw.event.>" }, "", false},
		{"two filters that match all", func(c *jetstream.ConsumerConfig) {
			c.FilterSubjects = []string{"openclaw.event.>", "openclaw.more.>"}
		}, "", false},
		{"description", func(c *jetstream.ConsumerConfig) { c.Description, c.SampleFrequency = "mine", "10%" }, "", false},
		{"narrow filter", func(c *jetstream.ConsumerConfig) { c.FilterSubjects = []string{"openclaw.event.agent_end.>", "x"} }, "filter_subjects", false},
		{"max deliver", func(c *jetstream.ConsumerConfig) { c.MaxDeliver = 5 }, "max_deliver", false},
		{"ack wait", func(c *jetstream.ConsumerConfig) { c.AckWait = time.Hour }, "ack_wait", false},
		{"backoff", func(c *jetstream.ConsumerConfig) {
			c.BackOff, c.AckWait = []time.Duration{time.Second, time.Minute}, time.Second
		}, "backoff", false},
		{"one at a time", func(c *jetstream.ConsumerConfig) { c.MaxAckPending = 1 }, "max_ack_pending", false},
		{"inactive threshold", func(c *jetstream.ConsumerConfig) { c.InactiveThreshold = time.Minute }, "inactive_threshold", false},
		{"no bodies", func(c *jetstream.ConsumerConfig) { c.HeadersOnly = true }, "headers_only", false},
		{"small pulls", func(c *jetstream.ConsumerConfig) { c.MaxRequestBatch = PullMessages - 1 }, "max_batch", false},
		{"sufficient pull limits", func(c *jetstream.ConsumerConfig) {
			c.MaxRequestBatch, c.MaxRequestMaxBytes, c.MaxRequestExpires = PullMessages, pullBytes, PullExpiry
		}, "", false},
		{"pulls of few bytes", func(c *jetstream.ConsumerConfig) { c.MaxRequestMaxBytes = 1 << 20 }, "max_bytes", false},
		{"short pulls", func(c *jetstream.ConsumerConfig) { c.MaxRequestExpires = 5 * time.Second }, "max_expires", false},
		{"paused", func(c *jetstream.ConsumerConfig) { c.PauseUntil = new(now.Add(time.Hour)) }, "pause_until", false},
		{"pause is over", func(c *jetstream.ConsumerConfig) { c.PauseUntil = new(now.Add(-time.Hour)) }, "", false},
		{"ack policy", func(c *jetstream.ConsumerConfig) { c.AckPolicy = jetstream.AckAllPolicy }, "ack_policy", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := durableResource{l.Stream, l.durable(l.Durables()[0]), l.Prefix}
			have := r.want
			row.change(&have)
			got := r.differences(have, pullBytes, now)
			if row.field == "" {
				require.Empty(t, got)
				return
			}
			require.Len(t, got, 1)
			require.Equal(t, row.field, got[0].Field)
			require.Equal(t, row.recreate, got[0].Recreate)
			if !row.recreate {
				require.Empty(t, r.differences(r.changed(have, got), pullBytes, now))
			}
		})
	}
}

// A bound below a pull is a warning at the start; a smaller one than ours is not.
func TestBoundOfUnacknowledgedEvents(t *testing.T) {
	t.Parallel()
	l := testLayout()
	r := durableResource{l.Stream, l.durable(l.Durables()[0]), l.Prefix}
	for bound, effect := range map[int]string{
		1: "all processes together hold at most 1 events at a time, which is slow", PullMessages: "", 20000: "", -1: "",
	} {
		have := r.want
		have.MaxAckPending = bound
		got := r.differences(have, pullBytes, time.Now())
		require.Len(t, got, 1)
		require.Equal(t, effect, got[0].Effect, bound)
	}
}

func TestFilteredDurableDifferences(t *testing.T) {
	t.Parallel()
	l := testLayout()
	want := l.durable(Durable{Name: "some", Hooks: []string{"agent_end", "session_end"}})
	require.Equal(t, []string{"openclaw.event.agent_end.>", "openclaw.event.session_end.>"}, want.FilterSubjects)
	for _, row := range []struct {
		name    string
		filters []string
		differs bool
	}{
		{"as created", want.FilterSubjects, false},
		{"in another order", []string{"openclaw.event.session_end.>", "openclaw.event.agent_end.>"}, false},
		{"everything", nil, false},
		{"more", []string{"openclaw.event.*.>"}, false},
		{"one of two", want.FilterSubjects[:1], true},
		{"another hook", []string{"openclaw.event.llm_output.>"}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			have := want
			have.FilterSubjects = row.filters
			r := durableResource{l.Stream, want, l.Prefix}
			got := r.differences(have, pullBytes, time.Now())
			if !row.differs {
				require.Empty(t, got)
				return
			}
			require.Len(t, got, 1)
			require.Equal(t, "filter_subjects", got[0].Field)
			require.Equal(t, want, r.changed(have, got))
		})
	}
}

func TestApply(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	l := testLayout()
	ctx := t.Context()
	plan := func() []Target {
		t.Helper()
		targets, err := Plan(ctx, b.JS, l, Bucket{Config: l.Bucket("_CLAIMS", "")})
		require.NoError(t, err)
		return targets
	}
	apply := func(force bool) (failures []error) {
		for _, target := range plan() {
			if err := Apply(ctx, b.JS, target, force); err != nil {
				failures = append(failures, err)
			}
		}
		return failures
	}
	fresh := plan()
	require.Len(t, fresh, 4)
	for _, target := range fresh {
		require.True(t, target.Missing, target.Name)
	}
	_, err := b.JS.Stream(ctx, l.Stream)
	require.ErrorIs(t, err, jetstream.ErrStreamNotFound, "Plan creates nothing")
	require.Empty(t, apply(false))
	for _, target := range plan() {
		require.True(t, target.InOrder(), "%s: %+v", target.Name, target.Differences)
	}

	for range 100 {
		_, err := b.JS.Publish(ctx, "openclaw.event.x.main.s", make([]byte, 1<<10))
		require.NoError(t, err)
	}
	held := func() uint64 {
		s, err := b.JS.Stream(ctx, l.Stream)
		require.NoError(t, err)
		return s.CachedInfo().State.Msgs
	}
	_, err = b.JS.UpdateConsumer(ctx, l.Stream, jetstream.ConsumerConfig{Durable: l.QueueGroup, AckPolicy: jetstream.AckExplicitPolicy, MaxDeliver: 3, FilterSubject: "openclaw.event.y.>"})
	require.NoError(t, err)
	l.MaxBytes, l.MaxAge = 50<<10, 30*time.Minute
	old := plan()
	text, err := json.MarshalIndent(old, "", "  ")
	require.NoError(t, err)
	golden(t, "plan.json", string(text)+"\n")

	failures := apply(false)
	require.Len(t, failures, 1)
	require.ErrorIs(t, failures[0], errLoses)
	require.ErrorContains(t, failures[0], "max_bytes from 64 MiB to 50 KiB")
	require.EqualValues(t, 100, held())
	event := plan()[0]
	require.Len(t, event.Differences, 2, "a refused change changes nothing else")
	for _, target := range plan()[1:] {
		require.True(t, target.InOrder(), "%s: %+v", target.Name, target.Differences)
	}

	require.Empty(t, apply(true))
	require.Less(t, held(), uint64(100))
	for _, target := range plan() {
		require.True(t, target.InOrder(), "%s: %+v", target.Name, target.Differences)
	}
	require.NoError(t, Apply(ctx, b.JS, old[0], false), "an outdated plan")
}

func TestApplyMakesDurableUsable(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	l := testLayout()
	_, err := b.JS.CreateStream(t.Context(), l.eventStream())
	require.NoError(t, err)
	for name, change := range map[string]func(*jetstream.ConsumerConfig){
		"limits": func(c *jetstream.ConsumerConfig) {
			c.MaxRequestBatch, c.MaxRequestMaxBytes, c.MaxRequestExpires = 100, 1<<20, 5*time.Second
		},
		"a pause": func(c *jetstream.ConsumerConfig) { c.PauseUntil = new(time.Now().Add(time.Hour)) },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := l.durable(l.Durables()[0])
			change(&cfg)
			_, err := b.JS.CreateConsumer(t.Context(), l.Stream, cfg)
			require.NoError(t, err)
			defer func() { require.NoError(t, b.JS.DeleteConsumer(t.Context(), l.Stream, cfg.Durable)) }()
			warnings, err := Provision(t.Context(), b.JS, l)
			if name == "limits" {
				require.ErrorIs(t, err, errUnusable)
				require.ErrorContains(t, err, "max_batch")
			} else {
				require.NoError(t, err)
				require.Contains(t, warnings[0], "pause_until")
			}
			plan, err := Plan(t.Context(), b.JS, l)
			require.NoError(t, err)
			for _, target := range plan {
				require.NoError(t, Apply(t.Context(), b.JS, target, false))
			}
			plan, err = Plan(t.Context(), b.JS, l)
			require.NoError(t, err)
			for _, target := range plan {
				require.True(t, target.InOrder(), "%+v", target)
			}
			warnings, err = Provision(t.Context(), b.JS, l)
			require.NoError(t, err)
			require.Empty(t, warnings)
		})
	}
}

func TestApplyNeverRecreates(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	l := testLayout()
	s, err := b.JS.CreateStream(t.Context(), jetstream.StreamConfig{Name: l.Stream, Subjects: []string{l.Prefix.Events()}, Storage: jetstream.MemoryStorage, MaxAge: 2 * time.Hour})
	require.NoError(t, err)
	_, err = s.CreatePushConsumer(t.Context(), jetstream.ConsumerConfig{Durable: l.QueueGroup, DeliverSubject: "x", AckPolicy: jetstream.AckExplicitPolicy})
	require.NoError(t, err)
	_, err = b.JS.Publish(t.Context(), "openclaw.event.x.main.s", nil)
	require.NoError(t, err)
	targets, err := Plan(t.Context(), b.JS, l)
	require.NoError(t, err)
	err = Apply(t.Context(), b.JS, targets[0], true)
	require.ErrorIs(t, err, errRecreate)
	require.ErrorContains(t, err, "changing storage from memory to file")
	require.ErrorIs(t, Apply(t.Context(), b.JS, targets[2], true), errRecreate)
	info, err := s.Info(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, info.State.Msgs)
	require.Equal(t, l.MaxAge, info.Config.MaxAge, "changes in place are made")
}

func TestSubjectDifferenceLeavesNoOverlap(t *testing.T) {
	t.Parallel()
	p := subjects.Prefix("openclaw")
	for _, row := range []struct {
		name string
		have []string
		to   string
		lost string
	}{
		{"none", nil, "openclaw.event.>", ""},
		{"two hooks", []string{"openclaw.event.a.>", "openclaw.event.b.>"}, "openclaw.event.>", ""},
		{"partial overlap", []string{"*.event.agent_end.>", "z"}, "openclaw.event.>, z", "*.event.agent_end.>"},
		{"events and requests", []string{"openclaw.event.>", "openclaw.request.x.>"}, "openclaw.event.>", "openclaw.request.x.>"},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := subjectDifference(row.have, p.Events(), p)
			require.Len(t, d, 1)
			require.Equal(t, row.to, d[0].To)
			if row.lost == "" {
				require.Empty(t, d[0].Loss)
			} else {
				require.Contains(t, d[0].Loss, row.lost)
			}
		})
	}
}

// golden compares text with a file of testdata.
func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o750))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), text)
}
