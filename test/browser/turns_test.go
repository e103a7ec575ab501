//go:build browser

package browser

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/app/apptest"
	"intenthint/console/consoletest"
	"intenthint/payload"
	"intenthint/subjects"
	"intenthint/triage/state"
)

// consumer is a whole consumer in this process, with its pages.
type consumer struct {
	*apptest.System
	t    *testing.T
	base string
	n    int
}

func startConsumer(t *testing.T) *consumer {
	t.Helper()
	s := apptest.Start(t, map[string]string{"HINT_HTTP_ADDR": "127.0.0.1:0", "HINT_TRIAGE": `{"enabled":true}`})
	return &consumer{System: s, t: t, base: app.HTTPAddresses(s.Config)[0]}
}

// ask makes turns of one session, now, and waits until the store has them. It
// returns their run ids.
func (c *consumer) ask(session string, texts ...string) (runs []string) {
	c.t.Helper()
	for _, text := range texts {
		c.n++
		request := c.Prompt(session, fmt.Sprint("run-", c.n), text)
		request.TS = time.Now().UnixMilli()
		c.Ask(request, time.Minute)
		runs = append(runs, fmt.Sprint("run-", c.n))
	}
	c.Eventually("the store has the turns", func() bool {
		current, _ := c.Document(session)["current"].(map[string]any)
		return current["runId"] == runs[len(runs)-1]
	})
	return runs
}

// build builds the program.
func build(t *testing.T) (binary string) {
	t.Helper()
	binary = filepath.Join(t.TempDir(), "consumer")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../../cmd/consumer").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return binary
}

// commandTurns are the lines of `consumer sessions turns --jsonl`, by run id.
func commandTurns(t *testing.T, binary string, s *apptest.System) map[string]map[string]any {
	t.Helper()
	command := exec.CommandContext(t.Context(), binary, "sessions", "turns", "--jsonl")
	command.Env = append(os.Environ(), "HINT_NATS_URL="+s.Bus.URL(), "HINT_DATA_DIR="+s.Config.DataDir, "HINT_SESSIONS_DIR="+s.Config.Store.SessionsDir)
	out, err := command.Output()
	require.NoError(t, err)
	turns := map[string]map[string]any{}
	for line := range strings.Lines(string(out)) {
		var turn map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &turn))
		turns[turn["runId"].(string)] = turn //nolint:forcetypeassert // a field of the line
	}
	return turns
}

func TestATurnAppearsWhileTheOverviewIsOpen(t *testing.T) {
	c := startConsumer(t)
	run := c.ask("garden", "remind me to water the plants")[0]
	ctx := launch(t)
	do(
		t, ctx, navigate(c.base+"/"), text(".feed .turn:first-child", "water the plants"), text("#live", "live"),
		holds(`(window.loaded = 1, true)`),
	)
	c.ask("review", "is this safe to merge?")
	do(t, ctx, text(".feed .turn:first-child", "is this safe to merge?"), text(".feed .turn:first-child", "CODE_REVIEW"), text(".feed .turn:first-child .hinted", "hint"))
	c.ask("review", markup)
	do(
		t, ctx, text(".feed .turn:first-child .said", markup), holds(`document.querySelectorAll(".feed .turn").length === 3`),
		holds(`window.loaded === 1 && document.title !== "owned" && !document.querySelector("main img")`),
		text(".feed .turn:nth-child(2)", "is this safe to merge?"), text(".feed .turn:last-child", "water the plants"),
	)
	// What is said elsewhere of a turn shows too, and the latest counts.
	say := func(verdict string, at time.Time) {
		event := json.RawMessage(`{"kind":"hint","runId":` + quote(run) + `,"verdict":"` + verdict + `","by":"ada"}`)
		c.Tell(payload.Envelope{Hook: subjects.HookFeedback, ID: verdict + at.String(), TS: at.UnixMilli(), Event: event, Ctx: json.RawMessage(`{"sessionId":"garden","agentId":"main"}`)})
	}
	now := time.Now()
	say("wrong", now)
	do(t, ctx, text(".feed .turn:last-child .mark", "wrong"))
	say("right", now.Add(-time.Minute))
	say("right", now.Add(time.Second))
	do(t, ctx, text(".feed .turn:last-child .mark", "right"), holds(`document.querySelectorAll(".feed .mark").length === 1 && window.loaded === 1`))
}

