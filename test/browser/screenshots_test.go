//go:build browser

package browser

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"intenthint/console/consoletest"
)

// quote makes a string of JavaScript.
func quote(s string) string {
	out, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always can be
	}
	return string(out)
}

// TestScreenshots takes pictures of the pages for people to look at, and checks
// that none is wider than its window.
func TestScreenshots(t *testing.T) {
	dir := screenshots(t)
	ctx := launch(t)
	for _, size := range []struct {
		name          string
		width, height int64
		phone         bool
	}{{"desktop", 1280, 860, false}, {"phone", 390, 844, true}} {
		for _, scheme := range []string{"light", "dark"} {
			memory := new(consoletest.Memory)
			ids := five(memory)
			base := serve(t, "", memory, aWeek(t))
			locked := serve(t, "open sesame", memory)
			for _, shot := range []struct {
				name string
				do   []step
			}{
				{"overview", []step{navigate(base)}},
				{"turns", []step{navigate(base + "/turns"), press("jj"), holds(`document.activeElement.matches(".card")`)}},
				{"judged", []step{navigate(base + "/turns?below=0.8"), press("j"), press("w"), text("#notice", "Marked wrong")}},
				{"sessions", []step{navigate(base + "/sessions")}},
				{"session", []step{navigate(base + "/sessions/garden"), holds(`document.querySelectorAll(".calls details").forEach((d) => { d.open = true; }) === undefined`)}},
				{"session-code", []step{navigate(base + "/sessions/review")}},
				{"intents", []step{navigate(base + "/intents"), holds(`document.querySelector("svg rect")`)}},
				{"triage", []step{navigate(base + "/triage"), press("jw"), text("#notice", "Marked")}},
				{"decisions", []step{navigate(base + "/decisions")}},
				{"rubric", []step{navigate(base + "/decisions/" + needsTool), press("jr"), text("#notice", "Marked")}},
				{"choice", []step{navigate(base + "/decisions/" + topic)}},
				{"letters", []step{navigate(base + "/deadletters"), press("jx"), holds(`document.querySelector(":checked")`)}},
				{"letter", []step{navigate(base + "/deadletters/1")}},
				{"confirm", []step{navigate(base + "/deadletters/1"), click(`[value="delete"]`), text("h1", "for good")}},
				{"review", []step{navigate(base + "/experiences"), press("j"), focused(ids[0])}},
				{"decided", []step{navigate(base + "/experiences"), press("ja"), gone(ids[0]), focused(ids[1]), press("x"), text(".count", "1 selected")}},
				{"help", []step{navigate(base + "/experiences"), press("?"), holds(`document.querySelector("#help").open`)}},
				{"approved", []step{navigate(base + "/experiences?status=approved"), holds(`document.querySelector(".card")`)}},
				{"one", []step{navigate(base + "/experiences/" + ids[2])}},
				{"empty", []step{navigate(base + "/experiences?q=nowhere")}},
				{"sign-in", []step{navigate(locked), holds(`document.activeElement.name === "token"`)}},
			} {
				look(t, ctx, size.width, size.height, size.phone, scheme)
				do(t, ctx, shot.do...)
				wide := eval[bool](t, ctx, `document.documentElement.scrollWidth > innerWidth`)
				picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
				require.NoError(t, err)
				name := shot.name + "-" + size.name + "-" + scheme
				require.False(t, wide, "%s scrolls sideways", name)
				require.NoError(t, os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o600))
			}
		}
	}
}

// look sets the window and the colours that the person likes.
func look(t *testing.T, ctx context.Context, width, height int64, phone bool, scheme string) { //nolint:revive // the test comes first
	t.Helper()
	_, err := chromedp.Call(ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: width, Height: height, DeviceScaleFactor: 1, Mobile: phone,
	})
	require.NoError(t, err)
	_, err = chromedp.Call(ctx, emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: phone})
	require.NoError(t, err)
	_, err = chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	require.NoError(t, err)
}
