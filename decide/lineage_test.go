package decide

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/internal/bus"
	"intenthint/internal/natstest"
	"intenthint/part"
)

const (
	newWords = "aaaaaaaaaaaa"
	oldWords = "bbbbbbbbbbbb"
	choice   = "cccccccccccc"
)

// newStore returns a store with three questions.
func newStore(t *testing.T) (*Store, jetstream.JetStream) {
	t.Helper()
	js := natstest.JetStream(t, natstest.Start(t, nil))
	s := StoreOf(bus.Layout{Prefix: "openclaw", QueueGroup: "intent-hint", Stream: "OPENCLAW_EVENTS", MaxBytes: 8 << 20}, js, slog.New(slog.DiscardHandler))
	for id, question := range map[string]string{
		newWords: `{"type":"noul","instructions":"Does it need a tool?"}`, oldWords: `{"type":"noul","instructions":"Is a tool needed?"}`,
		choice: `{"type":"choice","criteria":{"true":null,"maybe":null,"no":null}}`,
	} {
		require.NoError(t, s.put(t.Context(), Rubric{ID: id, Name: id, Question: json.RawMessage(question), Day: "2026-11-28"}))
	}
	return s, js
}

func TestWhichRubricMayContinue(t *testing.T) {
	s, _ := newStore(t)
	for _, row := range []struct {
		name, rubric, earlier string
		want                  error
	}{
		{"another type", newWords, choice, ErrOtherQuestion},
		{"an unknown rubric", "dddddddddddd", oldWords, ErrUnknownRubric},
		{"an unknown earlier one", newWords, "dddddddddddd", ErrUnknownRubric},
		{"itself", newWords, newWords, ErrCircle},
		{"other words", newWords, oldWords, nil},
		{"a circle", oldWords, newWords, ErrCircle},
		{"none", newWords, "", nil},
		{"the other way round", oldWords, newWords, nil},
		{"none of an unknown one", "dddddddddddd", "", ErrUnknownRubric},
	} {
		require.ErrorIs(t, s.Continue(t.Context(), row.rubric, row.earlier), row.want, row.name)
	}
	// Being asked again changes nothing of it.
	require.NoError(t, s.put(t.Context(), Rubric{ID: oldWords, Name: oldWords, Question: json.RawMessage(`{"type":"noul"}`), Day: "2026-11-29"}))
	all, err := s.Rubrics(t.Context())
	require.NoError(t, err)
	require.Equal(t, newWords, byID(all)[oldWords].Continues)
}

// A student of new words knows what was learnt with the old ones, and nothing else
// carries over: what it may answer alone is proven anew.
func TestAStudentLearnsFromWhatItsRubricContinues(t *testing.T) {
	s, _ := newStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	at := time.Now().UnixMilli()
	for i := range 40 {
		text, label := fmt.Sprintf("search the web for number %d", i), "true"
		if i%2 == 0 {
			text, label = fmt.Sprintf("thank you, that was kind %d", i), "false"
		}
		require.NoError(t, s.Learn(ctx, &Decided{
			ID: fmt.Sprintf("%s-%d", oldWords, i), Text: text, Answer: label, Silent: &Silent{Answer: label, Probability: 0.5}, TS: at + int64(i),
		}))
	}
	q := Question{Type: Boolean, Labels: []string{"true", "false"}, Criteria: make([]json.RawMessage, 2)}
	students := NewStudents(s, NewZeros(func() (part.Encoder, error) { return nil, nil }), func(*Rubric) float64 { return 0.6 }, slog.New(slog.DiscardHandler))
	for _, work := range []func(context.Context){students.FollowRubrics, students.FollowRecords, students.Run} {
		go work(ctx)
	}
	answer := func(rubric, said string) float64 {
		p, _ := students.Answer(ctx, rubric, &q, said)
		if p == nil {
			return -1
		}
		return p[0]
	}
	require.Eventually(t, func() bool { return answer(oldWords, "search the web") > 0.5 }, time.Minute, 20*time.Millisecond)
	require.Equal(t, -1., answer(newWords, "search the web"))
	require.NoError(t, s.Continue(ctx, newWords, oldWords))
	require.Eventually(t, func() bool { return answer(newWords, "search the web") > 0.5 }, time.Minute, 20*time.Millisecond)
	require.Less(t, answer(newWords, "thank you, that was kind"), 0.5)
	lessons, err := s.Lessons(ctx, newWords)
	require.NoError(t, err)
	require.Len(t, lessons, 40)
	require.Equal(t, Student{Learns: 40, Inherited: 40}, StudentOf(newWords, Standing{}, lessons))
	alone := func(rubric string) bool { _, alone := students.Answer(ctx, rubric, &q, "search the web"); return alone }
	require.Eventually(t, func() bool { return alone(oldWords) }, time.Minute, 20*time.Millisecond)
	require.False(t, alone(newWords))

	// Marks on old decisions count for both.
	for i := range 40 {
		id := fmt.Sprintf("%s-%d", oldWords, i)
		require.NoError(t, s.Mark(ctx, &Decided{ID: id}, &Mark{ID: id, Label: []string{"true", "false"}[i%2], At: at + 100}))
	}
	require.Eventually(t, func() bool { return answer(newWords, "search the web") < 0.5 }, time.Minute, 20*time.Millisecond)
}

