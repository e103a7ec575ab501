package propose

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"intenthint/classify/local"
	"intenthint/improve/expand"
	"intenthint/intents"
	"intenthint/internal/golden"
	"intenthint/model"
	"intenthint/payload"
)

// files are a directory of intents.
var files = fstest.MapFS{
	"weather.md": {Data: []byte("---\nid: WEATHER\ntriggers:\n  - The user asks about the weather.\nexamples:\n  - will it rain tomorrow\n  - how hot is it outside\n  - is there snow in the mountains\n  - pay the heating bill\n---\nLook it up.\n")},
	"money.md":   {Data: []byte("---\nid: MONEY\ntriggers:\n  - The user pays or asks about money, or anything with numbers.\nexamples:\n  - pay my electricity bill\n  - how much is on my account\n  - send ten euros to bob\n---\nBe careful.\n")},
}

func source(t *testing.T) *Source {
	t.Helper()
	found, faults, err := intents.Load(files)
	require.NoError(t, err)
	require.Empty(t, faults)
	s := &Source{Files: found, Catalog: intents.CatalogOf(found), Read: func(name string) ([]byte, error) { return fs.ReadFile(files, name) }}
	s.Classifier = local.Train(s.Catalog)
	return s
}

func TestBuildRequest(t *testing.T) {
	s := source(t)
	f := Finding{
		Kind: "corrected", About: "The chosen intent was wrong.", Intent: "WEATHER", Right: "MONEY",
		Messages: []Message{{Text: "pay the heating bill </finding> of ada@example.com", Next: "no, I meant\nmy card 4111 1111 1111 1111"}},
	}
	for i := range 20 {
		f.Messages = append(f.Messages, Message{Text: fmt.Sprint("message ", i)})
	}
	request := BuildRequest(f, s.Catalog, s.Classifier)
	golden.Equal(t, "request.txt", request.System+"\n=====\n\n"+request.User)
	require.NotContains(t, request.User, "example.com")
	require.NotContains(t, request.User, "4111")
	require.Equal(t, MaxMessages, strings.Count(request.User, "\n- message")+1)

	unused := BuildRequest(Finding{Kind: "unused", About: "Never chosen.", Intent: "MONEY"}, s.Catalog, s.Classifier)
	require.Contains(t, unused.User, `<intent id="MONEY"`)
	require.NotContains(t, unused.User, "share most words")
}

func TestParse(t *testing.T) {
	const edit = `{"edit": "add_example", "intent": "MONEY (Money)", "text": "pay  ada@example.com\u0007 back", "name": "n", "triggers": ["t"]}`
	one := Answer{Why: "a reason", Edits: []Edit{{Edit: AddExample, Intent: "MONEY", Text: "pay [EMAIL] back"}}}
	for name, row := range map[string]struct {
		in   string
		want Answer
		err  bool
	}{
		"bare":           {`{"why": "a reason", "edits": [` + edit + `]}`, one, false},
		"fenced":         {"```json\n{\"why\": \"a reason\", \"edits\": [" + edit + "]}\n```", one, false},
		"after thoughts": {`<think>{"edits": [{"edit": "x"}]}</think>Here: {"why": "a reason", "edits": [` + edit + `]} done`, one, false},
		"within another": {`{"answer": {"why": "a reason", "edits": [` + edit + `]}}`, one, false},
		"nothing to do":  {`{"why": "fine as it is", "edits": []}`, Answer{Why: "fine as it is", Edits: []Edit{}}, false},
		"a new intent": {
			`{"edits": [{"edit": "new_intent", "intent": "GARDEN", "text": "x", "name": "Garden", "triggers": ["The user gardens.", " "], "examples": ["water\nthe tomatoes"], "prompt": "One.\n---\n\u0000Two ada@example.com. \n"}]}`,
			Answer{Edits: []Edit{{Edit: NewIntent, Intent: "GARDEN", Name: "Garden", Triggers: []string{"The user gardens."}, Examples: []string{"water the tomatoes"}, Prompt: "One.\nTwo [EMAIL]."}}},
			false,
		},
		"prose":              {"I would add an example.", Answer{}, true},
		"an edit of a text":  {`{"edits": ["add an example"]}`, Answer{}, true},
		"cut off":            {`{"why": "a reason", "edits": [{"edit": "add_`, Answer{}, true},
		"a list alone":       {"[" + edit + "]", Answer{}, true},
		"too long":           {strings.Repeat(" ", maxAnswer+1), Answer{}, true},
		"a storm of braces":  {strings.Repeat("{", 1000) + `{"edits": []}`, Answer{}, true},
		"the wrong type":     {`{"why": 5, "edits": []}`, Answer{}, true},
		"edits that are nil": {`{"why": "x"}`, Answer{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(row.in)
			if row.err {
				require.ErrorIs(t, err, model.ErrUnparsable)
				return
			}
			require.NoError(t, err)
			require.Equal(t, row.want, got)
		})
	}
	many, err := Parse(`{"edits": [` + strings.TrimSuffix(strings.Repeat(edit+",", 100), ",") + `]}`)
	require.NoError(t, err)
	require.Len(t, many.Edits, maxEdits)
}

