package store

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/payload"
)

// someFacts makes a set of facts of one session with everything that can
// happen to it: retries, late begins, facts without a run id, runs that never
// begin. Times are close together, so that ids have to break ties.
func someFacts(r *rand.Rand, n, runs int, span int64) []Fact {
	facts := make([]Fact, 0, n)
	for i := range n {
		f := Fact{
			ID:        fmt.Sprintf("e%03d", r.IntN(1000)*1000+i),
			TS:        1_763_680_000_000 + r.Int64N(span),
			SessionID: "s1",
		}
		if r.IntN(3) > 0 {
			f.RunID = fmt.Sprintf("r%d", r.IntN(runs))
		}
		switch r.IntN(9) {
		case 0, 1, 2:
			f.Begin = &Begin{Input: "input " + f.ID}
			if r.IntN(3) == 0 {
				f.Begin.Message = "message " + f.ID
			}
			if r.IntN(2) == 0 {
				f.SessionKey, f.AgentID = "agent:main:"+f.ID, "main"
			}
			if r.IntN(2) == 0 {
				f.Begin.Conversation = []payload.Turn{{Role: "user", Text: "before " + f.ID}}
			}
			if r.IntN(2) == 0 {
				f.Begin.Result = &payload.Classification{Intent: "I_" + f.ID, Confidence: 0.5, Complexity: "low", Source: "local"}
				if r.IntN(2) == 0 {
					f.Begin.Skills = []Skill{{Name: "skill0", Path: "/s/0/SKILL.md"}}
				}
			}
		case 3, 4:
			f.Call = &Call{ToolCallID: "c" + f.ID, Name: "read", Params: json.RawMessage(`{ "path": "<a>" }`), Result: "ok", DurationMs: 1.5}
			if r.IntN(3) == 0 {
				f.Call.Error = "failed"
			}
			if r.IntN(2) == 0 {
				f.Call.Skill = &Skill{Name: fmt.Sprintf("skill%d", r.IntN(2)), Path: f.ID}
			}
		case 5, 6:
			f.End = &End{Result: "result " + f.ID}
			if r.IntN(2) == 0 {
				f.End.Error = "error " + f.ID
			}
		case 7:
			f.Close = &Close{Reason: "reason " + f.ID}
		case 8:
			f.Feedback = &Feedback{Verdict: payload.VerdictWrong, Intent: "J_" + f.ID, By: "ada"}
		}
		facts = append(facts, f)
	}
	return facts
}