func TestAContinuedRubricStays(t *testing.T) {
	var all []Rubric
	for i := range maxRubrics + 2 {
		all = append(all, Rubric{ID: fmt.Sprintf("%012x", i), revision: uint64(i + 1)})
	}
	all[maxRubrics].Continues = all[0].ID
	var gone []string
	for _, r := range surplus(all) {
		gone = append(gone, r.ID)
	}
	require.Equal(t, []string{fmt.Sprintf("%012x", 1), fmt.Sprintf("%012x", 2)}, gone)
}

func TestInheritedAnswersTakeTheRoomThatIsLeft(t *testing.T) {
	var own, inherited []Record
	for i := range maxRecords {
		inherited = append(inherited, Record{ID: fmt.Sprintf("%s-%04d", oldWords, i), At: int64(i)})
	}
	for i := range 300 {
		own = append(own, Record{ID: fmt.Sprintf("%s-%04d", newWords, i), At: int64(2000 + i)})
	}
	out := joined(own, inherited)
	require.Len(t, out, maxRecords)
	require.Equal(t, oldWords+"-0300", out[0].ID)
	require.Equal(t, 700, StudentOf(newWords, Standing{}, out).Inherited)
}

func TestInterval(t *testing.T) {
	for _, row := range []struct {
		k, n      int
		low, high float64 // by the tables of Clopper and Pearson
	}{{0, 10, 0, 0.3085}, {10, 10, 0.6915, 1}, {9, 10, 0.5550, 0.9975}, {50, 100, 0.3983, 0.6017}, {0, 0, 0, 1}} {
		got := Interval(row.k, row.n)
		require.InDelta(t, row.low, got[0], 1e-4, "%d of %d", row.k, row.n)
		require.InDelta(t, row.high, got[1], 1e-4, "%d of %d", row.k, row.n)
	}
}

// Marks on decisions that were not drawn count for nothing.
func TestAccuracyIsThatOfRandomDecisions(t *testing.T) {
	day := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	var entries []Entry
	for i := range 200 {
		e := Entry{Decided: Decided{ID: fmt.Sprintf("%s-%d", newWords, i), Answer: "true", Text: "x"}, At: day.Add(time.Duration(i%2) * 24 * time.Hour)}
		entries = append(entries, e)
	}
	right, marked := Accuracy(entries, 10, time.UTC)
	require.Equal(t, []int{0, 0}, []int{right, marked})
	drawn := map[string]bool{}
	for _, e := range append(Offered(entries, day, 10), Offered(entries, day.Add(24*time.Hour), 10)...) {
		drawn[e.ID] = true
	}
	require.Len(t, drawn, 20)
	n := 0
	for i := range entries {
		label := "false"
		if drawn[entries[i].ID] && n%4 != 0 {
			label = "true"
		}
		if drawn[entries[i].ID] {
			n++
		}
		entries[i].Mark = &Mark{Label: label}
	}
	right, marked = Accuracy(entries, 10, time.UTC)
	require.Equal(t, []int{15, 20}, []int{right, marked})
}

func TestCostOfATeacher(t *testing.T) {
	require.Zero(t, CostOf(nil))
	var entries []Entry
	for i := range 20 {
		entries = append(entries, Entry{Decided: Decided{Source: Model, Took: float64(i + 1)}})
	}
	entries = append(entries, Entry{Decided: Decided{Source: Local, Took: 1000}})
	c := CostOf(entries)
	require.Equal(t, []float64{20, 10, 19}, []float64{float64(c.Calls), c.Median, c.P95})
}
