package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/app/apptest"
	"intenthint/cmd/consumer/demo"
	"intenthint/store"
	"intenthint/store/file"
)

// demonstration is a `consumer demo` that runs.
type demonstration struct {
	t              *testing.T
	stdout, stderr apptest.Buffer
	end            context.CancelFunc
	code           chan int
}

// demonstrate runs the command until it serves.
func demonstrate(t *testing.T, env environment, args ...string) *demonstration {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	d := &demonstration{t: t, end: cancel, code: make(chan int, 1)}
	go func() { d.code <- env.run(ctx, append([]string{"demo"}, args...), &d.stdout, &d.stderr) }()
	t.Cleanup(cancel)
	require.Eventually(t, func() bool {
		select {
		case code := <-d.code:
			d.code <- code
			return true
		default:
			return strings.HasSuffix(d.stdout.String(), "\n")
		}
	}, 2*time.Minute, 10*time.Millisecond, "the link")
	require.NotEmpty(t, d.stdout.String(), d.stderr.String())
	return d
}

// directory returns the directory of the system.
func (d *demonstration) directory() string {
	found := regexp.MustCompile(`Directory: (\S+)`).FindStringSubmatch(d.stderr.String())
	require.NotNil(d.t, found, d.stderr.String())
	return found[1]
}

// stop ends the command as a signal does.
func (d *demonstration) stop() {
	d.end()
	require.Equal(d.t, exitOK, <-d.code, d.stderr.String())
}

func TestTheDemonstrationShowsADay(t *testing.T) {
	t.Parallel()
	// What would reach a system of somebody's or cost money is not used.
	d := demonstrate(t, settle(t, map[string]string{
		"HINT_AUTH": "on", "HINT_NATS_URL": "nats://127.0.0.1:1", "HINT_MODEL": "openai/gpt", "HINT_DATA_DIR": filepath.Join(t.TempDir(), "untouched"),
	}))
	dir := d.directory()
	require.DirExists(t, dir)
	link := strings.TrimSpace(d.stdout.String())
	require.Regexp(t, `^http://127\.0\.0\.1:\d+/sign-in\?token=\w+$`, link)
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	browser := &http.Client{Jar: jar}
	page := func(path string) string {
		base, _, _ := strings.Cut(link, "/sign-in")
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+path, nil)
		require.NoError(t, err)
		response, err := browser.Do(request)
		require.NoError(t, err)
		text, err := io.ReadAll(response.Body)
		require.NoError(t, errors.Join(err, response.Body.Close()))
		require.Equal(t, http.StatusOK, response.StatusCode, path)
		return string(text)
	}
	require.Contains(t, page(strings.TrimPrefix(link, link[:strings.Index(link, "/sign-in")])), "Newest turns")
	for path, want := range map[string][]string{
		"/":                            {"is it safe to merge 412 now?", "Everything that is on works."},
		"/turns?feedback=wrong":        {"IMAGE_GENERATION", "draw me a simple diagram"},
		"/turns?since=24h":             {"Übersetze mir das bitte", "写一个脚本"},
		"/turns?intent=FINANCE":        {"restaurants last month"},
		"/sessions":                    {"telegram-40210", "discord-210884"},
		"/sessions/telegram-40210":     {"calendar_update", "page did not load within 15 s"},
		"/intents":                     {"CODE_REVIEW"},
		"/triage":                      {"telegram:group:-1002201", "who is bringing the projector"},
		"/triage?decision=skip":        {"haha perfect"},
		"/experiences":                 {"Find out why the nightly build is red", "Looks like a prompt injection"},
		"/experiences?status=approved": {"Restart the worker on staging"},
		"/deadletters":                 {"it is in seconds", "not valid JSON"},
	} {
		text := page(path)
		for _, w := range want {
			require.Contains(t, text, w, path)
		}
	}
	require.NotContains(t, d.stderr.String(), `"level"`, "nothing to alarm people")
	d.stop()
	require.NoDirExists(t, dir)
	require.Equal(t, 1, strings.Count(d.stdout.String(), "\n"))
}

func TestADemonstrationIsKept(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "one")
	env := settle(t, nil)
	d := demonstrate(t, env, "--data", dir)
	require.Equal(t, dir, d.directory())
	d.stop()
	sessions := file.OpenReader(filepath.Join(dir, "sessions"), store.Options{})
	document, err := sessions.Get(t.Context(), "slack-U07PRIYA")
	require.NoError(t, err)
	require.NotNil(t, document)

	var stdout, stderr bytes.Buffer
	require.Equal(t, exitFailed, env.run(t.Context(), []string{"demo", "--data", dir}, &stdout, &stderr))
	require.Contains(t, stderr.String(), "not empty")
	require.Empty(t, stdout.String())
	require.FileExists(t, filepath.Join(dir, "sessions", "slack-U07PRIYA.json"), "what is not its own is left alone")

	kept := demonstrate(t, env, "--keep")
	kept.stop()
	require.DirExists(t, kept.directory())
	require.NoError(t, os.RemoveAll(kept.directory()))
}

func TestTheDayIsBelievable(t *testing.T) {
	t.Parallel()
	day, err := demo.Bundled()
	require.NoError(t, err)
	turns, tools, marks := 0, 0, 0
	for _, s := range day.Sessions {
		before := 24 * time.Hour
		for _, turn := range s.Turns {
			require.Less(t, turn.Ago, before, "%s: in order, in a day", turn.Text)
			require.NotEmpty(t, turn.Answer, turn.Text)
			before = turn.Ago
			turns++
			tools += len(turn.Tools)
			if turn.Mark != "" {
				marks++
			}
		}
	}
	require.Greater(t, turns, 35)
	require.Greater(t, tools, 25)
	require.Greater(t, marks, 15)
	require.Len(t, day.Letters, 3)
	require.Greater(t, len(day.Experiences), 7)
}
