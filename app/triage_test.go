package app_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/internal/bus"
	"intenthint/internal/natstest"
	"intenthint/model/provider/providertest"
	"intenthint/payload"
	"intenthint/subjects"
	"intenthint/triage"
	"intenthint/triage/state"
)

const groupKey = "agent:main:telegram:group:-100"

// dispatched is a before_dispatch request of a message in a group.
func dispatched(id, text string) payload.Envelope {
	event, _ := json.Marshal(map[string]any{
		"messageId": id, "content": text, "sessionKey": groupKey, "senderId": "555", "isGroup": true, "timestamp": time.Now().UnixMilli(),
	})
	return payload.Envelope{Hook: subjects.HookBeforeDispatch, Event: event, Ctx: json.RawMessage(`{"agentName":"Claw"}`)}
}

// groupTurn is a before_prompt_build request of the group.
func groupTurn(run, prompt string) payload.Envelope {
	event, _ := json.Marshal(map[string]any{"prompt": prompt, "messages": []any{}})
	ctx, _ := json.Marshal(payload.Context{RunID: run, AgentID: "main", SessionID: "g1", SessionKey: groupKey, Trigger: "user"})
	return payload.Envelope{Hook: subjects.HookBeforePromptBuild, Event: event, Ctx: ctx}
}

func triageReply(msg *nats.Msg) string {
	return strings.Join([]string{msg.Header.Get(triage.HeaderDecision), msg.Header.Get(triage.HeaderReason), string(msg.Data)}, " ")
}

func withTriage(t *testing.T, triage string, settings map[string]string) (*system, *providertest.Server) {
	// The machine may be slow.
	triage = strings.Replace(triage, "{", `{"timeoutMs":600000,`, 1)
	all := map[string]string{"HINT_TRIAGE": triage, "HINT_CLASSIFIER": "local"}
	maps.Copy(all, settings)
	return withModel(t, all)
}

func TestTriage(t *testing.T) {
	t.Parallel()
	s, model := withTriage(t, `{"enabled":true,"historyCount":5,"examples":3}`, nil)
	model.Always(providertest.Answer{Text: "SKIP", Finish: "length"})

	reply := s.Ask(dispatched("1", "Lunch at noon?"), time.Minute)
	require.Equal(t, `skip model {"handled":true}`, triageReply(reply))
	require.Equal(t, "mock/small", reply.Header.Get(triage.HeaderModel))
	require.Empty(t, reply.Header.Get(triage.HeaderScore))
	require.InDelta(t, 10, model.Requests()[0].Fields["max_tokens"], 0)
	require.Equal(t, "From: 555\nMessage: Lunch at noon?", model.Requests()[0].User)
	require.Equal(t, `skip model {"handled":true}`, triageReply(s.Ask(dispatched("1", "Lunch at noon?"), time.Minute)), "a repetition")
	require.Equal(t, `skip too_short {"handled":true}`, triageReply(s.Ask(dispatched("2", "k"), time.Minute)))
	require.Equal(t, `respond bot_name {}`, triageReply(s.Ask(dispatched("3", "claw, what is up"), time.Minute)))
	require.Equal(t, 1, model.Count())

	// The next turn of the group is told what was skipped, once. It gets no hint.
	told := s.Ask(groupTurn("r1", "claw, what is up"), time.Minute)
	var result struct {
		PrependContext string `json:"prependContext"`
	}
	require.NoError(t, json.Unmarshal(told.Data, &result))
	require.Contains(t, result.PrependContext, "- 555: Lunch at noon?\n- 555: k\n</skipped-messages>")
	require.Equal(t, "chat_type", told.Header.Get(subjects.HeaderSkip))
	require.Equal(t, string(told.Data), string(s.Ask(groupTurn("r1", "Continue the task"), time.Minute).Data), "a retry")
	require.Equal(t, "{}", string(s.Ask(groupTurn("r2", "and now"), time.Minute).Data))

	// What a person says of a decision becomes an example.
	s.Tell(payload.Envelope{
		Hook: subjects.HookFeedback, ID: "f1", TS: time.Now().UnixMilli(), Ctx: json.RawMessage(`{"sessionKey":"` + groupKey + `"}`),
		Event: json.RawMessage(`{"kind":"triage","messageId":"1","group":"` + groupKey + `","verdict":"respond","by":"ada"}`),
	})
	s.Eventually("the mark is an example", func() bool {
		s.Ask(dispatched(fmt.Sprint("probe", s.Sequence), "Anybody there?"), time.Minute)
		s.Sequence++
		requests := model.Requests()
		return strings.HasSuffix(requests[len(requests)-1].System, "\n\nExamples:\n- Lunch at noon? → RESPOND")
	})
	requests := model.Requests()
	require.Contains(t, requests[len(requests)-1].User, "\n\nRecent conversation:\n")
	marks, err := state.Of(app.Layout(s.Config), s.JS).Marks(t.Context())
	require.NoError(t, err)
	require.Equal(t, "ada", marks[0].By)
	require.Equal(t, state.Respond, marks[0].Verdict)
}