// shuffled returns the facts in another order, some of them more than once.
func shuffled(r *rand.Rand, facts []Fact) []Fact {
	out := slices.Clone(facts)
	for range r.IntN(len(facts) + 1) {
		out = append(out, facts[r.IntN(len(facts))])
	}
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// batches cuts facts into pieces of random length.
func batches(r *rand.Rand, facts []Fact) (out [][]Fact) {
	for len(facts) > 0 {
		n := 1 + r.IntN(len(facts))
		out = append(out, facts[:n])
		facts = facts[n:]
	}
	return out
}

// expected is the simplest implementation of the fold.
func expected(facts []Fact) (turns []*Turn, ended string) {
	sorted := slices.Clone(facts)
	slices.SortFunc(sorted, func(a, b Fact) int { return a.Key().Compare(b.Key()) })
	byRun := map[string]*Turn{}
	for _, f := range sorted {
		if f.Begin == nil {
			continue
		}
		t := byRun[f.run()]
		if t == nil {
			t = &Turn{RunID: f.run(), Begin: f.Key(), Input: f.Begin.Input, Message: f.Begin.Message, Intent: Intent{Input: f.Begin.Conversation}}
			byRun[t.RunID] = t
			turns = append(turns, t)
		}
		if f.Begin.Result != nil && t.Intent.Result == nil {
			t.Intent = Intent{Input: f.Begin.Conversation, Result: f.Begin.Result}
		}
	}
	for _, f := range sorted {
		var t *Turn
		if f.RunID != "" {
			t = byRun[f.RunID]
		} else {
			for _, u := range turns {
				if u.Begin.TS <= f.TS {
					t = u
				}
			}
		}
		switch {
		case f.Close != nil:
			ended = ""
			if len(turns) == 0 || !f.Key().Before(turns[len(turns)-1].Begin) {
				ended = f.Close.Reason
			}
		case t == nil:
		case f.Call != nil:
			c := ToolCall{Call: Call{ToolCallID: f.Call.ToolCallID, Result: f.Call.Result, Error: f.Call.Error}}
			if c.Error != "" {
				c.Result = ""
			}
			t.ToolCalls = append(t.ToolCalls, c)
			if s := f.Call.Skill; s != nil && !slices.ContainsFunc(t.SkillsUsed, func(o Skill) bool { return o.Name == s.Name }) {
				t.SkillsUsed = append(t.SkillsUsed, *s)
			}
		case f.End != nil:
			t.Result, t.Error, t.Timestamps.End = f.End.Result, f.End.Error, Timestamp(f.TS)
		case f.Feedback != nil && f.RunID != "":
			t.Feedback = &Judgement{Feedback: *f.Feedback, At: Timestamp(f.TS), Key: f.Key()}
		}
	}
	return turns, ended
}

// same compares what turns show.
func same(t *testing.T, want, got []*Turn) {
	t.Helper()
	require.Len(t, got, len(want))
	for i, w := range want {
		g := got[i]
		require.Equal(t, w.RunID, g.RunID)
		require.Equal(t, w.Begin, g.Begin)
		require.Equal(t, w.Input, g.Input)
		require.Equal(t, w.Message, g.Message)
		require.Equal(t, conversation(Begin{Conversation: w.Intent.Input}), g.Intent.Input)
		require.Equal(t, w.Intent.Result, g.Intent.Result)
		require.Equal(t, append([]Skill{}, w.SkillsUsed...), g.SkillsUsed)
		require.Len(t, g.ToolCalls, len(w.ToolCalls), "calls of %s", w.RunID)
		for j, c := range w.ToolCalls {
			require.Equal(t, c.ToolCallID, g.ToolCalls[j].ToolCallID)
			require.Equal(t, c.Result, g.ToolCalls[j].Result)
			require.Equal(t, c.Error, g.ToolCalls[j].Error)
		}
		require.Equal(t, w.Result, g.Result)
		require.Equal(t, w.Error, g.Error)
		require.Equal(t, Timestamp(w.Begin.TS), g.Timestamps.Start)
		require.Equal(t, w.Timestamps.End, g.Timestamps.End)
		require.Equal(t, w.Feedback, g.Feedback, "feedback on %s", w.RunID)
	}
}

func turnsOf(t *testing.T, d *Document) (out []*Turn) {
	t.Helper()
	raw, err := d.Session()
	require.NoError(t, err)
	var doc struct {
		Current json.RawMessage   `json:"current"`
		History []json.RawMessage `json:"history"`
	}
	require.NoError(t, json.Unmarshal(raw, &doc))
	require.NotNil(t, doc.History)
	if doc.Current != nil {
		doc.History = append(doc.History, doc.Current)
	}
	for _, raw := range doc.History {
		turn, err := DecodeTurn(raw)
		require.NoError(t, err)
		out = append(out, turn)
	}
	return out
}

func TestDocumentIsAFunctionOfTheSetOfFacts(t *testing.T) {
	for seed := range seeds(60) {
		checkSet(t, rand.New(rand.NewPCG(seed, 1)))
	}
}

func checkSet(t *testing.T, r *rand.Rand) {
	t.Helper()
	facts := someFacts(r, 1+r.IntN(40), 1+r.IntN(6), 1+r.Int64N(30))
	var first []byte
	for range 4 {
		d, earlier := &Document{}, &Document{}
		for _, batch := range batches(r, shuffled(r, facts)) {
			for _, f := range batch {
				d.Apply(f)
			}
			raw, err := d.AppendState(nil)
			require.NoError(t, err)
			require.True(t, json.Valid(raw), "%s", raw)
			if r.IntN(2) == 0 {
				d, err = Decode(raw)
			} else {
				d, err = Redecode(raw, earlier)
			}
			require.NoError(t, err)
			earlier, err = Decode(raw)
			require.NoError(t, err)
			again, err := d.AppendState(nil)
			require.NoError(t, err)
			require.Equal(t, string(raw), string(again))
		}
		for _, f := range facts {
			require.False(t, d.Apply(f), "an applied fact changes nothing")
		}
		raw, err := d.AppendState(nil)
		require.NoError(t, err)
		if first == nil {
			first = raw
			want, ended := expected(facts)
			same(t, want, turnsOf(t, d))
			s, err := Summarize(raw)
			require.NoError(t, err)
			require.Equal(t, ended, s.Ended)
			require.Equal(t, len(want), s.Turns)
		}
		require.Equal(t, string(first), string(raw))
	}
}

// lines is an archive in memory, in which the last line of a run counts.
type lines struct {
	t   testing.TB
	all []json.RawMessage
}

func (l *lines) turns() (out []*Turn) {
	byRun := map[string]int{}
	for _, raw := range l.all {
		turn, err := DecodeTurn(raw)
		require.NoError(l.t, err)
		if i, ok := byRun[turn.RunID]; ok {
			out[i] = turn
			continue
		}
		byRun[turn.RunID] = len(out)
		out = append(out, turn)
	}
	slices.SortFunc(out, func(a, b *Turn) int { return a.Begin.Compare(b.Begin) })
	return out
}

func (l *lines) Run(run string) (json.RawMessage, error) {
	for _, turn := range l.turns() {
		if turn.RunID == run {
			return encode(turn)
		}
	}
	return nil, nil
}

func (l *lines) Before(key Key) (json.RawMessage, error) {
	var last *Turn
	for _, turn := range l.turns() {
		if turn.Begin.Before(key) {
			last = turn
		}
	}
	if last == nil {
		return nil, nil
	}
	return encode(last)
}

// A gateway that got no answer tells the turn as an event. The consumer may have
// answered all the same, or answers the run's next request.
func TestARunToldAndAnswered(t *testing.T) {
	begin := func(id string, ts int64, input, before, intent string) Fact {
		f := Fact{ID: id, TS: ts, RunID: "r1", SessionID: "s1", Begin: &Begin{Input: input, Conversation: []payload.Turn{{Role: "user", Text: before}}}}
		if intent != "" {
			f.Begin.Result, f.Begin.Skills = &payload.Classification{Intent: intent}, []Skill{{Name: "git", Path: "/git/SKILL.md"}}
		}
		return f
	}
	told, toldAgain := begin("told", 1000, "question", "a", ""), begin("told again", 2000, "continue", "b", "")
	for _, f := range []*Fact{&told, &toldAgain} {
		f.Begin.Unanswered = true
	}
	toldSame := told
	toldSame.ID = "told same"
	silent := begin("silent", 1000, "question", "a", "LATE")
	silent.Begin.Skip = "unchanged"
	lateRetry := begin("late retry", 2000, "continue", "b", "RETRIED")
	late, retried := begin("late", 1000, "question", "a", "LATE"), begin("retried", 3000, "continue", "c", "RETRIED")
	call := Fact{ID: "call", TS: 1500, RunID: "r1", SessionID: "s1", Call: &Call{ToolCallID: "c1", Name: "read"}}
	for _, row := range []struct {
		name           string
		facts          []Fact
		before, intent string
		skip           string
	}{
		{"told", []Fact{told, call}, "a", "", ""},
		{"told twice", []Fact{told, toldAgain, call}, "a", "", ""},
		{"answered too late", []Fact{told, late, call}, "a", "LATE", SkipLate},
		{"told twice, and answered too late", []Fact{told, toldSame, late, call}, "a", "LATE", SkipLate},
		{"answered too late, without a hint", []Fact{told, silent, call}, "a", "LATE", "unchanged"},
		{"the retry is answered", []Fact{told, retried, call}, "c", "RETRIED", ""},
		{"the retry is answered too late", []Fact{told, lateRetry, toldAgain, call}, "b", "RETRIED", SkipLate},
		{"answered in time, and the retry not at all", []Fact{late, toldAgain, call}, "a", "LATE", ""},
		{"answered too late, and the retry not at all", []Fact{told, late, toldAgain, call}, "a", "LATE", SkipLate},
		{"everything", []Fact{told, late, toldAgain, retried, call}, "a", "LATE", SkipLate},
	} {
		t.Run(row.name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // not a secret
			var first []byte
			for range 50 {
				d := &Document{}
				for _, f := range shuffled(random, row.facts) {
					d.Apply(f)
				}
				require.Equal(t, 1, d.Turns())
				turn := d.turns[0].open()
				require.Equal(t, "question", turn.Input)
				require.Equal(t, []payload.Turn{{Role: "user", Text: row.before}}, turn.Intent.Input)
				require.Len(t, turn.ToolCalls, 1)
				require.Equal(t, Timestamp(1000), turn.Timestamps.Start)
				require.Equal(t, row.skip, turn.Intent.Skip)
				if row.skip == SkipLate {
					require.Empty(t, turn.SkillsHinted, "nothing was hinted")
				}
				if row.intent == "" {
					require.Nil(t, turn.Intent.Result)
				} else {
					require.Equal(t, row.intent, turn.Intent.Result.Intent)
				}
				raw, err := d.AppendState(nil)
				require.NoError(t, err)
				if first == nil {
					first = raw
				}
				require.JSONEq(t, string(first), string(raw))
			}
		})
	}
}

