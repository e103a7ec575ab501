package store_test

import (
	"encoding/json"
	"math"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/payload"
	"intenthint/store"
)

func show(t *testing.T, facts ...store.Fact) (doc struct {
	Current *store.Turn  `json:"current"`
	History []store.Turn `json:"history"`
	Ended   *struct {
		Reason, At string
	} `json:"ended"`
}, raw string,
) {
	t.Helper()
	d := &store.Document{}
	for i, f := range facts {
		require.True(t, d.Apply(f), "fact %d", i)
		require.False(t, d.Apply(f), "fact %d again", i)
	}
	data, err := d.Session()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &doc), "%s", data)
	_, err = store.Decode(data)
	require.NoError(t, err)
	return doc, string(data)
}

func begin(id, run string, ts int64) store.Fact {
	return store.Fact{ID: id, TS: ts, RunID: run, SessionID: "s", Begin: &store.Begin{Input: "input of " + id}}
}

func call(id, run string, ts int64, c store.Call) store.Fact {
	return store.Fact{ID: id, TS: ts, RunID: run, SessionID: "s", Call: &c}
}

func ending(id, run string, ts int64, result, failure string) store.Fact {
	return store.Fact{ID: id, TS: ts, RunID: run, SessionID: "s", End: &store.End{Result: result, Error: failure}}
}

func TestRetryIsTheSameTurn(t *testing.T) {
	first := begin("b1", "r", 10)
	first.Begin.Conversation = []payload.Turn{{Role: "user", Text: "before the first"}}
	retry := begin("b2", "r", 20)
	retry.Begin.Conversation = []payload.Turn{{Role: "user", Text: "before the retry"}}
	retry.Begin.Result = &payload.Classification{Intent: "A"}
	third := begin("b3", "r", 30)
	third.Begin.Result = &payload.Classification{Intent: "B"}

	doc, _ := show(t, third, first)
	require.Equal(t, "B", doc.Current.Intent.Result.Intent)
	require.Empty(t, doc.Current.Intent.Input, "the conversation belongs to the classification")
	require.NotNil(t, doc.Current.Intent.Input)

	doc, _ = show(t, third, retry, first)
	require.Empty(t, doc.History)
	require.Equal(t, "input of b1", doc.Current.Input)
	require.Equal(t, "A", doc.Current.Intent.Result.Intent)
	require.Equal(t, "before the retry", doc.Current.Intent.Input[0].Text)
	require.Equal(t, "1970-01-01T00:00:00.010Z", doc.Current.Timestamps.Start)

	doc, raw := show(t, first)
	require.Equal(t, "before the first", doc.Current.Intent.Input[0].Text)
	require.NotContains(t, raw, `"result"`)
}

func TestTheLatestEndCounts(t *testing.T) {
	doc, raw := show(t, begin("b", "r", 1), ending("e1", "r", 10, "partial", "failed"))
	require.Equal(t, "failed", doc.Current.Error)
	require.Equal(t, "1970-01-01T00:00:00.010Z", doc.Current.Timestamps.End)
	require.Contains(t, raw, `"error":"failed"`)

	doc, raw = show(t, begin("b", "r", 1), ending("e1", "r", 10, "", "failed"), ending("e2", "r", 11, "done", ""))
	require.Equal(t, "done", doc.Current.Result)
	require.NotContains(t, raw, "failed")

	doc, _ = show(t, begin("b", "r", 1), ending("e1", "r", 10, "one", ""), ending("e2", "r", 10, "two", ""))
	require.Equal(t, "two", doc.Current.Result, "the id breaks ties")
}

func TestEndMovesToATurnThatBeganInBetween(t *testing.T) {
	facts := []store.Fact{
		begin("b1", "r1", 1), ending("named", "r1", 5, "first", "trouble"), ending("loose", "", 20, "second", ""), call("c", "", 21, store.Call{Name: "read"}),
	}
	doc, _ := show(t, facts...)
	require.Equal(t, "second", doc.Current.Result)
	require.Len(t, doc.Current.ToolCalls, 1)

	doc, _ = show(t, append(facts, begin("b2", "r2", 15))...)
	require.Equal(t, "second", doc.Current.Result)
	require.Len(t, doc.Current.ToolCalls, 1)
	require.Equal(t, "first", doc.History[0].Result)
	require.Equal(t, "trouble", doc.History[0].Error)
	require.Empty(t, doc.History[0].ToolCalls)
}

