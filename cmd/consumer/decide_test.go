package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/decide"
	"intenthint/model/provider/providertest"
)

// asked are questions in a file.
const askedQuestions = `{"state":"%s","questions":{"billing":{"type":"noul","instructions":"Is it about a card?"},"urgency":{"type":"score","criteria":["can wait","today"]}}}`

// withDecisions starts a system whose teacher says that texts with "card" are about one.
func withDecisions(t *testing.T) (*system, *providertest.Server) {
	t.Helper()
	teacher := providertest.New(t)
	teacher.Handle(func(r providertest.Request) providertest.Answer {
		if strings.HasSuffix(r.Path, "/chat/completions") {
			return providertest.Answer{Text: `{"q1":{"answer":"false","confidence":90}}`}
		}
		if strings.Contains(r.User, "who knows") {
			return providertest.Answer{Status: http.StatusUnprocessableEntity, Body: `{}`}
		}
		p := 0.1
		if strings.Contains(r.User, "card") {
			p = 0.9
		}
		answers := map[string]any{}
		for key, q := range r.Fields["questions"].(map[string]any) {
			answers[key] = map[string]any{"type": "noul", "noul": p}
			if q.(map[string]any)["type"] == "score" {
				answers[key] = map[string]any{"type": "score", "score": 1, "probabilities": map[string]float64{"0": 0, "1": 1}}
			}
		}
		text, err := json.Marshal(answers)
		if err != nil {
			return providertest.Answer{Status: http.StatusInternalServerError}
		}
		return providertest.Answer{Text: string(text)}
	})
	return start(t, map[string]string{
		"HINT_DECIDE": `{"enabled":true,"record":"text"}`, "HINT_DECIDE_MODEL": "wire/one",
		"HINT_PROVIDERS": fmt.Sprintf(`{"wire":{"baseUrl":%q,"api":"systemone"},"chat":{"baseUrl":%q}}`, teacher.AnthropicURL(), teacher.OpenAIURL()),
	}), teacher
}

func (s *system) asks(state string, more ...string) (code int, stdout, stderr string) {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "q.json")
	require.NoError(s.t, os.WriteFile(file, []byte(fmt.Sprintf(askedQuestions, state)), 0o600))
	return s.command(append([]string{"decide", "ask", file}, more...)...)
}

func (s *system) decides(into any, args ...string) string {
	s.t.Helper()
	code, stdout, stderr := s.command(append([]string{"decide"}, args...)...)
	require.Zero(s.t, code, stderr)
	if into != nil {
		require.NoError(s.t, json.Unmarshal([]byte(stdout), into), stdout)
	}
	return stdout
}