// seeds is how many draws a test tries: a fifth in short tests, which the race
// detector slows down without finding anything in pure functions.
func seeds(n uint64) uint64 {
	if testing.Short() {
		return n / 5
	}
	return n
}

// A run that is asked again after a failure asks models again: all of it counts, each
// event once, in whatever order.
func TestWhatARunAskedOfModels(t *testing.T) {
	begin := func(id string, ts int64, use payload.ModelUse) Fact {
		return Fact{ID: id, TS: ts, RunID: "r1", SessionID: "s1", Begin: &Begin{Input: "question", ModelUse: &use}}
	}
	failed, answered := begin("a", 1000, payload.ModelUse{Calls: 2, Failed: 2, Tokens: payload.Tokens{In: 900}}), begin("b", 2000, payload.ModelUse{Calls: 1, Tokens: payload.Tokens{In: 950, Out: 60}})
	answered.Begin.Result = &payload.Classification{Intent: "CHAT", ModelCalls: 1, Tokens: &payload.Tokens{In: 950, Out: 60}}
	told := Fact{ID: "c", TS: 1500, RunID: "r1", SessionID: "s1", Begin: &Begin{Input: "question"}}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // not a secret
	var first []byte
	for range 50 {
		d := &Document{}
		for _, f := range shuffled(random, []Fact{failed, answered, told, failed, answered}) {
			d.Apply(f)
		}
		require.Equal(t, payload.ModelUse{Calls: 3, Failed: 2, Tokens: payload.Tokens{In: 1850, Out: 60}}, d.turns[0].open().Asked())
		raw, err := d.AppendState(nil)
		require.NoError(t, err)
		if first == nil {
			first = raw
		}
		require.Equal(t, string(first), string(raw))
		again, err := Decode(raw)
		require.NoError(t, err)
		again.Apply(failed)
		require.Equal(t, 3, again.turns[0].open().Asked().Calls, "also after it was stored")
	}
	older := Turn{Intent: Intent{Result: answered.Begin.Result}}
	require.Equal(t, payload.ModelUse{Calls: 1, Tokens: payload.Tokens{In: 950, Out: 60}}, older.Asked(), "a turn from before it was recorded")
	require.Zero(t, (&Turn{}).Asked())
}

