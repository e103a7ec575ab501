package main

import (
	"bytes"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOpenPrintsALinkThatSignsIn(t *testing.T) {
	s := start(t, map[string]string{"HINT_AUTH": "on", "HINT_HTTP_ADDR": "127.0.0.1:0"})
	var stdout, stderr bytes.Buffer
	require.Zero(t, s.env.run(t.Context(), []string{"open"}, &stdout, &stderr), stderr.String())
	link := strings.TrimSpace(stdout.String())
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	r, err := (&http.Client{Jar: jar}).Get(link)
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
	require.Equal(t, http.StatusOK, r.StatusCode)
	require.Equal(t, "/", r.Request.URL.RequestURI())

	// The browser of this machine, as the desktop starts it.
	desktop, opened := t.TempDir(), filepath.Join(t.TempDir(), "opened")
	script := "#!/bin/sh\nprintf %s \"$1\" > " + opened + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(desktop, "xdg-open"), []byte(script), 0o700)) //nolint:gosec // a program of the test
	t.Setenv("PATH", desktop)
	require.NoError(t, openBrowser(t.Context(), "linux", link))
	got, err := os.ReadFile(opened)
	require.NoError(t, err)
	require.Equal(t, link, string(got))

	require.NoError(t, s.Stop())
	stdout.Reset()
	require.Equal(t, exitFailed, s.env.run(t.Context(), []string{"open"}, &stdout, &stderr))
	require.Contains(t, stderr.String(), errNoPages.Error())
	require.Empty(t, stdout.String())
}

func TestOpenWithoutATokenIsTheAddress(t *testing.T) {
	t.Parallel()
	s := start(t, map[string]string{"HINT_HTTP_ADDR": "127.0.0.1:0"})
	var stdout, stderr bytes.Buffer
	require.Zero(t, s.env.run(t.Context(), []string{"open"}, &stdout, &stderr), stderr.String())
	require.Regexp(t, `^http://127\.0\.0\.1:\d+/\n$`, stdout.String())
}
