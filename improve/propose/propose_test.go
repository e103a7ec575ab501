package propose

import (
	"errors"
	"fmt"
	"slices"
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
	"weather.md":           {Data: []byte("---\nid: WEATHER\ntriggers:\n  - The user asks about the weather.\nexamples:\n  - will it rain tomorrow\n  - how hot is it outside\n  - is there snow in the mountains\n  - pay the heating bill\n---\nLook it up.\n")},
	"weather.examples.txt": {Data: []byte("# more\ndo I need sunscreen\n")},
	"money.md":             {Data: []byte("---\nid: MONEY\ntriggers:\n  - The user pays or asks about money, or anything with numbers.\nexamples:\n  - pay my electricity bill\n  - how much is on my account\n  - send ten euros to bob\n---\nBe careful.\n")},
}

func source(t *testing.T) *Source {
	t.Helper()
	found, faults, err := intents.Load(files)
	require.NoError(t, err)
	require.Empty(t, faults)
	s := &Source{Files: found, Catalog: intents.CatalogOf(found), Read: func(name string) ([]byte, error) { return intents.ReadExamples(files, name) }}
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
	garden := []string{
		"garden.md: ---", "garden.md: id: GARDEN", "garden.md: name: 'Garden'", "garden.md: triggers:", "garden.md:   - 'The user gardens.'", "garden.md: ---",
		"garden.md: Help.", "garden.examples.txt: water the tomatoes",
	}
	for _, row := range []struct {
		name  string
		edits []Edit
		// problem is a part of the last edit's, dropped the reason of its example.
		problem string
		dropped expand.Reason
		// added are the lines that are added, removed where a text goes.
		added   []string
		removed []string
	}{
		{"an example is added", []Edit{{Edit: AddExample, Intent: "money", Text: "a receipt for my taxes please"}}, "", "", []string{"money.examples.txt: a receipt for my taxes please"}, nil},
		{"an example is removed", []Edit{{Edit: RemoveExample, Intent: "WEATHER", Text: "pay the heating bill"}}, "", "", nil, []string{"weather.md:9"}},
		{"and added where it belongs", []Edit{{Edit: RemoveExample, Intent: "WEATHER", Text: "pay the heating bill"}, {Edit: AddExample, Intent: "MONEY", Text: "pay the heating bill"}}, "", "", []string{"money.examples.txt: pay the heating bill"}, []string{"weather.md:9"}},
		{"an example of the file of examples is removed", []Edit{{Edit: RemoveExample, Intent: "WEATHER", Text: "do I need sunscreen"}}, "", "", nil, []string{"weather.examples.txt:2"}},
		{"one is added to the file of examples", []Edit{{Edit: AddExample, Intent: "WEATHER", Text: "any hail in the north"}}, "", "", []string{"weather.examples.txt: any hail in the north"}, nil},
		{"what people said is added", []Edit{{Edit: AddExample, Intent: "MONEY", Text: said}}, "", "", []string{"money.examples.txt: " + said}, nil},
		{
			"a trigger is reworded",
			[]Edit{{Edit: ChangeTrigger, Intent: "MONEY", From: "The user pays or asks about money, or…", Text: "The user pays or asks about money."}},
			"", "", nil,
			[]string{"money.md:4"},
		},
		{"two edits of a file", []Edit{{Edit: AddExample, Intent: "MONEY", Text: "one more to add"}, {Edit: RemoveExample, Intent: "MONEY", Text: "one more to add"}}, "", "", nil, nil},
		{"a new intent", []Edit{newIntent(func(*Edit) {})}, "", expand.Taken, garden, nil},
		{"an example of a new intent", []Edit{newIntent(func(*Edit) {}), {Edit: AddExample, Intent: "GARDEN", Text: "prune the roses"}}, "", "", append(slices.Clone(garden), "garden.examples.txt: prune the roses"), nil},
		{"an example that is there", []Edit{{Edit: AddExample, Intent: "MONEY", Text: "Pay my electricity bill!"}}, "", expand.Repeated, nil, nil},
		{"an example of another", []Edit{{Edit: AddExample, Intent: "MONEY", Text: "will it rain tomorrow"}}, "", expand.Taken, nil, nil},
		{"no such intent", []Edit{{Edit: AddExample, Intent: "NEVER", Text: "x y"}}, `there is no intent "NEVER"`, "", nil, nil},
		{"the built-in fallback", []Edit{{Edit: AddExample, Intent: "OTHER", Text: "x y"}}, "has no file", "", nil, nil},
		{"no such example", []Edit{{Edit: RemoveExample, Intent: "MONEY", Text: "x"}}, "no example “x”", "", nil, nil},
		{"no example", []Edit{{Edit: RemoveExample, Intent: "MONEY"}}, "no example “”", "", nil, nil},
		{"no such trigger", []Edit{{Edit: ChangeTrigger, Intent: "MONEY", From: "x", Text: "y"}}, "no trigger “x”", "", nil, nil},
		{"a trigger without words", []Edit{{Edit: ChangeTrigger, Intent: "MONEY", From: "The user pays or asks about money, or anything with numbers."}}, "there is no new text", "", nil, nil},
		{"no such edit", []Edit{{Edit: "delete_all", Intent: "MONEY"}}, `"delete_all" is not a known edit`, "", nil, nil},
		{"an intent that is there", []Edit{newIntent(func(e *Edit) { e.Intent = "money" })}, "there is an intent MONEY", "", nil, nil},
		{"one that is proposed twice", []Edit{newIntent(func(*Edit) {}), newIntent(func(*Edit) {})}, "there is an intent GARDEN", "", garden, nil},
		{"a new intent without a trigger", []Edit{newIntent(func(e *Edit) { e.Triggers = nil })}, "no trigger", "", nil, nil},
		{"a new intent without a prompt", []Edit{newIntent(func(e *Edit) { e.Prompt = "" })}, "no prompt", "", nil, nil},
		{"a new intent without examples of its own", []Edit{newIntent(func(e *Edit) { e.Examples = e.Examples[1:] })}, "no example that can be used", expand.Taken, nil, nil},
		{"an id that cannot be one", []Edit{newIntent(func(e *Edit) { e.Intent = "a, b" })}, "must not contain", expand.Taken, nil, nil},
		{"a path", []Edit{newIntent(func(e *Edit) { e.Intent = "../x" })}, "must not contain", expand.Taken, nil, nil},
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
			var added, removed []string
			for _, c := range got.Changes {
				more, whole := strings.CutPrefix(string(c.After), string(c.Before))
				require.True(t, whole)
				for line := range strings.Lines(more) {
					added = append(added, c.File+": "+strings.TrimSuffix(line, "\n"))
				}
			}
			for _, e := range got.Edits {
				if e.Line > 0 {
					removed = append(removed, fmt.Sprintf("%s:%d", e.File, e.Line))
				}
			}
			require.Equal(t, row.added, added)
			require.Equal(t, row.removed, removed)
			require.Equal(t, len(row.added)+len(row.removed) > 0, got.Catalog != nil)
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
	garden, ok := got.Catalog.Lookup("GARDEN")
	require.True(t, ok)
	require.Equal(t, []string{"water the tomatoes"}, garden.Examples)
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
	s.Read = func(string) ([]byte, error) { return []byte("\xff"), nil }
	got = s.Apply([]Edit{{Edit: AddExample, Intent: "MONEY", Text: "a receipt please"}}, nil, false)
	require.Contains(t, got.Edits[0].Problem, "money.examples.txt: line 1: the file is not valid UTF-8")
}
