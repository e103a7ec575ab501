package events

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/internal/bus"
)

// applied collects what is applied, by session.
type applied struct {
	mu   sync.Mutex
	fail func(text string) error
	got  map[string][]string
}

func (a *applied) handler() Handler[string] {
	return Handler[string]{
		Decode: decodeText,
		Apply: func(_ context.Context, texts []string) error {
			a.mu.Lock()
			defer a.mu.Unlock()
			if a.fail != nil {
				if err := a.fail(texts[0]); err != nil {
					return err
				}
			}
			if a.got == nil {
				a.got = map[string][]string{}
			}
			session, _, _ := strings.Cut(texts[0], "/")
			a.got[session] = append(a.got[session], texts...)
			return nil
		},
		Check: func(context.Context) error { return nil },
	}
}

func TestReapplyContinuesAfterPanic(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	provisionTest(t, b)
	for _, text := range []string{"ill/1", "well/1", "unread/1", "well/2"} {
		_, err := b.JS.Publish(t.Context(), "openclaw.event.after_tool_call.main.s", []byte(text))
		require.NoError(t, err)
	}
	a := &applied{fail: func(text string) error {
		if text == "ill/1" {
			panic("is a directory")
		}
		return nil
	}}
	fn := a.handler()
	fn.Decode = func(subject, id string, data []byte) (Event[string], error) {
		if string(data) == "unread/1" {
			panic("unknown form")
		}
		return decodeText(subject, id, data)
	}
	out, err := Reapply(t.Context(), ReapplyOptions[string]{JS: b.JS, Layout: testLayout(), Handler: fn, Range: Range{}, Log: quiet})
	require.NoError(t, err)
	require.Equal(t, Reapplied{Events: 4, Unreadable: 1, Failed: 1, Sessions: []string{"ill"}}, out)
	require.Equal(t, map[string][]string{"well": {"well/1", "well/2"}}, a.got)
}

func TestReapplyRange(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	provisionTest(t, b)
	const n = 20
	for i := range n {
		session := fmt.Sprint("s", i%2)
		_, err := b.JS.Publish(t.Context(), "openclaw.event.after_tool_call.main."+session, fmt.Appendf(nil, "%s/%d", session, i+1))
		require.NoError(t, err)
	}
	_, err := b.JS.Publish(t.Context(), "openclaw.event.after_tool_call.main.s0", []byte("garbage"))
	require.NoError(t, err)

	for name, tc := range map[string]struct {
		r          Range
		events     int
		unreadable int
		first      map[string]string
		last       map[string]string
	}{
		"all":                   {Range{}, n + 1, 1, map[string]string{"s0": "s0/1", "s1": "s1/2"}, map[string]string{"s0": "s0/19", "s1": "s1/20"}},
		"up to a sequence":      {Range{Until: 4}, 4, 0, map[string]string{"s0": "s0/1", "s1": "s1/2"}, map[string]string{"s0": "s0/3", "s1": "s1/4"}},
		"one session":           {Range{Session: "s1"}, n / 2, 0, map[string]string{"s1": "s1/2"}, map[string]string{"s1": "s1/20"}},
		"one session, a part":   {Range{Session: "s1", Until: 7}, 3, 0, map[string]string{"s1": "s1/2"}, map[string]string{"s1": "s1/6"}},
		"a session without any": {Range{Session: "s2"}, 0, 0, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var a applied
			var done, total int
			got, err := Reapply(t.Context(), ReapplyOptions[string]{
				JS: b.JS, Layout: testLayout(), Handler: a.handler(), Range: tc.r, Log: quiet, Progress: func(d, of int) { done, total = d, of },
			})
			require.NoError(t, err)
			require.Equal(t, Reapplied{Events: tc.events, Unreadable: tc.unreadable}, got)
			require.Equal(t, tc.events, done)
			require.GreaterOrEqual(t, total, done)
			require.Len(t, a.got, len(tc.first))
			for session, texts := range a.got {
				require.Equal(t, tc.first[session], texts[0])
				require.Equal(t, tc.last[session], texts[len(texts)-1])
				require.True(t, slices.IsSortedFunc(texts, func(a, b string) int { return len(a) - len(b) }), "in stream order")
			}
		})
	}
}

// A server that has just been elected may not have read all of its copy.
func TestReapplyNeedsTheWholeRange(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	provisionTest(t, b)
	_, err := b.JS.Publish(t.Context(), "openclaw.event.after_tool_call.main.x", []byte("a/1"))
	require.NoError(t, err)
	for _, r := range []Range{{Until: 2}, {Until: 2, Session: "x"}} {
		var a applied
		_, err = Reapply(t.Context(), ReapplyOptions[string]{JS: b.JS, Layout: testLayout(), Handler: a.handler(), Range: r, Log: quiet})
		require.ErrorIs(t, err, bus.ErrIncomplete)
		require.Empty(t, a.got)
	}
}

func TestPlaceEnd(t *testing.T) {
	t.Parallel()
	require.EqualValues(t, 7, Place{Last: 7, Delivered: 5}.End())
	require.EqualValues(t, 7, Place{Last: 0, Delivered: 7}.End(), "the stream's leader knows less than the durable's")
}

func TestReapplyContinuesAfterFailedSession(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	provisionTest(t, b)
	for _, text := range []string{"a/1", "b/2", "b/3"} {
		_, err := b.JS.Publish(t.Context(), "openclaw.event.after_tool_call.main.x", []byte(text))
		require.NoError(t, err)
	}
	a := applied{fail: func(text string) error {
		if text == "b/2" {
			return errors.New("poison")
		}
		return nil
	}}
	got, err := Reapply(t.Context(), ReapplyOptions[string]{JS: b.JS, Layout: testLayout(), Handler: a.handler(), Range: Range{}, Log: quiet})
	require.NoError(t, err)
	require.Equal(t, Reapplied{Events: 3, Failed: 2, Sessions: []string{"b"}}, got)
	require.Equal(t, map[string][]string{"a": {"a/1"}}, a.got)

	full := a.handler()
	full.Check = func(context.Context) error { return errors.New("disk full") }
	_, err = Reapply(t.Context(), ReapplyOptions[string]{JS: b.JS, Layout: testLayout(), Handler: full, Range: Range{}, Log: quiet})
	require.ErrorContains(t, err, "disk full")

	a.fail = func(string) error { return passing{errors.New("the server is away")} }
	_, err = Reapply(t.Context(), ReapplyOptions[string]{JS: b.JS, Layout: testLayout(), Handler: a.handler(), Range: Range{}, Log: quiet})
	require.ErrorContains(t, err, "the server is away")
}

func TestWhere(t *testing.T) {
	t.Parallel()
	b := openTest(t)
	provisionTest(t, b)
	before, err := Where(t.Context(), b.JS, testLayout())
	require.NoError(t, err)
	require.Zero(t, before.Applied)
	for range 3 {
		_, err := b.JS.Publish(t.Context(), "openclaw.event.after_tool_call.main.x", []byte("a/1"))
		require.NoError(t, err)
	}
	batch, err := consumerOf(t, b).Fetch(2)
	require.NoError(t, err)
	n := 0
	for m := range batch.Messages() {
		if n++; n == 1 {
			require.NoError(t, m.DoubleAck(t.Context()))
		}
	}
	after, err := Where(t.Context(), b.JS, testLayout())
	require.NoError(t, err)
	require.Equal(t, Place{Created: before.Created, First: 1, Last: 3, Applied: 1, Delivered: 2, Taken: true}, after)
	require.WithinDuration(t, time.Now(), after.Created, time.Minute)
}