func TestTheAgentsOwnMessagesAreHistory(t *testing.T) {
	t.Parallel()
	s, model := withTriage(t, `{"enabled":true,"historyCount":5,"quiet":{"messages":2}}`, nil)
	model.Always(providertest.Answer{Text: "RESPOND"})
	for i := range 3 {
		s.Tell(payload.Envelope{
			Hook: subjects.HookMessageSent, ID: fmt.Sprint("s", i), TS: time.Now().UnixMilli(), Ctx: json.RawMessage(`{}`),
			Event: json.RawMessage(fmt.Sprintf(`{"messageId":"s%d","content":"I did it %d","success":true,"sessionKey":%q}`, i, i, groupKey)),
		})
	}
	shared := state.Of(app.Layout(s.Config), s.JS)
	s.Eventually("the messages are known", func() bool {
		said, err := shared.Recent(t.Context(), groupKey, time.Now())
		require.NoError(t, err)
		return len(said) == 3
	})
	for i, want := range []string{"respond quiet {}", "respond quiet {}", "respond model {}"} {
		require.Equal(t, want, triageReply(s.Ask(dispatched(fmt.Sprint("m", i), "Lunch at noon?"), time.Minute)), "the bot's own do not count")
	}
	require.Contains(t, model.Requests()[0].User, "- assistant: I did it ")
}

func TestWithoutTriageNobodyAnswersBeforeDispatch(t *testing.T) {
	t.Parallel()
	for _, triage := range []string{"", `{"enabled":false}`} {
		s := start(t, map[string]string{"HINT_TRIAGE": triage})
		_, err := s.Gateway.Request("openclaw.request.before_dispatch.main", []byte("{}"), time.Minute)
		require.ErrorIs(t, err, nats.ErrNoResponders)
		_, err = s.JS.KeyValue(t.Context(), "OPENCLAW_EVENTS_TRIAGE")
		require.ErrorIs(t, err, jetstream.ErrBucketNotFound)
		_, err = s.JS.Consumer(t.Context(), "OPENCLAW_EVENTS", "intent-hint-triage")
		require.ErrorIs(t, err, jetstream.ErrConsumerNotFound)
	}
}

func TestTheStartMakesWhatThePlanWants(t *testing.T) {
	t.Parallel()
	s := start(t, map[string]string{"HINT_TRIAGE": `{"enabled":true}`})
	layout := app.Layout(s.Config)
	targets, err := bus.Plan(t.Context(), s.JS, layout, app.Buckets(s.Config)...)
	require.NoError(t, err)
	var names []string
	for _, target := range targets {
		require.False(t, target.Missing, target.Name)
		require.Empty(t, target.Differences, target.Name)
		names = append(names, target.Name)
	}
	require.Equal(t, []string{
		"OPENCLAW_EVENTS", "OPENCLAW_EVENTS_DLQ", "intent-hint", "intent-hint-triage",
		"OPENCLAW_EVENTS_TRIAGE", "OPENCLAW_EVENTS_TRIAGE_RECENT", "OPENCLAW_EVENTS_TRIAGE_MARKS",
	}, names)
}