func TestFailedCallHasNoResult(t *testing.T) {
	doc, raw := show(t, begin("b", "r", 1), call("c", "r", 2, store.Call{ToolCallID: "t", Name: "exec", Result: "output", Error: "Aborted"}))
	require.Equal(t, "Aborted", doc.Current.ToolCalls[0].Error)
	require.NotContains(t, raw, "output")
}

func TestSkillsAreListedOncePerName(t *testing.T) {
	skill := func(id string, ts int64, name string) store.Fact {
		return call(id, "r", ts, store.Call{Name: "read", Skill: &store.Skill{Name: name, Path: id + "/SKILL.md"}})
	}
	doc, _ := show(t, begin("b", "r", 1), skill("c3", 30, "notes"), skill("c2", 20, "mail"), skill("c1", 10, "notes"))
	require.Equal(t, []store.Skill{{Name: "notes", Path: "c1/SKILL.md"}, {Name: "mail", Path: "c2/SKILL.md"}}, doc.Current.SkillsUsed)
}

func TestBeginWithoutARunIDIsATurnOfItsOwn(t *testing.T) {
	doc, _ := show(t, begin("b1", "", 1), begin("b2", "", 2), call("c", "", 1, store.Call{Name: "read"}))
	require.Equal(t, "b2", doc.Current.RunID)
	require.Equal(t, "b1", doc.History[0].RunID)
	require.Len(t, doc.History[0].ToolCalls, 1)
}

func TestSessionEndBeforeTheNewestTurnIsHidden(t *testing.T) {
	closing := store.Fact{ID: "x", TS: 15, SessionID: "s", Close: &store.Close{Reason: "reset"}}
	doc, _ := show(t, begin("b", "r", 20), closing)
	require.Nil(t, doc.Ended)
	doc, _ = show(t, begin("b", "r", 20), closing, begin("earlier", "r", 10))
	require.Equal(t, "reset", doc.Ended.Reason, "the turn began before the end")
	require.Equal(t, "1970-01-01T00:00:00.015Z", doc.Ended.At)
}

func TestNewestBeginWithANameNamesTheSession(t *testing.T) {
	old, young := begin("b1", "r1", 1), begin("b2", "r2", 2)
	old.SessionKey, old.AgentID = "key", "old"
	young.AgentID = "young"
	for _, facts := range [][]store.Fact{{old, young}, {young, old}} {
		_, raw := show(t, facts...)
		s, err := store.Summarize([]byte(raw))
		require.NoError(t, err)
		require.Equal(t, "key", s.SessionKey)
		require.Equal(t, "young", s.AgentID)
	}
}