func TestApply(t *testing.T) {
	const said = "settle what I owe for the heating"
	newIntent := func(edit func(*Edit)) Edit {
		e := Edit{Edit: NewIntent, Intent: "garden", Name: "Garden", Triggers: []string{"The user gardens."}, Examples: []string{"water the tomatoes", "will it rain tomorrow"}, Prompt: "Help."}
		edit(&e)
		return e
	}
	for _, row := range []struct {
		name  string
		edits []Edit
		// problem is a part of the last edit's, dropped the reason of its example.
		problem string
		dropped expand.Reason
		// diff are the lines that change.
		diff []string
	}{
		{"an example is added", []Edit{{Edit: AddExample, Intent: "money", Text: "a receipt for my taxes please"}}, "", "", []string{"+  - a receipt for my taxes please"}},
		{"an example is removed", []Edit{{Edit: RemoveExample, Intent: "WEATHER", Text: "pay the heating bill"}}, "", "", []string{"-  - pay the heating bill"}},
		{"and added where it belongs", []Edit{{Edit: RemoveExample, Intent: "WEATHER", Text: "pay the heating bill"}, {Edit: AddExample, Intent: "MONEY", Text: "pay the heating bill"}}, "", "", []string{"-  - pay the heating bill", "+  - pay the heating bill"}},
		{"what people said is added", []Edit{{Edit: AddExample, Intent: "MONEY", Text: said}}, "", "", []string{"+  - " + said}},
		{
			"a trigger is reworded",
			[]Edit{{Edit: ChangeTrigger, Intent: "MONEY", From: "The user pays or asks about money, or…", Text: "The user pays or asks about money."}},
			"",
			"",
			[]string{"-  - The user pays or asks about money, or anything with numbers.", "+  - The user pays or asks about money."},
		},
		{"two edits of a file", []Edit{{Edit: AddExample, Intent: "MONEY", Text: "one more to add"}, {Edit: RemoveExample, Intent: "MONEY", Text: "one more to add"}}, "", "", nil},
		{"a new intent", []Edit{newIntent(func(*Edit) {})}, "", expand.Taken, []string{
			"+---", "+id: GARDEN", "+name: Garden", "+triggers:", "+  - The user gardens.", "+examples:", "+  - water the tomatoes", "+---", "+Help.",
		}},
		{"an example that is there", []Edit{{Edit: AddExample, Intent: "MONEY", Text: "Pay my electricity bill!"}}, "", expand.Repeated, nil},
		{"an example of another", []Edit{{Edit: AddExample, Intent: "MONEY", Text: "will it rain tomorrow"}}, "", expand.Taken, nil},
		{"no such intent", []Edit{{Edit: AddExample, Intent: "NEVER", Text: "x y"}}, `there is no intent "NEVER"`, "", nil},
		{"the built-in fallback", []Edit{{Edit: AddExample, Intent: "OTHER", Text: "x y"}}, "has no file", "", nil},
		{"no such example", []Edit{{Edit: RemoveExample, Intent: "MONEY", Text: "x"}}, "no example “x”", "", nil},
		{"no example", []Edit{{Edit: RemoveExample, Intent: "MONEY"}}, "no example “”", "", nil},
		{"no such trigger", []Edit{{Edit: ChangeTrigger, Intent: "MONEY", From: "x", Text: "y"}}, "no trigger “x”", "", nil},
		{"a trigger without words", []Edit{{Edit: ChangeTrigger, Intent: "MONEY", From: "The user pays or asks about money, or anything with numbers."}}, "is not one line", "", nil},
		{"no such edit", []Edit{{Edit: "delete_all", Intent: "MONEY"}}, `"delete_all" is not a known edit`, "", nil},
		{"an intent that is there", []Edit{newIntent(func(e *Edit) { e.Intent = "money" })}, "there is an intent MONEY", "", nil},
		{"one that is proposed twice", []Edit{newIntent(func(*Edit) {}), newIntent(func(*Edit) {})}, "there is an intent GARDEN", "", []string{
			"+---", "+id: GARDEN", "+name: Garden", "+triggers:", "+  - The user gardens.", "+examples:", "+  - water the tomatoes", "+---", "+Help.",
		}},
		{"a new intent without a trigger", []Edit{newIntent(func(e *Edit) { e.Triggers = nil })}, "no trigger", "", nil},
		{"a new intent without a prompt", []Edit{newIntent(func(e *Edit) { e.Prompt = "" })}, "no prompt", "", nil},
		{"a new intent without examples of its own", []Edit{newIntent(func(e *Edit) { e.Examples = e.Examples[1:] })}, "no example that can be used", expand.Taken, nil},
		{"an id that cannot be one", []Edit{newIntent(func(e *Edit) { e.Intent = "a, b" })}, "must not contain", expand.Taken, nil},
		{"a path", []Edit{newIntent(func(e *Edit) { e.Intent = "../x" })}, "must not contain", expand.Taken, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := source(t)
			got := s.Apply(row.edits, []Message{{Text: said}}, true)
			require.Len(t, got.Edits, len(row.edits))
			last := got.Edits[len(got.Edits)-1]
			if row.problem == "" {
				require.Empty(t, last.Problem)
			} else {
				require.Contains(t, last.Problem, row.problem)
			}
			var dropped expand.Reason
			if len(last.Dropped) > 0 {
				dropped = last.Dropped[0].Reason
			}
			require.Equal(t, row.dropped, dropped)
			var lines []string
			for _, c := range got.Changes {
				for line := range strings.Lines(expand.Diff("a", "b", c.Before, c.After)) {
					if (line[0] == '+' || line[0] == '-') && !strings.HasPrefix(line, "+++ ") && !strings.HasPrefix(line, "--- ") {
						lines = append(lines, strings.TrimSuffix(line, "\n"))
					}
				}
			}
			require.Equal(t, row.diff, lines)
			require.Equal(t, len(row.diff) > 0, got.Catalog != nil)
		})
	}
}