// A slow model of the gate holds up no hint: the endpoints have bounds of their
// own.
func TestSlowTriageDelaysNoHint(t *testing.T) {
	t.Parallel()
	s, model := withTriage(t, `{"enabled":true}`, nil)
	release := make(chan struct{})
	model.Handle(func(providertest.Request) providertest.Answer {
		<-release
		return providertest.Answer{Text: "RESPOND"}
	})
	hints := func() time.Duration {
		began := time.Now()
		for i := range 50 {
			s.Sequence++
			reply := s.Ask(s.Prompt("s1", fmt.Sprint("r", s.Sequence, "-", i), "write some code for me please"), time.Minute)
			require.Equal(t, "local", reply.Header.Get(subjects.HeaderSource))
		}
		return time.Since(began)
	}
	hints()
	alone := hints()
	var waiting sync.WaitGroup
	for i := range 64 {
		waiting.Go(func() {
			reply := s.Ask(dispatched(fmt.Sprint("m", i), fmt.Sprint("Lunch at ", i, "?")), 10*time.Minute)
			require.Equal(t, "respond model {}", triageReply(reply))
		})
	}
	s.Eventually("64 messages wait for the model", func() bool { return model.Count() == 64 })
	beside := hints()
	close(release)
	waiting.Wait()
	require.Less(t, beside, 10*alone+10*time.Second, "alone %s", alone)
}

func TestTriageFollowsTheConfigurationFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hint.json5")
	write := func(triage string) {
		require.NoError(t, os.WriteFile(path+".new", []byte(`{triage: `+triage+`}`), 0o600))
		require.NoError(t, os.Rename(path+".new", path))
	}
	write(`{enabled: true, botName: 'first'}`)
	s := start(t, map[string]string{"HINT_CONFIG": path})
	require.Equal(t, "respond bot_name {}", triageReply(s.Ask(dispatched("1", "hello first one"), time.Minute)))
	write(`{enabled: true, botName: 'second', excludeGroups: ['x']}`)
	s.Eventually("the new name holds", func() bool {
		s.Sequence++
		return triageReply(s.Ask(dispatched(fmt.Sprint("second", s.Sequence), "hello second one"), time.Minute)) == "respond bot_name {}"
	})
	write(`{enabled: false, botName: 'third'}`)
	s.Eventually("a restart is asked for", func() bool { return strings.Contains(s.Log.String(), `"field":"triage.enabled"`) })
	require.Equal(t, "respond bot_name {}", triageReply(s.Ask(dispatched("still", "hello second one"), time.Minute)), "until then all settings stay")
}

// What the trained gate is sure of is not put to the model.
func TestTheTrainedGate(t *testing.T) {
	t.Parallel()
	s, model := withTriage(t, `{"enabled":true,"local":true}`, nil)
	model.Always(providertest.Answer{Text: "RESPOND"})
	replies := map[string]int{}
	for i, text := range []string{
		"thanks!", "ok see you tomorrow then", "haha nice one", "good morning everyone", "same here", "lol",
		"Can somebody explain how the deployment works?", "what does error 502 mean?", "qwrt zzxy plmk vbn",
	} {
		reply := s.Ask(dispatched(fmt.Sprint("m", i), text), time.Minute)
		replies[reply.Header.Get(triage.HeaderReason)]++
	}
	require.Positive(t, replies["local"], "%v", replies)
	require.Equal(t, 9, replies["local"]+replies["model"])
	require.Equal(t, model.Count(), replies["model"])
}

// Of turns of a group that begin at the same moment, the first ones of a process, one
// is told what was skipped.
func TestOneOfManyTurnsIsToldWhatWasSkipped(t *testing.T) {
	t.Parallel()
	url := natstest.Start(t, nil).ClientURL()
	sessions := t.TempDir()
	settings := map[string]string{"HINT_TRIAGE": `{"enabled":true,"timeoutMs":600000}`, "HINT_NATS_URL": url, "HINT_SESSIONS_DIR": sessions}
	first := start(t, settings)
	require.Equal(t, `skip too_short {"handled":true}`, triageReply(first.Ask(dispatched("1", "k"), time.Minute)))
	systems := []*system{first, start(t, settings), start(t, settings)}
	var told atomic.Int32
	var turns sync.WaitGroup
	for i := range 18 {
		turns.Go(func() {
			reply := systems[i%len(systems)].Ask(groupTurn(fmt.Sprint("run", i), "claw, what is up"), time.Minute)
			if strings.Contains(string(reply.Data), "- 555: k") {
				told.Add(1)
			}
		})
	}
	turns.Wait()
	require.Equal(t, int32(1), told.Load())
}
