package payload_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"intenthint/payload"
)

func TestDecodeHeldMessages(t *testing.T) {
	for name, c := range map[string]struct {
		ctx  string
		want map[string]bool
	}{
		"a list":             {`{"heldMessageIds":["5","session:c9"]}`, map[string]bool{"5": true, "session:c9": true}},
		"none":               {`{"runId":"r"}`, map[string]bool{}},
		"other values in it": {`{"heldMessageIds":["5",7,null,{}]}`, map[string]bool{"5": true}},
		"a number":           {`{"heldMessageIds":7}`, map[string]bool{}},
		"a text":             {`{"heldMessageIds":"5"}`, map[string]bool{}},
		"null":               {`{"heldMessageIds":null}`, map[string]bool{}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, payload.DecodeHeldMessages(json.RawMessage(c.ctx)))
		})
	}
}