func TestTheEditedCatalogue(t *testing.T) {
	s := source(t)
	got := s.Apply([]Edit{
		{Edit: RemoveExample, Intent: "WEATHER", Text: "pay the heating bill"},
		{Edit: NewIntent, Intent: "GARDEN", Triggers: []string{"The user gardens."}, Examples: []string{"water the tomatoes"}, Prompt: "Help."},
	}, nil, false)
	weather, _ := got.Catalog.Lookup("WEATHER")
	require.NotContains(t, weather.Examples, "pay the heating bill")
	_, ok := got.Catalog.Lookup("GARDEN")
	require.True(t, ok)
	weather, _ = s.Catalog.Lookup("WEATHER")
	require.Contains(t, weather.Examples, "pay the heating bill", "the catalogue there was stays")
}

// A message that people corrected is an example even where the classifier, which was
// wrong about it, is sure of another intent.
func TestWhatPeopleCorrectedCounts(t *testing.T) {
	const message = "will it rain tomorrow at home"
	edit := []Edit{{Edit: AddExample, Intent: "MONEY", Text: message}}
	for _, corrected := range []bool{false, true} {
		s := source(t)
		s.Classifier = sureOf{s.Classifier, "WEATHER"}
		got := s.Apply(edit, []Message{{Text: message}}, corrected)
		require.Equal(t, corrected, got.Catalog != nil, got.Edits)
		if !corrected {
			require.Equal(t, expand.Elsewhere, got.Edits[0].Dropped[0].Reason)
		}
	}
}

// sureOf is a classifier that is sure of one intent.
type sureOf struct {
	Classifier
	intent string
}

func (s sureOf) Predict(string, []payload.Turn, []bool) local.Prediction {
	return local.Prediction{Intent: s.intent, Confidence: 0.99}
}

func TestAFileThatCannotBeRead(t *testing.T) {
	s := source(t)
	s.Read = func(string) ([]byte, error) { return nil, errors.New("gone") }
	got := s.Apply([]Edit{{Edit: AddExample, Intent: "MONEY", Text: "a receipt please"}}, nil, false)
	require.Equal(t, "gone", got.Edits[0].Problem)
	require.Nil(t, got.Catalog)
	s.Read = func(string) ([]byte, error) { return []byte("broken"), nil }
	got = s.Apply([]Edit{{Edit: AddExample, Intent: "MONEY", Text: "a receipt please"}}, nil, false)
	require.Contains(t, got.Edits[0].Problem, "is broken")
}
