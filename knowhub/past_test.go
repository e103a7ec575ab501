package knowhub_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/internal/natstest"
	"intenthint/knowhub"
	"intenthint/model/provider"
)

// session returns the messages of a session of n turns; turn i was told at the i-th
// minute after at (Unix milliseconds), or at an unknown time.
func session(n int, at int64) string {
	var all []string
	for i := 1; i <= n; i++ {
		when := ""
		if at > 0 {
			when = fmt.Sprintf(`, "timestamp": %d`, at+int64(i)*60_000)
		}
		all = append(all, fmt.Sprintf(`{"role": "user", "content": "Please repair part-%d of the shop today."%s}`, i, when),
			fmt.Sprintf(`{"role": "assistant", "content": "I repaired part-%d, and its test passes now."%s}`, i, when))
	}
	return "[" + strings.Join(all, ",") + "]"
}

// asked returns the prompts that a model gets.
func asked(m *scripted) func() []string {
	prompts := make(chan string, 100)
	answer := m.answer
	m.answer = func(ctx context.Context, req provider.Request) (string, error) {
		prompts <- req.User
		return answer(ctx, req)
	}
	return func() (out []string) {
		for len(prompts) > 0 {
			out = append(out, <-prompts)
		}
		return out
	}
}

// parts are the parts of the shop that prompts name, in all.
func parts(prompts []string) (n []int) {
	for _, p := range prompts {
		for i := 1; i <= 30; i++ {
			if strings.Contains(p, fmt.Sprintf("part-%d ", i)) {
				n = append(n, i)
			}
		}
	}
	return n
}

// A gateway that sends whole sessions has each turn read once.
func TestSinkReadsEachTurnOnce(t *testing.T) {
	t.Parallel()
	m := says(`{"experiences": []}`)
	prompts := asked(m)
	s := sink(t, m, 1)
	for i := 1; i <= 30; i++ {
		s.publish(t, fmt.Sprintf("e%d", i), person, `{"messages": `+session(i, 0)+`}`)
	}
	s.publish(t, "another attempt", person, `{"messages": `+session(30, 0)+`}`)
	s.settled(t)
	all := prompts()
	require.Len(t, all, 30)
	require.ElementsMatch(t, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30}, parts(all))
}

// fact returns the fact of an event.
func fact(t *testing.T, hook, id, messages string) knowhub.Fact {
	t.Helper()
	body := fmt.Sprintf(`{"hook": %q, "event": {"messages": %s}, "ctx": %s, "ts": 1763680000123, "id": %q}`, hook, messages, person, id)
	session, _, f, err := knowhub.DecodeFact(hook, hook, id, []byte(body))
	require.NoError(t, err)
	require.NotEmpty(t, session)
	return f
}

// Of a whole session only what came after extraction was switched on is read.
func TestTurnsFromBeforeASwitch(t *testing.T) {
	t.Parallel()
	const ts = 1763680000123 // of the events
	ns := natstest.Start(t, nil)
	stored := time.Now()
	for _, tt := range []struct {
		name, hook, messages string
		since                time.Duration // before the event was stored
		taken                bool
		want                 []int
	}{
		{"a run is one turn", "agent_end", session(5, ts-5*60_000), time.Hour, true, []int{5}},
		{"an event from before", "agent_end", session(5, ts-5*60_000), -time.Second, false, nil},
		{"an event of that moment", "agent_end", session(5, ts-5*60_000), 0, false, nil},
		{"a compaction, turns with times", "before_compaction", session(5, ts-5*60_000), 150 * time.Second, true, []int{3, 4, 5}},
		{"a compaction, all turns after it", "before_compaction", session(5, ts-5*60_000), time.Hour, true, []int{1, 2, 3, 4, 5}},
		{"a compaction, turns without times", "before_compaction", session(3, 0), time.Second, true, []int{1, 2, 3}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := says(`{"experiences": []}`)
			prompts := asked(m)
			p := start(t, ns, asking(m))
			k := knowhub.Sink{Service: p.Service, Extracted: memory{}}
			f, ok := fact(t, tt.hook, "e1", tt.messages).Since(stored.Add(-tt.since), stored)
			require.Equal(t, tt.taken, ok)
			if ok {
				require.NoError(t, k.Apply(t.Context(), []knowhub.Fact{f}))
			}
			require.Equal(t, tt.want, parts(prompts()))
		})
	}
}