func TestDecideCommands(t *testing.T) {
	t.Parallel()
	s, teacher := withDecisions(t)
	code, stdout, stderr := s.asks("Where is my card?")
	require.Zero(t, code, stderr)
	require.Regexp(t, `billing +true +0\.900 +[0-9a-f]{12}`, stdout)
	require.Regexp(t, `urgency +1\.00 +1\.000`, stdout)
	require.Contains(t, stderr, "from wire/one (model)")
	var asked decideAsked
	code, stdout, _ = s.asks("Play a song", "--json")
	require.Zero(t, code)
	require.NoError(t, json.Unmarshal([]byte(stdout), &asked))
	require.Equal(t, "model", asked.Source)
	require.Len(t, asked.Rubrics, 2)
	code, _, stderr = s.asks("who knows")
	require.Equal(t, exitFailed, code)
	require.Contains(t, stderr, "no answer: unsure")

	var list []decide.Tally
	s.Eventually("decisions of two rubrics", func() bool {
		s.decides(&list, "ls", "--json")
		return len(list) == 2 && list[0].Decisions == 2 && list[1].Decisions == 2
	})
	require.Regexp(t, asked.Rubrics[0]+` +billing-.* learns `, s.decides(nil, "ls"))

	rubric, name := asked.Rubrics[0], "billing-"+asked.Rubrics[0][:4]
	var shown decideShown
	s.Eventually("the stored question", func() bool {
		s.decides(&shown, "show", name, "--json")
		return string(shown.Question) != "null" && shown.Student.Learns == 2
	})
	require.JSONEq(t, `{"type":"noul","instructions":"Is it about a card?"}`, string(shown.Question))
	require.Equal(t, []any{rubric, 2, 2, 2}, []any{shown.Rubric, shown.Decisions, len(shown.Last), len(shown.Offered)})
	require.Equal(t, "Play a song", shown.Last[0].Text)
	require.Contains(t, s.decides(nil, "show", rubric), "does not answer alone; learns from 2 answers")

	id := shown.Last[1].ID
	require.Contains(t, s.decides(nil, "mark", id, "false", "--by", "ada"), "marked "+id)
	s.decides(&shown, "show", rubric, "--json")
	require.Equal(t, []any{1, 0, 1}, []any{shown.Marked, shown.Right, len(shown.Offered)})
	require.Equal(t, "ada", shown.Last[1].Mark.By)
	for _, row := range []struct{ id, label, says string }{
		{id, "perhaps", "not one of the labels: true, false"}, {rubric + "-no", "true", "no decision"}, {"x", "true", "not the id of a decision"},
	} {
		code, _, stderr := s.command("decide", "mark", row.id, row.label)
		require.Equal(t, exitFailed, code, row.id)
		require.Contains(t, stderr, row.says)
	}

	// The same question in other words.
	code, _, stderr = s.command("decide", "same", rubric, asked.Rubrics[1])
	require.Equal(t, exitFailed, code)
	require.Contains(t, stderr, "the two questions have another type")
	reworded := filepath.Join(t.TempDir(), "reworded.json")
	require.NoError(t, os.WriteFile(reworded, []byte(`{"state":"My card","questions":{"billing":{"type":"noul","instructions":"Does it speak of a card?"}}}`), 0o600))
	var again decideAsked
	s.decides(&again, "ask", reworded, "--json")
	s.Eventually("the new words", func() bool {
		code, stdout, _ := s.command("decide", "same", again.Rubrics[0], name)
		return code == 0 && stdout == again.Rubrics[0]+" continues "+rubric+"\n"
	})
	s.Eventually("what it learns from", func() bool {
		s.decides(&shown, "show", again.Rubrics[0], "--json")
		return shown.Student.Learns == 3
	})
	require.Equal(t, []any{rubric, 2}, []any{shown.Continues, shown.Student.Inherited})
	require.Equal(t, []any{1, 10, 3}, []any{shown.Teacher.Calls, shown.Teacher.Tokens.In, shown.Teacher.Tokens.Out})
	require.Nil(t, shown.Sample.Interval)
	require.Contains(t, s.decides(nil, "show", again.Rubrics[0]), "learns from 3 answers (2 of rubrics that it continues)")
	require.Contains(t, s.decides(nil, "show", rubric), "accuracy: 0 of 1 marked random decision right, 0.00 to 0.98 (95 %)")
	require.Contains(t, s.decides(nil, "same", again.Rubrics[0], "--none"), "continues no rubric")
	s.decides(&shown, "show", rubric, "--json") // as before

	data := filepath.Join(t.TempDir(), "data.jsonl")
	require.NoError(t, os.WriteFile(data, []byte(`{"text":"my card","label":true}
{"state":"a song","label":"false"}

{"state":{"m":"a card of birthday"},"label":"false"}
{"text":"who knows","label":"true"}
`), 0o600))
	var measured decideEvaluated
	s.decides(&measured, "eval", "--rubric", rubric, "--data", data, "--json")
	require.Equal(t, []any{4, 3, 2, map[decide.Source]int{decide.Model: 3}, map[decide.Skip]int{decide.Unsure: 1}},
		[]any{measured.N, measured.Answered, measured.Right, measured.Sources, measured.Skips})
	require.InDelta(t, 2./3, measured.Accuracy, 1e-9)
	require.Contains(t, s.decides(nil, "eval", "--rubric", name, "--data", data), "3 lines of 4 answered, 2 right")
	require.NoError(t, os.WriteFile(data, []byte("{\"text\":\"x\",\"label\":\"true\"}\n{\"text\":\"x\",\"label\":\"maybe\"}"), 0o600))
	code, _, stderr = s.command("decide", "eval", "--rubric", rubric, "--data", data)
	require.Equal(t, exitFailed, code)
	require.Contains(t, stderr, data+":2: ")

	var replayed decideReplayed
	s.decides(&replayed, "replay", "--rubric", rubric, "--json")
	require.Equal(t, []int{2, 0}, []int{replayed.Decisions, replayed.Changed})
	s.decides(&replayed, "replay", "--model", "chat/other", "--rubric", rubric, "--json")
	require.Equal(t, []int{2, 1, 1, 0}, []int{replayed.Decisions, replayed.Changed, replayed.Better, replayed.Worse})
	require.Equal(t, "Where is my card?", replayed.Changes[0].Text)
	require.Contains(t, s.decides(nil, "replay", "--model", "chat/other", "--rubric", rubric), "Where is my card?")
	calls := teacher.Count()
	s.decides(&list, "ls", "--json")
	require.Equal(t, []int{1, 2, 2}, []int{list[0].Decisions, list[1].Decisions, list[2].Decisions}, "eval and replay store nothing")
	require.Equal(t, calls, teacher.Count())

	code, _, stderr = s.command("decide", "rm", rubric)
	require.Equal(t, exitFailed, code)
	require.Contains(t, stderr, "--yes")
	require.Contains(t, s.decides(nil, "rm", rubric, "--yes"), "removed 1 rubric and 3 events")
	s.decides(&list, "ls", "--json")
	require.Len(t, list, 2)
	code, _, stderr = s.command("decide", "eval", "--rubric", rubric, "--data", data)
	require.Equal(t, exitFailed, code)
	require.Contains(t, stderr, "no rubric")
	s.decides(nil, "rm", "--all", "--yes")
	s.decides(&list, "ls", "--json")
	require.Empty(t, list)
}

func TestDecideCommandsRefuse(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for _, row := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"decide", "ls"}, exitFailed, "decisions are off"},
		{[]string{"decide", "rm"}, exitUsage, "name a rubric"},
		{[]string{"decide", "rm", "x", "--all"}, exitUsage, "name a rubric"},
		{[]string{"decide", "show", "x", "--limit", "0"}, exitUsage, "--limit"},
		{[]string{"decide", "eval", "--rubric", "x"}, exitUsage, "--data"},
		{[]string{"decide", "ask", "/no/such/file"}, exitFailed, "/no/such/file"},
	} {
		code, _, stderr := s.command(row.args...)
		require.Equal(t, row.code, code, "%v: %s", row.args, stderr)
		require.Contains(t, stderr, row.says)
	}
	other := start(t, map[string]string{"HINT_DECIDE": `{"enabled":true}`})
	code, _, stderr := other.asks("x")
	require.Equal(t, exitFailed, code)
	require.Contains(t, stderr, "no answer: no_teacher")
	code, _, stderr = other.command("decide", "show", "nothing")
	require.Equal(t, exitFailed, code)
	require.Contains(t, stderr, `no rubric "nothing" was decided about`)
}