func TestRetiringLosesNothing(t *testing.T) {
	for seed := range seeds(60) {
		checkRetiring(t, rand.New(rand.NewPCG(seed, 2)))
	}
}

func checkRetiring(t *testing.T, r *rand.Rand) {
	t.Helper()
	facts := someFacts(r, 1+r.IntN(50), 1+r.IntN(8), 1+r.Int64N(30))
	limit := r.IntN(4)
	want, _ := expected(facts)
	d, archive := &Document{}, &lines{t: t}
	fold := func(batch []Fact) Change {
		change, err := d.Fold(batch, limit, archive)
		require.NoError(t, err)
		archive.all = append(archive.all, change.Retired...)
		for _, raw := range change.Retired {
			require.NotContains(t, string(raw), "\n")
		}
		before, err := d.AppendState(nil)
		require.NoError(t, err)
		if r.IntN(2) == 0 {
			d, err = Decode(before)
			require.NoError(t, err)
		}
		return change
	}
	for _, batch := range batches(r, shuffled(r, facts)) {
		fold(batch)
	}
	for _, f := range facts {
		require.False(t, fold([]Fact{f}).Any(), "a fact that was applied changes nothing: %+v", f)
	}

	require.LessOrEqual(t, len(turnsOf(t, d)), limit+1)
	holds(t, want, limit, d, archive)
}