func TestAnythingCanBeEncoded(t *testing.T) {
	deep := strings.Repeat("[", 9000) + strings.Repeat("]", 9000)
	for name, row := range map[string]struct {
		call store.Call
		want string // JSON of the call
	}{
		"params with white space": {store.Call{Params: json.RawMessage("{ \"a\" :\n 1 }")}, `"params":{"a":1}`},
		"params with markup":      {store.Call{Params: json.RawMessage(`"<&>"`)}, `"params":"<&>"`},
		"null params":             {store.Call{Name: "n", Params: json.RawMessage(` null `)}, `"name":"n","durationMs"`},
		"params not JSON":         {store.Call{Name: "n", Params: json.RawMessage(`{"a":`)}, `"name":"n","durationMs"`},
		"params not UTF-8":        {store.Call{Params: json.RawMessage("\"a\xffb\"")}, "\"params\":\"a\uFFFDb\""},
		"params nested too deep":  {store.Call{Params: json.RawMessage(deep)}, `"params":"` + deep + `"`},
		"brackets in strings":     {store.Call{Params: json.RawMessage(`"` + strings.Repeat(`[\"`, 2000) + `"`)}, `"params":"[\"[`},
		"a duration of NaN":       {store.Call{DurationMs: math.NaN()}, `"durationMs":0`},
		"an infinite duration":    {store.Call{DurationMs: math.Inf(1)}, `"durationMs":0`},
		"text not UTF-8":          {store.Call{Result: "a\xffb\x00"}, "\"result\":\"a\uFFFDb\\u0000\""},
	} {
		t.Run(name, func(t *testing.T) {
			_, raw := show(t, begin("b", "r", 1), call("c", "r", 2, row.call))
			require.Contains(t, raw, row.want)
			_, raw = show(t, call("c", "r", 2, row.call), begin("b", "r", 1))
			require.Contains(t, raw, row.want)
		})
	}
	t.Run("a confidence of NaN", func(t *testing.T) {
		b := begin("b", "r", 1)
		b.Begin.Result = &payload.Classification{Confidence: math.NaN(), ElapsedMs: math.Inf(-1)}
		_, raw := show(t, b)
		require.Contains(t, raw, `"confidence":0`)
	})
	for name, row := range map[string]struct {
		ts   int64
		want string
	}{
		"before the epoch": {-1, "1969-12-31T23:59:59.999Z"},
		"the last time":    {math.MaxInt64, "9999-12-31T23:59:59.999Z"},
		"the first time":   {math.MinInt64, "0000-01-01T00:00:00.000Z"},
	} {
		t.Run(name, func(t *testing.T) {
			doc, _ := show(t, begin("b", "r", row.ts), call("c", "", row.ts, store.Call{}), ending("e", "", row.ts, "x", ""))
			require.Equal(t, row.want, doc.Current.Timestamps.Start)
			require.Equal(t, row.want, doc.Current.Timestamps.End)
			require.Len(t, doc.Current.ToolCalls, 1)
		})
	}
}

// White space in the parameters of a call would stay in memory as long as the
// session.
func TestParametersDoNotKeepTheMemoryOfWhiteSpace(t *testing.T) {
	const calls, blanks = 16, 1 << 20
	d := &store.Document{}
	params := json.RawMessage(`{"a":` + strings.Repeat(" ", blanks) + `1}`)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	d.Apply(begin("b", "r", 1))
	for i := range calls {
		d.Apply(call("c"+strconv.Itoa(i), "r", int64(i), store.Call{Name: "exec", Params: params}))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(calls*blanks/2))
	runtime.KeepAlive(d)
}

func TestEmptyFactChangesNothing(t *testing.T) {
	d := &store.Document{}
	require.False(t, d.Apply(store.Fact{ID: "x", TS: 1}))
	raw, err := d.Session()
	require.NoError(t, err)
	require.Equal(t, `{"history":[]}`, string(raw))
}

func TestATurnSaysWhyThereWasNoHint(t *testing.T) {
	failed := begin("b1", "r", 10)
	failed.Begin.Skip, failed.Begin.HeldOut = "deadline", new(false)
	doc, raw := show(t, failed)
	require.Equal(t, "deadline", doc.Current.Intent.Skip)
	require.Contains(t, raw, `"heldOut":false`)

	retry := begin("b2", "r", 20)
	retry.Begin.Skip, retry.Begin.HeldOut, retry.Begin.Result = "holdout", new(true), &payload.Classification{Intent: "A"}
	failed.Begin.Earlier, retry.Begin.Earlier = 1, 2
	for _, facts := range [][]store.Fact{{failed, retry}, {retry, failed}} {
		doc, _ := show(t, facts...)
		require.Equal(t, "holdout", doc.Current.Intent.Skip, "that of the classification")
		require.Equal(t, new(true), doc.Current.Intent.HeldOut)
		require.Equal(t, 2, doc.Current.Intent.Earlier)
	}

	unanswered := begin("b3", "r", 5)
	for _, facts := range [][]store.Fact{{failed, unanswered}, {unanswered, failed}} {
		doc, raw := show(t, facts...)
		require.Empty(t, doc.Current.Intent.Skip, "the first beginning counts without a classification")
		require.NotContains(t, raw, "heldOut")
	}
}
