package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/app/apptest"
	"intenthint/decide"
	"intenthint/internal/natstest"
	"intenthint/model/provider/providertest"
	"intenthint/payload"
	"intenthint/subjects"
)

// isCard is a question that the teacher of these tests answers by one word.
const isCard = `{"type":"noul","instructions":"Is it about a bank card?"}`

// withTeacher returns another server of the wire, and settings that name it. It says of a
// text that it is about a card if it holds that word, and of "who knows" nothing.
func withTeacher(t *testing.T, object string, more ...string) (*providertest.Server, map[string]string) {
	t.Helper()
	teacher := providertest.New(t)
	teacher.Handle(teaches("card"))
	settings := map[string]string{
		"HINT_DECIDE": object, "HINT_DECIDE_MODEL": "wire/one",
		"HINT_PROVIDERS": fmt.Sprintf(`{"wire":{"baseUrl":%q,"api":"systemone"},"chat":{"baseUrl":%q}}`, teacher.AnthropicURL(), teacher.OpenAIURL()),
	}
	for i := 0; i < len(more); i += 2 {
		settings[more[i]] = more[i+1]
	}
	return teacher, settings
}

func teaches(word string) func(providertest.Request) providertest.Answer {
	return func(r providertest.Request) providertest.Answer {
		if strings.Contains(r.User, "who knows") {
			return providertest.Answer{Status: http.StatusUnprocessableEntity, Body: `{"detail":"no"}`}
		}
		var body struct {
			Questions map[string]struct{} `json:"questions"`
		}
		_ = json.Unmarshal(r.Body, &body)
		p := 0.03
		if strings.Contains(r.User, word) {
			p = 0.97
		}
		answers := map[string]any{}
		for key := range body.Questions {
			answers[key] = map[string]any{"type": "noul", "noul": p}
		}
		text, _ := json.Marshal(answers)
		return providertest.Answer{Text: string(text)}
	}
}

// asks returns a request of typed questions.
func asks(state, questions string) payload.Envelope {
	event := fmt.Sprintf(`{"state":%s,"questions":%s}`, state, questions)
	return payload.Envelope{Hook: subjects.HookDecide, Event: json.RawMessage(event), Ctx: json.RawMessage(`{"agentId":"main"}`)}
}

func quoted(s string) string {
	out, _ := json.Marshal(s)
	return string(out)
}

// decisions returns the events of a system.
func decisions(t *testing.T, s *apptest.System) []decide.Entry {
	t.Helper()
	entries, err := decide.Read(t.Context(), s.Bus.JS, app.Layout(s.Config), "")
	require.NoError(t, err)
	return entries
}