// The document or archived turns are lost, and all facts are applied again, in
// any order and among others.
func TestLossesAreRebuilt(t *testing.T) {
	for seed := range seeds(100) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { checkLoss(t, rand.New(rand.NewPCG(seed, 3))) })
	}
}

func checkLoss(t *testing.T, r *rand.Rand) {
	t.Helper()
	facts := someFacts(r, 10+r.IntN(50), 1+r.IntN(10), 1+r.Int64N(30))
	limit := r.IntN(4)
	want, _ := expected(facts)
	d, archive := &Document{}, &lines{t: t}
	fold := func(batch []Fact) {
		change, err := d.Fold(batch, limit, archive)
		require.NoError(t, err)
		archive.all = append(archive.all, change.Retired...)
	}
	known := facts[:r.IntN(len(facts))]
	if len(known) > 0 {
		for _, batch := range batches(r, shuffled(r, known)) {
			fold(batch)
		}
	}
	switch r.IntN(3) {
	case 0:
		d = &Document{}
	case 1:
		limit += r.IntN(6) // nothing is lost, and there is more room
	default:
		archive.lose(r, d)
	}
	again := shuffled(r, facts)
	for _, f := range again[:r.IntN(len(again))] {
		fold([]Fact{f})
	}
	fold(facts)
	holds(t, want, limit, d, archive)
}

// holds checks that the document has the newest turns and the archive the others.
func holds(t *testing.T, want []*Turn, limit int, d *Document, archive *lines) {
	t.Helper()
	kept := turnsOf(t, d)
	same(t, want[max(0, len(want)-limit-1):], kept)
	all := slices.Clone(kept)
	for _, turn := range archive.turns() {
		if !slices.ContainsFunc(kept, func(k *Turn) bool { return k.RunID == turn.RunID }) {
			all = append(all, turn)
		}
	}
	slices.SortFunc(all, func(a, b *Turn) int { return a.Begin.Compare(b.Begin) })
	same(t, want, all)
}

// lose drops some lines.
func (l *lines) lose(r *rand.Rand, d *Document) {
	l.all = slices.DeleteFunc(l.all, func(json.RawMessage) bool { return r.IntN(3) == 0 })
	turns := l.turns()
	l.all = nil
	for i, turn := range turns {
		raw, err := encode(turn)
		require.NoError(l.t, err)
		if i+1 < len(turns) {
			raw, err = CutTurn(raw, turns[i+1].Begin)
			require.NoError(l.t, err)
		}
		if oldest, ok := d.Oldest(); ok {
			raw, err = CutTurn(raw, oldest)
			require.NoError(l.t, err)
		}
		l.all = append(l.all, raw)
	}
}

// A turn is recalled and stays, and then the archive loses it.
func TestRecalledTurnIsRetiredAgain(t *testing.T) {
	d, archive := &Document{}, &lines{t: t}
	begin := func(limit int, run string, ts int64) {
		change, err := d.Fold([]Fact{{ID: "e" + run, TS: ts, SessionID: "s", RunID: run, Begin: &Begin{Input: run}}}, limit, archive)
		require.NoError(t, err)
		archive.all = append(archive.all, change.Retired...)
	}
	begin(0, "r1", 1)
	begin(0, "r2", 2)
	require.Len(t, archive.turns(), 1)
	begin(1, "r1", 1)
	require.Equal(t, 2, d.Turns())
	archive.all = nil
	begin(1, "r3", 3)
	require.Len(t, archive.turns(), 1)
	require.Equal(t, "r1", archive.turns()[0].RunID)
}

