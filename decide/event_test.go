package decide

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/payload"
	"intenthint/subjects"
)

func TestDecodeDecided(t *testing.T) {
	rubric := Fingerprint(question(t, aNoul), nil)
	sent := &Decided{ID: newID(rubric), Agent: "main", Rubric: rubric, Type: "noul", Answer: "true", Probabilities: map[string]float64{"true": 0.9, "false": 0.1}, Source: Model}
	msg, err := sent.encode("openclaw", time.UnixMilli(1763680000000))
	require.NoError(t, err)
	require.Equal(t, sent.ID, msg.Header.Get(subjects.HeaderMsgID))
	got, err := DecodeDecided(sent.ID, msg.Data)
	require.NoError(t, err)
	require.EqualValues(t, 1763680000000, got.TS)
	got.TS = 0
	require.Equal(t, *sent, got)

	var env map[string]any
	require.NoError(t, json.Unmarshal(msg.Data, &env))
	for name, change := range map[string]func(){
		"no object":      func() { env["event"] = "text" },
		"another type":   func() { env["event"] = map[string]any{"id": 5} },
		"another hook":   func() { env["hook"] = subjects.HookAgentEnd },
		"no such hook":   func() { env["hook"] = "" },
		"a time of text": func() { env["ts"] = "now" },
	} {
		t.Run(name, func(t *testing.T) {
			env = nil
			require.NoError(t, json.Unmarshal(msg.Data, &env))
			change()
			data, err := json.Marshal(env)
			require.NoError(t, err)
			_, err = DecodeDecided(sent.ID, data)
			require.ErrorIs(t, err, payload.ErrInvalid)
		})
	}
	_, err = DecodeDecided(sent.ID, []byte("{"))
	require.ErrorIs(t, err, payload.ErrInvalid)
}