func TestDecide(t *testing.T) {
	t.Parallel()
	teacher, settings := withTeacher(t, `{"enabled":true,"rubrics":{"text":{"record":"text"},"hash":{"record":"hash"},"alone":{"teacher":"none/m"}}}`)
	s := apptest.Start(t, settings)
	const state = `"Where is my card? ada@example.org"`
	reply := s.Ask(asks(state, `{"text":`+isCard+`}`), time.Minute)
	require.JSONEq(t, `{"model":"wire/one","answers":{"text":{"type":"noul","noul":0.97}},"usage":{"input_tokens":10,"output_tokens":3}}`, string(reply.Data))
	require.Equal(t, "model", reply.Header.Get("Decide-Source"))
	require.Regexp(t, `^[0-9a-f]{12}$`, reply.Header.Get("Decide-Rubric"))
	require.Regexp(t, `^\d+\.\d{3}$`, reply.Header.Get("Decide-Elapsed-Ms"))
	require.Empty(t, reply.Header.Get("Decide-Skip"))
	rubric := reply.Header.Get("Decide-Rubric")
	s.Ask(asks(state, `{"hash":`+isCard+`}`), time.Minute)
	s.Ask(asks(state, `{"off":`+isCard+`}`), time.Minute)

	var events []decide.Entry
	s.Eventually("an event for each answer", func() bool { events = decisions(t, s); return len(events) == 3 })
	e := events[0]
	require.Equal(t, rubric, e.Rubric)
	require.Equal(t, "text-"+rubric[:4], e.Name)
	require.Equal(t, []any{"main", "boolean", "true", decide.Model, "wire/one", &payload.Tokens{In: 10, Out: 3}, "Where is my card? [EMAIL]"},
		[]any{e.Agent, e.Type, e.Answer, e.Source, e.Model, e.Tokens, e.Text})
	require.InDelta(t, 0.97, e.Probabilities["true"], 1e-12)
	require.Positive(t, e.Took)
	require.Regexp(t, `^sha256:[0-9a-f]{64}$`, events[1].Text)
	require.Empty(t, events[2].Text)
	stored, err := s.JS.Stream(t.Context(), "OPENCLAW_EVENTS")
	require.NoError(t, err)
	last, err := stored.GetLastMsgForSubject(t.Context(), "openclaw.event.decided.main."+rubric)
	require.NoError(t, err)
	require.Equal(t, events[2].ID, last.Header.Get("Nats-Msg-Id"))

	for _, row := range []struct {
		name, state, questions string
		budget                 time.Duration
		skip                   string
	}{
		{"the teacher does not know", `"who knows"`, `{"q":` + isCard + `}`, time.Minute, "unsure"},
		{"a teacher that is not configured", `"card"`, `{"alone":` + isCard + `}`, time.Minute, "unsure"},
		{"no question", `"card"`, `{}`, time.Minute, "unsupported"},
		{"a wrong question", `"card"`, `{"q":{"type":"box"}}`, time.Minute, "unsupported"},
		{"too many labels", `"card"`, `{"q":{"type":"choice","criteria":{}}}`, time.Minute, "unsupported"},
		{"too large", quoted(strings.Repeat("x", decide.MaxBytes)), `{"q":` + isCard + `}`, time.Minute, "unsupported"},
		{"the teacher hangs", `"hangs"`, `{"q":` + isCard + `}`, 300 * time.Millisecond, "deadline"},
		{"the teacher is busy", `"busy"`, `{"q":` + isCard + `}`, time.Minute, "overloaded"},
	} {
		teacher.Handle(func(r providertest.Request) providertest.Answer {
			switch r.User {
			case `"hangs"`:
				return providertest.Answer{Hang: true}
			case `"busy"`:
				return providertest.Answer{Status: http.StatusTooManyRequests, Body: `{}`}
			}
			return teaches("card")(r)
		})
		reply := s.Ask(asks(row.state, row.questions), row.budget)
		require.Equal(t, "{}", string(reply.Data), row.name)
		require.Equal(t, row.skip, reply.Header.Get("Decide-Skip"), row.name)
		require.Empty(t, reply.Header.Get("Decide-Source"), row.name)
	}
	require.Len(t, decisions(t, s), 3, "nothing else was answered")
	require.Equal(t, "400", s.Ask(payload.Envelope{Hook: subjects.HookDecide, Event: json.RawMessage(`7`), Ctx: json.RawMessage(`{}`)}, time.Minute).Header.Get("Nats-Service-Error-Code"))

	// Nothing of a state is in the log, and no decision is a session.
	require.NotContains(t, s.Log.String(), "Where is my")
	files, err := os.ReadDir(s.Config.Store.SessionsDir)
	require.NoError(t, err)
	for _, f := range files {
		require.NotContains(t, f.Name(), rubric)
	}
	_, err = s.JS.Consumer(t.Context(), "OPENCLAW_EVENTS", "intent-hint-decide")
	require.NoError(t, err)
}

// A chat model gets one prompt for the batch.
func TestDecideWithAChatModel(t *testing.T) {
	t.Parallel()
	teacher, settings := withTeacher(t, `{"enabled":true}`, "HINT_DECIDE_MODEL", "chat/small")
	teacher.Always(providertest.Answer{Text: `{"q1":{"answer":"true","confidence":80},"q2":{"answer":"b","confidence":50}}`})
	s := apptest.Start(t, settings)
	reply := s.Ask(asks(`{"text":"x"}`, `{"yes":`+isCard+`,"which":{"type":"choice","criteria":{"a":null,"b":"B","c":null}}}`), time.Minute)
	require.JSONEq(t, `{"yes":{"type":"noul","noul":0.8},"which":{"type":"choice","choice":"b","confidence":0.25,"probabilities":{"a":0.25,"b":0.5,"c":0.25}}}`,
		string(field(t, reply, "answers")))
	require.Equal(t, 1, teacher.Count())
	require.Contains(t, teacher.Requests()[0].User, `<option answer="b">B</option>`)

	teacher.Always(providertest.Answer{Text: `{"q1":{"answer":"perhaps","confidence":80}}`})
	require.Equal(t, "unsure", s.Ask(asks(`"y"`, `{"yes":`+isCard+`}`), time.Minute).Header.Get("Decide-Skip"))
}

func field(t *testing.T, m *nats.Msg, name string) json.RawMessage {
	t.Helper()
	var out map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(m.Data, &out))
	return out[name]
}