// memory is a [knowhub.Extracted] of one test.
type memory map[string]bool

func (m memory) Extracted(_ context.Context, id string) (bool, error) { return m[id], nil }
func (m memory) SetExtracted(_ context.Context, id string) error      { m[id] = true; return nil }

// The second compaction of a session has what came after the first one read.
func TestSinkReadsCompactionsOnce(t *testing.T) {
	t.Parallel()
	m := says(`{"experiences": []}`)
	prompts := asked(m)
	k := knowhub.Sink{Service: start(t, natstest.Start(t, nil), asking(m)).Service, Extracted: memory{}}
	require.NoError(t, k.Apply(t.Context(), []knowhub.Fact{fact(t, "before_compaction", "c1", session(3, 0))}))
	require.NoError(t, k.Apply(t.Context(), []knowhub.Fact{fact(t, "before_compaction", "c2", session(5, 0))}))
	require.NoError(t, k.Apply(t.Context(), []knowhub.Fact{fact(t, "before_compaction", "c3", session(5, 0))}))
	require.Equal(t, []int{1, 2, 3, 4, 5}, parts(prompts()))
}

func TestPast(t *testing.T) {
	t.Parallel()
	m := says("")
	fails := 0
	m.answer = func(context.Context, provider.Request) (string, error) {
		if fails > 0 {
			fails--
			return "", errors.New("away")
		}
		return `{"experiences": [` + candidate("Fix a checksum error of the Go build", "Cleaning the module cache solved it", 0.9) + `]}`, nil
	}
	prompts := asked(m)
	known := memory{}
	k := &knowhub.Sink{Service: start(t, natstest.Start(t, nil), asking(m)).Service, Extracted: known}
	require.NoError(t, k.Apply(t.Context(), []knowhub.Fact{fact(t, "agent_end", "e1", session(1, 0))}))
	prompts()
	plan := func() *knowhub.Past {
		past := k.Past()
		for i := 1; i <= 5; i++ {
			require.NoError(t, past.Add(t.Context(), fact(t, "agent_end", fmt.Sprintf("e%d", i), session(i, 0))))
			require.NoError(t, past.Add(t.Context(), fact(t, "agent_end", fmt.Sprintf("again %d", i), session(i, 0))))
		}
		return past
	}
	past := plan()
	require.Equal(t, []int{4, 4}, []int{past.Turns, past.Calls})
	require.Empty(t, prompts(), "nothing is asked to count them")

	fails = 100
	out := past.Extract(t.Context(), func(int, int) {})
	require.Equal(t, []int{0, 4}, []int{out.Turns, out.Failed})
	require.ErrorContains(t, out.Err, "away")
	require.Len(t, prompts(), 3, "then the model is away")

	fails = 0
	past = plan()
	size := past.Bytes
	require.NoError(t, k.Apply(t.Context(), []knowhub.Fact{fact(t, "agent_end", "e3", session(3, 0))})) // by a consumer, meanwhile
	require.Equal(t, []int{3}, parts(prompts()))
	out = past.Extract(t.Context(), func(int, int) {})
	require.NoError(t, out.Err)
	require.Equal(t, []int{3, 1, 0, 1}, []int{out.Turns, out.Known, out.Failed, out.Experiences})
	all := prompts()
	require.Equal(t, []int{2, 4, 5}, parts(all))
	require.Greater(t, size, int64(len(strings.Join(all, ""))))
	require.Zero(t, plan().Turns, "each turn is read once")
}