func TestTheOverviewKeepsOneHundredTurns(t *testing.T) {
	c := startConsumer(t)
	ctx := launch(t)
	do(t, ctx, navigate(c.base+"/"), text("#live", "live"), text(".nothing", "No turns yet"))
	var texts []string
	for i := range 105 {
		texts = append(texts, fmt.Sprintf("is commit %d safe to merge?", i))
	}
	c.ask("s", texts...)
	do(
		t, ctx, text(".feed .turn:first-child", "commit 104 "),
		holds(`document.querySelectorAll(".feed .turn").length === 100`), text(".feed .turn:last-child", "commit 5 "), holds(`!document.querySelector(".nothing")`),
	)
}

func TestFiveTurnsAreCorrectedByKeyboard(t *testing.T) {
	c := startConsumer(t)
	runs := c.ask("s", "is this safe to merge?", "remind me to water the plants", "translate hello to French", "what did I tell you about the dentist?", "write a unit test for the parser", "one more")
	ctx := launch(t)
	marked := func(text string) step {
		return holds(`document.querySelector("#notice").textContent.includes(` + quote(text) + `)`)
	}
	at := func(text string) step {
		return holds(`document.activeElement.matches(".card") && document.activeElement.textContent.includes(` + quote(text) + `)`)
	}
	do(
		t, ctx, navigate(c.base+"/turns"), holds(`document.querySelectorAll(".card").length === 6`),
		press("j"), at("one more"), press(kb.ArrowDown), at("unit test"), press("kj"), at("unit test"),
		press("w"), marked("Marked wrong"), at("dentist"),
		press("r"), marked("Marked right"), at("French"),
		// The right one, by typing its beginning.
		press("i"), holds(`document.activeElement.matches("[name=intent]")`), press("CREATIVE"+kb.Enter), marked("right is CREATIVE_WRITING"), at("plants"),
		press("w"), marked("Marked wrong:"), at("safe"), press(kb.ArrowUp), at("plants"), press("r"), marked("Marked right"), at("safe"),
		press("i"), press("OTHER"+kb.Escape), at("safe"), press("w"), marked("right is OTHER"),
		press("?"), holds(`document.querySelector("#help").open`), press(kb.Escape),
		press("/"), holds(`document.activeElement.name === "intent"`), press("CODE_REVIEW"+kb.Enter),
		holds(`document.querySelectorAll(".card").length === 1 && location.search.includes("intent=CODE_REVIEW")`),
	)
	command := build(t)
	c.Eventually("all marks are stored", func() bool {
		turns := commandTurns(t, command, c.System)
		said := func(run string) string {
			feedback, _ := turns[run]["feedback"].(map[string]any)
			return fmt.Sprint(feedback["verdict"], " ", turns[run]["intent"])
		}
		_, unlabelled := turns[runs[4]] // wrong, nobody said what is right: left out
		return !unlabelled && said(runs[3]) == "right MEMORY_LOOKUP" && said(runs[2]) == "wrong CREATIVE_WRITING" &&
			strings.HasPrefix(said(runs[1]), "right ") && said(runs[0]) == "wrong OTHER"
	})
}

// dispatch sends messages of a group to the gate, by ids from 1 on.
func (c *consumer) dispatch(group string, texts ...string) {
	c.t.Helper()
	for i, text := range texts {
		event, err := json.Marshal(map[string]any{"messageId": strconv.Itoa(i + 1), "content": text, "sessionKey": group, "senderId": "ada", "isGroup": true})
		require.NoError(c.t, err)
		c.Ask(payload.Envelope{Hook: subjects.HookBeforeDispatch, TS: time.Now().UnixMilli(), Event: event, Ctx: json.RawMessage(`{}`)}, time.Minute)
	}
}

