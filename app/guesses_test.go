package app_test

import (
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/app/apptest"
)

var servedAPI = regexp.MustCompile(`serving the API of experiences.*?address"?[=:]"?(127\.0\.0\.1:\d+)`)

// Pages and the API of experiences have ports of their own and one bound of wrong tokens,
// which never locks out the right one.
func TestWrongTokensAreBoundedTogether(t *testing.T) {
	t.Parallel()
	s := apptest.Start(t, map[string]string{
		"HINT_HTTP_ADDR": "127.0.0.1:0", "HINT_HTTP_TOKEN": "the token", "HINT_KNOWHUB": `{"enabled":true,"listen":"127.0.0.1:0"}`,
	})
	found := servedAPI.FindStringSubmatch(s.Log.String())
	require.NotNil(t, found, s.Log.String())
	pages := app.HTTPAddresses(s.Config)[0]
	ask := func(url, token string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer func() { _ = res.Body.Close() }()
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res.StatusCode, string(body)
	}
	api := "http://" + found[1] + "/api/pending"
	for i := range 5 {
		code, _ := ask(api, "wrong "+strconv.Itoa(i))
		require.Equal(t, http.StatusUnauthorized, code)
	}
	code, body := ask(api, "wrong 5")
	require.Equal(t, http.StatusUnauthorized, code)
	require.Contains(t, body, "too many wrong tokens")
	_, body = ask(pages+"/turns", "wrong 6")
	require.Contains(t, strings.ToLower(body), "too many", "the pages know of the API's guesses")
	for _, url := range []string{api, pages + "/turns"} {
		code, body = ask(url, "the token")
		require.Equal(t, http.StatusOK, code, body)
	}
}
