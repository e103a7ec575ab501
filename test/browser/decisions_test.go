//go:build browser

package browser

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"intenthint/console/consoletest"
	"intenthint/decide"
)

// Rubrics of these tests.
const (
	needsTool = "9c1e44a0b7d2"
	reworded  = "07d3c5518efa"
	topic     = "e52b90fa6c13"
)

// answers are decisions about three questions, in a week.
func answers() *consoletest.Answers {
	a := new(consoletest.Answers)
	a.Ask(needsTool, "needs-tool-9c1e", `{"type":"noul","instructions":"Does the last message need a tool, such as the shell, files or the web?"}`)
	a.Ask(reworded, "needs-tool-07d3", `{"type":"noul","instructions":"Is a tool needed?"}`)
	a.Ask(topic, "topic-e52b", `{"type":"choice","instructions":"What is it about?","criteria":{"refund":"the customer wants money back","lost_card":"a card was lost or stolen","exchange_rate":"rates between currencies","other":null}}`)
	texts := []string{"look up when the museum opens on Sunday", "thanks, that was it", "rename the photos in the folder by their date", "how are you today?"}
	for i := range 160 {
		source, said, answer, other := decide.Model, texts[i%4], "true", "false"
		if i%2 == 1 {
			answer, other = other, answer
		}
		if i < 110 && i%5 != 0 {
			source = decide.Local
		}
		id := a.Decide(needsTool, i, source, said, answer, other, 0.97, time.Duration(i*i)*20*time.Second)
		a.Change(id, func(e *decide.Entry) {
			if i > 20 && i%9 == 0 {
				e.Mark = &decide.Mark{ID: id, Label: answer}
			}
		})
		a.Learn(needsTool, decide.Record{ID: id, Teacher: answer, Silent: &decide.Silent{Answer: answer, Probability: 0.97}, At: int64(1000 - i)})
	}
	a.Stand(needsTool, decide.Standing{Threshold: 0.941, Since: 1})
	a.Decide(reworded, 1, decide.Model, "what is in the inbox?", "true", "false", 0.9, 6*24*time.Hour)
	for i, said := range []string{"I want my money back for the second ticket", markup} {
		id := a.Decide(topic, i, decide.Zero, said, "refund", "other", 0.71, time.Duration(i+1)*time.Hour)
		a.Change(id, func(e *decide.Entry) {
			e.Type, e.Probabilities["lost_card"], e.Probabilities["exchange_rate"] = decide.Choice, 0, 0
		})
	}
	return a
}

func TestDecisionsAreMarkedByKeyboard(t *testing.T) {
	s := consoletest.NewSystem(t)
	s.Answers = answers()
	base, ctx := serve(t, "", nil, s), launch(t)
	at := func(n int) step {
		return holds(fmt.Sprintf(`document.activeElement.matches(".card:nth-child(%d)")`, n))
	}
	do(
		t, ctx, navigate(base+"/decisions"), text("tbody tr:first-child", "needs-tool-9c1e"), text("tbody tr:first-child", "alone from 0.94"),
		click(`tbody tr:first-child a`), text("h1", "needs-tool-9c1e"), holds(`document.querySelectorAll(".plot rect.one").length > 2 && document.querySelectorAll(".plot rect.two").length > 2`),
		press("j"), at(1), press("r"), text("#notice", "Marked right"), text(".card:first-child .mark", "right"), at(2),
		press("w"), text("#notice", "Marked wrong, right is true"), text(".card:nth-child(2) .mark", "wrong: true"), at(3),
		click(`.tabs a[href*="list=random"]`), holds(`location.search.includes("list=random")`),
		press("j"), at(1), press("r"), text("#notice", "Marked right"), text("h1", "needs-tool"),
	)
	// A choice wants the right label, by typing its beginning.
	first := fmt.Sprintf("%s-%04d", topic, 0)
	do(
		t, ctx, navigate(base+"/decisions/"+topic), holds(`!document.querySelector("main img") && document.title !== "owned"`),
		press("j"), at(1), press("w"), holds(`document.activeElement.matches("[name=label]")`),
	)
	require.Nil(t, s.Answers.Entry(first).Mark)
	do(t, ctx, press("lost"+kb.Enter), text("#notice", "right is lost_card"), at(2))
	require.Equal(t, "lost_card", s.Answers.Entry(first).Mark.Label)
	do(t, ctx, press("i"), press("exch"+kb.Escape), at(2), press("w"), text("#notice", "right is exchange_rate"))

	// The words changed.
	do(
		t, ctx, navigate(base+"/decisions/"+needsTool), click(".same summary"),
		holds(`(document.querySelector("[name=earlier]").value = `+quote(reworded)+`, true)`), click(".same button"),
		text("#notice", "also learns from "+reworded), text(".facts", "continues "+reworded),
	)
}

func TestDecisionsAreMarkedWithoutScript(t *testing.T) {
	s := consoletest.NewSystem(t)
	s.Answers = answers()
	ctx := launch(t)
	_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	require.NoError(t, err)
	do(
		t, ctx, navigate(serve(t, "", nil, s)+"/decisions/"+needsTool),
		click(`.card:nth-child(2) button[name="wrong"]`), text(".notice", "Marked wrong"), text(".card:nth-child(2) .mark", "wrong: true"),
		click(`.card:nth-child(2) button[name="right"]`), text(".notice", "Marked right"), text(".card:nth-child(2) .mark", "right"),
	)
}