func TestDecisionsOfTheGateAreJudged(t *testing.T) {
	const group = "agent:main:telegram:group:-1"
	for _, script := range []bool{true, false} {
		t.Run(fmt.Sprint("script ", script), func(t *testing.T) {
			c := startConsumer(t)
			c.dispatch(group, "k", markup, "lunch?")
			ctx := launch(t)
			do(t, ctx, navigate(c.base+"/triage"), text(".card:first-child .said", "ada: lunch?"), text(".card:nth-child(2) .said", markup))
			marked := holds(`document.querySelector("#notice").textContent.includes("Marked: skipped was wrong.")`)
			if script {
				do(
					t, ctx, press("jjj"), holds(`document.activeElement.matches(".card:nth-child(3)")`), press("w"), marked,
					press("?"), holds(`document.querySelector("#help").open`), press(kb.Escape),
				)
			} else {
				_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
				require.NoError(t, err)
				do(t, ctx, navigate(c.base+"/triage"), click(`.card:nth-child(3) .when a`), click(`.card:nth-child(3) button[name="wrong"]`), marked)
			}
			do(
				t, ctx, text(".card:nth-child(3) .mark", "wrong"), holds(`!document.querySelector("main img") && document.title !== "owned"`),
				navigate(c.base+"/triage?mark=wrong"), holds(`document.querySelectorAll(".card").length === 1`),
			)
			shared := state.Of(app.Layout(c.Config), c.JS)
			c.Eventually("the mark", func() bool {
				marks, err := shared.Marks(t.Context())
				return err == nil && len(marks) == 1 && marks[0].MessageID == "1" && marks[0].Verdict == "respond"
			})
		})
	}
}

func TestTurnsAreJudgedWithoutScript(t *testing.T) {
	c := startConsumer(t)
	c.ask("s", "is this safe to merge?", markup)
	ctx := launch(t)
	_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	require.NoError(t, err)
	do(
		t, ctx, navigate(c.base+"/turns"), text(".card:first-child .said", markup),
		click(`.card:nth-child(2) .when a`), click(`.card:nth-child(2) button[name="wrong"]`), text(".notice", "Marked wrong"), text(".card:nth-child(2) .mark", "wrong"),
		click(`.card:nth-child(2) .when a`), click(`.card:nth-child(2) button[name="right"]`), text(".notice", "Marked right"), text(".card:nth-child(2) .mark", "right"),
		click(`.card:first-child .when a`), click(`.card:first-child .panel a.open`), text("h1", "s"), text(".card .message", markup),
		click(`.filter a`), text("h1", "Sessions"), text(".card", markup),
		holds(`!document.querySelector("main img") && document.title !== "owned"`),
	)
}

func TestDeadLettersAreReplayedByHand(t *testing.T) {
	c := startConsumer(t)
	for range 2 {
		_, err := c.JS.Publish(t.Context(), "openclaw.event.agent_end.main.s", []byte(markup))
		require.NoError(t, err)
	}
	stored := func(n uint64) bool { // dead letters, since the start
		stream, err := c.JS.Stream(t.Context(), "OPENCLAW_EVENTS_DLQ")
		return err == nil && stream.CachedInfo().State.LastSeq == n
	}
	c.Eventually("both are dead letters", func() bool { return stored(2) })
	ctx := launch(t)
	count := func(n int) step { return holds(fmt.Sprintf(`document.querySelectorAll(".card").length === %d`, n)) }
	// The button of a question has the focus when the page is first drawn.
	asked := func(question string) step {
		return holds(`document.activeElement.matches("button[autofocus]") && document.querySelector("h1").textContent === ` + quote(question))
	}
	do(
		t, ctx, navigate(c.base+"/deadletters"), count(2),
		press("jx"), holds(`document.querySelectorAll(":checked").length === 1`),
		click(`[value="delete"]`), asked("Delete 1 dead letter for good?"), press(kb.Enter), text(".notice", "Deleted 1 dead letter."), count(1),
		press("j"+kb.Enter), text("h1", "Dead letter "), text("pre", markup), holds(`!document.querySelector("main img")`),
		click(`[value="replay"]`), asked("Replay 1 dead letter?"), press(kb.Enter), text(".notice", "Replayed 1 dead letter."),
	)
	c.Eventually("it has failed again", func() bool { return stored(3) })
	do(t, ctx, navigate(c.base+"/deadletters"), count(1))
}

