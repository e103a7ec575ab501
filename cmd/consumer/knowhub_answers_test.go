package main

import (
	"bytes"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"intenthint/app"
	"intenthint/internal/bus"
	"intenthint/internal/natstest"
	"intenthint/subjects"
)

// An answer that cannot be used is a failure, not an empty list.
func TestKnowHubSearchOfUnusableAnswers(t *testing.T) {
	t.Parallel()
	ns := natstest.Start(t, nil)
	env := settle(t, map[string]string{"HINT_NATS_URL": ns.ClientURL(), "HINT_KNOWHUB": `{"enabled": true}`})
	js := natstest.JetStream(t, ns)
	_, err := bus.Provision(t.Context(), js, app.Layout(env.config(t)))
	require.NoError(t, err)
	for name, row := range map[string]struct {
		answer func(m *nats.Msg)
		want   string
	}{
		"no JSON":     {func(m *nats.Msg) { m.Data = []byte("oops") }, "search: "},
		"other JSON":  {func(m *nats.Msg) { m.Data = []byte(`{"experiences": 5}`) }, "search: "},
		"an error":    {func(m *nats.Msg) { m.Header = nats.Header{subjects.HeaderError: {"index is being made"}} }, "index is being made"},
		"a whole one": {func(m *nats.Msg) { m.Data = []byte(`{"experiences": []}`) }, ""},
	} {
		sub, err := js.Conn().Subscribe(subjects.Prefix("openclaw").KnowHub("search"), func(m *nats.Msg) {
			reply := nats.NewMsg(m.Reply)
			row.answer(reply)
			_ = m.RespondMsg(reply)
		})
		require.NoError(t, err)
		require.NoError(t, js.Conn().Flush())
		var stdout, stderr bytes.Buffer
		code := env.run(t.Context(), []string{"knowhub", "search", "--json", "shop"}, &stdout, &stderr)
		if row.want == "" {
			require.Equal(t, exitOK, code, "%s: %s", name, stderr.String())
			require.Equal(t, "[]\n", stdout.String(), name)
		} else {
			require.Equal(t, exitFailed, code, name)
			require.Empty(t, stdout.String(), name)
			require.Contains(t, stderr.String(), row.want, name)
		}
		require.NoError(t, sub.Unsubscribe())
	}
}