func FuzzFold(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Add(uint64(77), uint64(0))
	f.Fuzz(func(t *testing.T, a, b uint64) {
		r := rand.New(rand.NewPCG(a, b))
		checkSet(t, r)
		checkRetiring(t, r)
	})
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[]`, `{"history":[]}`, `{"current":null}`, `{"current":{"runId":"r","timestamps":{"start":"2026-01-02T03:04:05Z"}}}`,
		`{"sessionId":"s","current":{"runId":"r","begin":{"ts":5,"id":"a"},"toolCalls":[{"eventId":"x","loose":true,"ts":9}]},"ended":{"reason":"new","at":"2026-01-02T03:04:05Z"}}`,
		`{"waiting":[{"id":"w","ts":3,"call":{"name":"read"}}]}`,
		`{"current":{"runId":"r","begin":{"ts":5,"id":"a"},"feedback":{"verdict":"wrong","at":"2026-01-02T03:04:05Z"}},"waiting":[{"id":"w","ts":3,"runId":"q","feedback":{"verdict":"right"}}]}`,
	} {
		f.Add([]byte(seed), "r", int64(7))
	}
	f.Fuzz(func(t *testing.T, data []byte, run string, ts int64) {
		d, err := Decode(data)
		if err != nil {
			require.ErrorIs(t, err, ErrCorrupt)
			return
		}
		for i, fact := range []Fact{
			{End: &End{Result: run}},
			{Call: &Call{Name: run, Params: data}},
			{Begin: &Begin{Input: run}},
			{RunID: run, Begin: &Begin{Input: run}},
			{RunID: run, Call: &Call{Name: run, Error: run}},
			{RunID: run, Feedback: &Feedback{Verdict: run, By: run}},
			{Feedback: &Feedback{Verdict: run}},
			{Close: &Close{Reason: run}},
		} {
			fact.ID, fact.TS = fmt.Sprint("fuzz", i), ts-int64(i)
			_, err := d.Fold([]Fact{fact}, 2, &lines{t: t})
			require.NoError(t, err)
		}
		out, err := d.AppendState(nil)
		require.NoError(t, err)
		again, err := Decode(out)
		require.NoError(t, err, "%s", out)
		same, err := again.AppendState(nil)
		require.NoError(t, err)
		require.Equal(t, string(out), string(same))
		_, err = Summarize(out)
		require.NoError(t, err)
	})
}

// Redecode gives the result of Decode.
func FuzzRedecode(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 3))
	earlier := &Document{}
	for _, fact := range someFacts(r, 12, 3, 30) {
		earlier.Apply(fact)
	}
	full, err := earlier.AppendState(nil)
	require.NoError(f, err)
	f.Add(full)
	f.Add(full[:len(full)-1])
	f.Add([]byte(strings.Replace(string(full), `"history":[`, `"history":[`+"\n", 1)))
	f.Add([]byte(strings.Replace(string(full), `"history":[`, `"history":[,`, 1)))
	f.Add([]byte(strings.Replace(string(full), `"current":`, `"history":[],"current":`, 1)))
	f.Add([]byte(strings.Replace(string(full), `"history"`, `"History"`, 1)))
	f.Add([]byte(strings.Replace(string(full), `"runId":"r1"`, `"runId":7`, 1)))
	for _, seed := range []string{`{}`, `{"history":[]}`, `{"history":[}`, `{"current":null,"history":[]}`, `{"history":[],}`, `{"sessionId":"s"}x`, `{"sessionId":"s""history":[]}`, `{"sessionId":5}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		earlier, err := Decode(full)
		require.NoError(t, err)
		want, wantErr := Decode(data)
		got, gotErr := Redecode(data, earlier)
		require.Equal(t, wantErr == nil, gotErr == nil, "%v, %v", wantErr, gotErr)
		if wantErr != nil {
			return
		}
		a, err := want.AppendState(nil)
		require.NoError(t, err)
		b, err := got.AppendState(nil)
		require.NoError(t, err)
		require.Equal(t, string(a), string(b))
		summary, err := Summarize(data)
		require.NoError(t, err)
		require.Equal(t, want.Turns(), summary.Turns)
		require.Equal(t, want.id.Value, summary.SessionID)
	})
}

func TestWaitingIsBounded(t *testing.T) {
	call := func(i int, ts int64, params string) Fact {
		return Fact{ID: fmt.Sprintf("e%05d", i), TS: ts, RunID: "cron", Call: &Call{Name: "read", Params: json.RawMessage(params)}}
	}
	t.Run("by number", func(t *testing.T) {
		if testing.Short() {
			t.Skip("takes seconds under the race detector, which finds nothing in pure functions")
		}
		d := &Document{}
		for _, i := range rand.New(rand.NewPCG(1, 1)).Perm(waitingLimit + 500) {
			d.Apply(call(i, int64(1000+i), `{}`))
		}
		require.Len(t, d.Waiting(), waitingLimit)
		require.Equal(t, fmt.Sprintf("e%05d", waitingLimit+499), d.Waiting()[waitingLimit-1].ID)
		require.Equal(t, "e00500", d.Waiting()[0].ID)
	})
	t.Run("by size", func(t *testing.T) {
		d := &Document{}
		for i := range 20 {
			d.Apply(call(i, int64(1000+i), `"`+strings.Repeat("x", waitingBytes/10-100)+`"`))
		}
		require.Len(t, d.Waiting(), 10)
		require.Equal(t, "e00019", d.Waiting()[9].ID)
		d.Apply(call(20, 5000, `"`+strings.Repeat("x", 2*waitingBytes)+`"`))
		require.Len(t, d.Waiting(), 1, "the newest stays at any size")
		require.Equal(t, "e00020", d.Waiting()[0].ID)
	})
	t.Run("not by age", func(t *testing.T) {
		d := &Document{}
		for i, ts := range []int64{1000, 1 << 50, 2000} {
			require.True(t, d.Apply(call(i, ts, `{}`)))
		}
		d.Apply(Fact{ID: "b", TS: 500, RunID: "cron", Begin: &Begin{}})
		require.Empty(t, d.Waiting())
		require.Len(t, turnsOf(t, d)[0].ToolCalls, 3)
	})
}

func TestHintedSkillsAreMatchedWithThoseRead(t *testing.T) {
	begin := Fact{ID: "b", TS: 1, RunID: "r", SessionID: "s", Begin: &Begin{
		Result: &payload.Classification{Intent: "CODE"},
		Skills: []Skill{{Name: "git", Path: "~/s/git/SKILL.md"}, {Name: "deploy", Path: "/s/deploy/SKILL.md"}, {Name: "never", Path: "/s/never/SKILL.md"}},
	}}
	byName := Fact{ID: "c1", TS: 2, RunID: "r", Call: &Call{Name: "read", Skill: &Skill{Name: "git", Path: "/home/a/s/git/SKILL.md"}}}
	byPath := Fact{ID: "c2", TS: 3, RunID: "r", Call: &Call{Name: "read", Skill: &Skill{Name: "Deployment", Path: "/s/deploy/SKILL.md"}}}
	for _, order := range [][]Fact{{begin, byName, byPath}, {byPath, byName, begin}, {byName, begin, byPath}} {
		var d Document
		_, err := d.Fold(order, -1, nil)
		require.NoError(t, err)
		body, err := d.Session()
		require.NoError(t, err)
		var shown struct {
			Current struct {
				SkillsUsed   []Skill
				SkillsHinted []HintedSkill
			}
		}
		require.NoError(t, json.Unmarshal(body, &shown))
		require.Len(t, shown.Current.SkillsUsed, 2)
		var used []bool
		for _, s := range shown.Current.SkillsHinted {
			used = append(used, s.Used)
		}
		require.Equal(t, []bool{true, true, false}, used)
	}
}

// Each event of the agent's model counts once, in any order, also before its turn.
func TestAgentUseCountsOnce(t *testing.T) {
	use := func(id string, ts int64, calls int, tokens *payload.AgentTokens) Fact {
		return Fact{ID: id, TS: ts, RunID: "r1", SessionID: "s1", Use: &payload.AgentUse{Model: "p/m", Calls: calls, Tokens: tokens}}
	}
	facts := []Fact{
		{ID: "begin", TS: 1000, RunID: "r1", SessionID: "s1", Begin: &Begin{Input: "question"}},
		use("call 1", 1100, 1, nil), use("call 2", 1200, 1, nil), use("attempt 1", 1300, 0, &payload.AgentTokens{Input: 240, Output: 24}),
		use("call 3", 1400, 1, nil), use("attempt 2", 1500, 0, &payload.AgentTokens{Input: 10, CacheRead: 5}),
	}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // not a secret
	for range 50 {
		d := &Document{}
		for _, f := range append(shuffled(random, facts), shuffled(random, facts)...) {
			d.Apply(f)
		}
		d.Apply(Fact{ID: "nobody's", TS: 1100, SessionID: "s1", Use: &payload.AgentUse{Calls: 1}})
		turn := d.turns[0].open()
		ids, calls := make([]string, 0, len(turn.AgentUse)), 0
		for _, u := range turn.AgentUse {
			ids, calls = append(ids, u.ID), calls+u.Calls
		}
		require.Equal(t, []string{"call 1", "call 2", "attempt 1", "call 3", "attempt 2"}, ids)
		require.Equal(t, 3, calls)
	}
}