func TestAScreenShowsTwentyFiveTurns(t *testing.T) {
	s, ctx := consoletest.NewSystem(t), launch(t)
	for i := range 40 {
		s.Keep(consoletest.Begin(fmt.Sprint("telegram-", 40988+i%7), fmt.Sprint("run-", i), strings.Repeat("is it safe to merge this now, or later? ", 1+i%5), time.Now().Add(-time.Duration(i)*time.Minute), consoletest.Result("AGENT_ADMINISTRATION", 0.9)))
	}
	base := serve(t, "", nil, s)
	look(t, ctx, 1280, 860, false, "light")
	do(t, ctx, navigate(base+"/turns"), holds(`document.querySelectorAll(".card").length === 30`))
	require.GreaterOrEqual(t, eval[float64](t, ctx, `[...document.querySelectorAll(".card")].filter((card) => card.getBoundingClientRect().bottom <= innerHeight).length`), 25.0)
	// The chosen one shows its whole message.
	whole := holds(`(() => { const panel = document.querySelector(".card:nth-child(5) .panel"), box = panel.getBoundingClientRect(), words = panel.querySelector(".words");
		return box.left > document.querySelector(".dense").getBoundingClientRect().right && box.bottom < innerHeight && words.scrollWidth <= words.clientWidth && words.textContent.length > 150; })()`)
	do(t, ctx, press("jjjjj"), whole)
	// A click on a row chooses it, and moves nothing.
	const seventh = `document.querySelector(".card:nth-child(7)").getBoundingClientRect().top`
	before := eval[float64](t, ctx, seventh)
	do(t, ctx, click(`.card:nth-child(7) .said`), holds(`document.activeElement.matches(".card:nth-child(7)") && document.querySelector(".card:nth-child(7) .panel").offsetHeight > 0 && document.querySelector(".card:nth-child(5) .panel").offsetHeight === 0`))
	require.InDelta(t, before, eval[float64](t, ctx, seventh), 0.5)
}

func TestTheHeaderIsTheSameOnEveryPage(t *testing.T) {
	memory := new(consoletest.Memory)
	five(memory)
	base, ctx := serve(t, "", memory, aWeek(t)), launch(t)
	look(t, ctx, 1280, 900, false, "light")
	const places = `JSON.stringify([...document.querySelectorAll(".top a")].map((a) => [a.textContent, Math.round(a.getBoundingClientRect().left - document.querySelector(".row").getBoundingClientRect().left), Math.round(a.getBoundingClientRect().top), a.offsetHeight]))`
	// The chosen one is bold, which makes it wider; that is no other row.
	const plain = `document.querySelector(".top [aria-current]")?.removeAttribute("aria-current") === undefined`
	do(t, ctx, navigate(base+"/"), holds(plain))
	want := eval[string](t, ctx, places)
	for _, path := range []string{"/turns", "/sessions", "/sessions/garden", "/intents", "/triage", "/decisions", "/experiences", "/deadletters"} {
		do(t, ctx, navigate(base+path), holds(plain))
		require.Equal(t, want, eval[string](t, ctx, places), path)
	}
	require.Equal(t, 1.0, eval[float64](t, ctx, `new Set([...document.querySelectorAll(".top nav a")].map((a) => a.getBoundingClientRect().top)).size`))
	// Where the tabs wrap, their words stand in line with the name.
	look(t, ctx, 640, 900, false, "light")
	do(t, ctx, navigate(base+"/turns"))
	require.True(t, eval[bool](t, ctx, `(() => {
		const first = document.querySelector(".top nav a");
		return Math.abs(first.getBoundingClientRect().left + parseFloat(getComputedStyle(first).paddingLeft) - document.querySelector(".name").getBoundingClientRect().left) < 1;
	})()`))
}