// Without a teacher nobody answers, but a choice about a topic that asks for it.
func TestDecideWithoutATeacher(t *testing.T) {
	t.Parallel()
	const topic = `{"type":"choice","criteria":{"refund":"the customer wants money back","lost_card":"a card was lost","exchange_rate":"rates between currencies"}}`
	s := apptest.Start(t, map[string]string{"HINT_DECIDE": `{"enabled":true,"rubrics":{"topic":{"zero":"topic"},"yes":{"zero":"topic"}}}`})
	for _, row := range []struct{ said, want string }{
		{"please give me my money back", "refund"}, {"I lost my card in town", "lost_card"}, {"what is the rate of the pound", "exchange_rate"},
	} {
		reply := s.Ask(asks(quoted(row.said), `{"topic":`+topic+`}`), time.Minute)
		var body struct {
			Model   string
			Answers map[string]struct {
				Choice        string
				Probabilities map[string]float64
			}
			Usage map[string]int
		}
		require.NoError(t, json.Unmarshal(reply.Data, &body))
		require.Equal(t, row.want, body.Answers["topic"].Choice, string(reply.Data))
		require.Equal(t, "zero", reply.Header.Get("Decide-Source"))
		require.Equal(t, map[string]int{"input_tokens": 0, "output_tokens": 0}, body.Usage)
		sum := 0.0
		for _, p := range body.Answers["topic"].Probabilities {
			sum += p
		}
		require.InDelta(t, 1, sum, 1e-9)
	}
	for _, questions := range []string{`{"other":` + topic + `}`, `{"yes":` + isCard + `}`, `{"topic":` + topic + `,"yes":` + isCard + `}`} {
		reply := s.Ask(asks(`"x"`, questions), time.Minute)
		require.Equal(t, "{}", string(reply.Data))
		require.Equal(t, "no_teacher", reply.Header.Get("Decide-Skip"), questions)
	}
}

func TestDecideOverHTTP(t *testing.T) {
	t.Parallel()
	_, settings := withTeacher(t, `{"enabled":true}`, "HINT_HTTP_ADDR", "127.0.0.1:0", "HINT_HTTP_TOKEN", "letmein")
	s := apptest.Start(t, settings)
	base := "http://" + regexp.MustCompile(`"serving [^}]*"address":"([^"]+)"`).FindStringSubmatch(s.Log.String())[1]
	call := func(method, path, token, body string) (int, string, http.Header) {
		req, err := http.NewRequestWithContext(t.Context(), method, base+path, bytes.NewBufferString(body))
		require.NoError(t, err)
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer func() { _ = resp.Body.Close() }()
		data, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, string(data), resp.Header
	}
	valid := `{"model":"jev-latest","state":"my card","questions":{"q":` + isCard + `}}`
	status, body, header := call("POST", "/v1/systemone", "letmein", valid)
	require.Equal(t, 200, status, body)
	require.JSONEq(t, `{"model":"wire/one","answers":{"q":{"type":"noul","noul":0.97}},"usage":{"input_tokens":10,"output_tokens":3}}`, body)
	require.Equal(t, "application/json", header.Get("Content-Type"))
	s.Eventually("its event", func() bool { e := decisions(t, s); return len(e) == 1 && e[0].Agent == "http" })
	for _, row := range []struct {
		name, method, path, token, body string
		status                          int
	}{
		{"no token", "POST", "/v1/systemone", "", valid, 401},
		{"a wrong token", "POST", "/v1/systemone", "guess", valid, 401},
		{"models without a token", "GET", "/v1/models", "", "", 401},
		{"not JSON", "POST", "/v1/systemone", "letmein", "{", 400},
		{"a wrong form", "POST", "/v1/systemone", "letmein", `{"state":1}`, 422},
		{"no UTF-8", "POST", "/v1/systemone", "letmein", strings.Replace(valid, "my card", "my \xff", 1), 400},
		{"a label that occurs twice", "POST", "/v1/systemone", "letmein", `{"state":"","questions":{"q":{"type":"choice","criteria":{"\ud800":null,"\ud801":null}}}}`, 422},
		{"a page of a stranger", "POST", "/v1/systemone?token=letmein", "", valid, 401},
		{"I do not know", "POST", "/v1/systemone", "letmein", strings.Replace(valid, "my card", "who knows", 1), 422},
		{"too large", "POST", "/v1/systemone", "letmein", `{"state":"` + strings.Repeat("x", decide.MaxBytes) + `"}`, 413},
		{"another method", "GET", "/v1/systemone", "letmein", "", 405},
	} {
		status, body, _ := call(row.method, row.path, row.token, row.body)
		require.Equal(t, row.status, status, row.name)
		var detail struct{ Detail string }
		require.NoError(t, json.Unmarshal([]byte(body), &detail), row.name)
		require.NotEmpty(t, detail.Detail, row.name)
	}
	status, body, _ = call("GET", "/v1/models", "letmein", "")
	require.Equal(t, 200, status)
	var models struct {
		Models []map[string]string `json:"models"`
	}
	require.NoError(t, json.Unmarshal([]byte(body), &models))
	require.Len(t, models.Models, 1)
	for _, name := range []string{"name", "description", "release_date"} {
		require.NotEmpty(t, models.Models[0][name])
	}

	off := apptest.Start(t, map[string]string{"HINT_HTTP_ADDR": "127.0.0.1:0"})
	base = "http://" + regexp.MustCompile(`"serving [^}]*"address":"([^"]+)"`).FindStringSubmatch(off.Log.String())[1]
	status, _, _ = call("POST", "/v1/systemone", "", valid)
	require.Equal(t, 404, status)
}

