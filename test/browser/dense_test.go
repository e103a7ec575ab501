//go:build browser

package browser

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"intenthint/console/consoletest"
	"intenthint/knowhub/experience"
	"intenthint/subjects"
)

// full returns a system with 40 rows on each list.
func full(t *testing.T) (*consoletest.System, *consoletest.Memory) {
	t.Helper()
	s, memory := consoletest.NewSystem(t), new(consoletest.Memory)
	js, layout := s.Letters()
	const text = "is it safe to merge this now, or is it better to wait until the migration has run on both servers?"
	for i := range 40 {
		ago := time.Duration(i) * 17 * time.Minute
		s.Keep(consoletest.Begin(fmt.Sprint("telegram-", 40988+i), "run", text, time.Now().Add(-ago), consoletest.Result("AGENT_ADMINISTRATION", 0.9)))
		s.Gate.Decide(consoletest.Message("agent:main:telegram:group:-1001847", i, "skip", text, ago))
		memory.Add(experience.Experience{Task: text, Resource: "r", Result: text, Confidence: 0.9, AgentID: "main", CreatedAt: time.Now().Add(-ago), SessionKey: fmt.Sprint("s", i)})
		m := nats.NewMsg(layout.Prefix.DeadLetter(subjects.HookAgentEnd))
		m.Data = []byte(`{}`)
		m.Header.Set(subjects.HeaderDLQReason, "invalid message: "+text)
		_, err := js.PublishMsg(t.Context(), m)
		require.NoError(t, err)
	}
	return s, memory
}

// Each list shows 25 rows, the details of the chosen one beside them, and another order
// by a click.
func TestAScreenShowsTwentyFiveRowsOfEachList(t *testing.T) {
	s, memory := full(t)
	base, ctx := serve(t, "", memory, s), launch(t)
	look(t, ctx, 1280, 860, false, "light")
	for _, path := range []string{"/turns", "/sessions", "/triage", "/experiences", "/deadletters"} {
		do(t, ctx, navigate(base+path), holds(`document.querySelectorAll(".dense .card").length >= 30`))
		require.GreaterOrEqual(t, eval[float64](t, ctx, `[...document.querySelectorAll(".card")].filter((card) => card.getBoundingClientRect().bottom <= innerHeight).length`), 25.0, path)
		do(t, ctx, press("jj"), holds(`(() => {
			const panel = document.activeElement.querySelector(".panel"), box = panel?.getBoundingClientRect();
			return panel && document.activeElement.matches(".card") && box.left >= document.querySelector(".dense .card").getBoundingClientRect().right && box.right <= innerWidth && box.bottom <= innerHeight && box.height > 60;
		})()`))
		require.Equal(t, 1.0, eval[float64](t, ctx, `[...document.querySelectorAll(".panel")].filter((panel) => panel.offsetHeight > 0).length`), path)
		require.Zero(t, eval[float64](t, ctx, `document.querySelectorAll(".dense .card select").length`), path)
		do(t, ctx, click(`.sort a:nth-child(2)`), holds(`/sort=/.test(location.search) && document.querySelector(".sort [aria-current]").textContent.includes("↑")`))
	}
	// On a phone the details stand in the row that one taps.
	look(t, ctx, 390, 844, true, "light")
	do(
		t, ctx, navigate(base+"/turns"), holds(`[...document.querySelectorAll(".panel")].every((panel) => panel.offsetHeight === 0)`),
		click(`.card:nth-child(2) .when a`), holds(`document.querySelector(".card:nth-child(2) .panel").offsetHeight > 60`),
		click(`.card:nth-child(2) [name="right"]`), text("#notice", "Marked right"),
	)
}