// An answer that comes too late for its caller is learnt from.
func TestDecideLate(t *testing.T) {
	t.Parallel()
	teacher, settings := withTeacher(t, `{"enabled":true,"record":"text"}`)
	s := apptest.Start(t, settings)
	teacher.Handle(func(r providertest.Request) providertest.Answer {
		a := teaches("card")(r)
		a.Delay = time.Second
		return a
	})
	require.Equal(t, "deadline", s.Ask(asks(`"my card"`, `{"q":`+isCard+`}`), 300*time.Millisecond).Header.Get("Decide-Skip"))
	s.Eventually("the late answer", func() bool { e := decisions(t, s); return len(e) == 1 && e[0].Late && e[0].Text == "my card" })
	s.Eventually("it is learnt", func() bool { return len(records(t, s)) == 1 })
}

// records returns what the students of a system learn from, of all rubrics.
func records(t *testing.T, s *apptest.System) (out []decide.Record) {
	t.Helper()
	store := decide.StoreOf(app.Layout(s.Config), s.Bus.JS, nil)
	rubrics, err := store.Rubrics(t.Context())
	require.NoError(t, err)
	for _, r := range rubrics {
		found, err := store.Records(t.Context(), r.ID)
		require.NoError(t, err)
		out = append(out, found...)
	}
	return out
}

// An event counts once, however often and in whatever order it comes, and the latest
// mark counts.
func TestDecisionsCountOnce(t *testing.T) {
	t.Parallel()
	_, settings := withTeacher(t, `{"enabled":true,"record":"text"}`)
	s := apptest.Start(t, settings)
	for i := range 3 {
		s.Ask(asks(quoted(fmt.Sprintf("card %d", i)), `{"q":`+isCard+`}`), time.Minute)
	}
	s.Eventually("three answers", func() bool { return len(records(t, s)) == 3 })
	entries := decisions(t, s)
	stream, err := s.JS.Stream(t.Context(), "OPENCLAW_EVENTS")
	require.NoError(t, err)
	last, err := stream.GetLastMsgForSubject(t.Context(), "openclaw.event.decided.main."+entries[0].Rubric)
	require.NoError(t, err)
	publish := func(subject, msgID string, body []byte) {
		_, err := s.JS.Publish(t.Context(), subject, body, jetstream.WithMsgID(msgID))
		require.NoError(t, err)
	}
	// The server's window of known ids is over.
	publish(last.Subject, "again", last.Data)
	mark := func(id, label string, ts int64, event string) {
		body, err := json.Marshal(payload.Envelope{
			Hook: subjects.HookFeedback, Event: payload.JSON(decide.Marked(id, label, "ada")), Ctx: json.RawMessage(`{"agentId":"main"}`), TS: ts, ID: event,
		})
		require.NoError(t, err)
		publish("openclaw.event.feedback.main.any", event, body)
	}
	now := time.Now().UnixMilli()
	mark(entries[0].ID, "false", now, "m1")
	mark(entries[0].ID, "true", now-1000, "m2") // older
	mark(entries[1].ID, "neither", now, "m3")   // no label
	mark(entries[1].Rubric+"-unknown", "true", now, "m4")
	mark("x", "true", now, "m5")
	s.Eventually("all events applied", func() bool {
		c, err := s.JS.Consumer(t.Context(), "OPENCLAW_EVENTS", "intent-hint-decide")
		require.NoError(t, err)
		info, err := c.Info(t.Context())
		require.NoError(t, err)
		return info.NumPending == 0 && info.NumAckPending == 0
	})
	found := records(t, s)
	require.Len(t, found, 3)
	require.Equal(t, "false", found[0].Label())
	require.Equal(t, "true", found[0].Teacher)
	require.Equal(t, "true", found[1].Label())
	entries = decisions(t, s)
	require.Len(t, entries, 3)
	require.Equal(t, "false", entries[0].Mark.Label)
	letters, err := s.JS.Stream(t.Context(), "OPENCLAW_EVENTS_DLQ")
	require.NoError(t, err)
	require.Zero(t, letters.CachedInfo().State.Msgs, "a mark is no dead letter")
}

// A student that agrees with its teacher answers alone, in all processes, and no longer
// once its teacher changes its mind.
func TestStudent(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	teacher, settings := withTeacher(t, `{"enabled":true,"record":"text"}`, "HINT_NATS_URL", ns.ClientURL(), "HINT_STORE", "kv")
	one, two := apptest.Start(t, settings), apptest.Start(t, settings)
	things := []string{"card", "card", "card", "song", "table", "moon"}
	said := 0
	ask := func(s *apptest.System) string {
		said++
		text := fmt.Sprintf("tell me about the %s of number %d in the %s", things[said%len(things)], said, []string{"house", "street", "city", "morning"}[said%4])
		reply := s.Ask(asks(quoted(text), `{"q":`+isCard+`}`), time.Minute)
		require.Empty(t, reply.Header.Get("Decide-Skip"))
		return reply.Header.Get("Decide-Source")
	}
	for range 30 {
		require.Equal(t, "model", ask(one), "nothing is learnt yet")
	}
	// Each process asks the teacher until its student, which has learnt from all answers,
	// is proven.
	for _, s := range []*apptest.System{one, two} {
		s.Eventually("the student answers alone", func() bool { return ask(s) == "local" })
	}
	calls := teacher.Count()
	for range 50 {
		ask(one)
		ask(two)
	}
	require.Less(t, teacher.Count()-calls, 30, "most answers need no teacher")
	require.Contains(t, one.Log.String()+two.Log.String(), "student answers alone")

	teacher.Handle(teaches("of number")) // everything
	one.Eventually("the right is taken back", func() bool {
		ask(one)
		return strings.Contains(one.Log.String()+two.Log.String(), "student no longer answers alone")
	})
	for _, s := range []*apptest.System{one, two} {
		s.Eventually("the teacher answers in every process", func() bool { return ask(s) == "model" })
	}
	// Whatever process applied an event, each answer of the teacher is there once.
	seen := map[string]bool{}
	for _, r := range records(t, one) {
		require.False(t, seen[r.ID])
		seen[r.ID] = true
	}
}

// What a person marks on the page is what the student learns.
func TestADecisionIsMarkedOnItsPage(t *testing.T) {
	t.Parallel()
	_, settings := withTeacher(t, `{"enabled":true,"record":"text"}`, "HINT_HTTP_ADDR", "127.0.0.1:0")
	s := start(t, settings)
	rubric := s.Ask(asks(`"Where is my card?"`, `{"q":`+isCard+`}`), time.Minute).Header.Get("Decide-Rubric")
	var list string
	s.Eventually("the decision", func() bool {
		_, list = page(t, s, "/decisions")
		return strings.Contains(list, "/decisions/"+rubric)
	})
	status, body := page(t, s, "/decisions/"+rubric)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "Where is my card?")
	require.Contains(t, body, "Is it about a bank card?")
	id := regexp.MustCompile(`name="id" value="([^"]*)"`).FindStringSubmatch(body)[1]
	form := url.Values{"id": {id}, "answer": {"true"}, "label": {"false"}, "wrong": {"1"}, "back": {"/decisions/" + rubric}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, app.HTTPAddresses(s.Config)[0]+"/decisions", strings.NewReader(form.Encode()))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := http.DefaultClient.Do(r) // and the page that follows
	require.NoError(t, err)
	after, err := io.ReadAll(response.Body)
	require.NoError(t, response.Body.Close())
	require.NoError(t, err)
	require.Contains(t, string(after), "Marked wrong, right is false")
	require.Contains(t, string(after), "wrong: false")
	store := decide.StoreOf(app.Layout(s.Config), s.JS, slog.New(slog.DiscardHandler))
	s.Eventually("the mark is learnt", func() bool {
		records, err := store.Records(t.Context(), rubric)
		return err == nil && len(records) == 1 && records[0].Label() == "false" && records[0].Mark.By == "console"
	})
}
