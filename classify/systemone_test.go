package classify_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/classify"
	"intenthint/intents"
	"intenthint/model"
	"intenthint/model/provider"
	"intenthint/payload"
)

// decider gives one answer, after a time.
type decider struct {
	answers string
	err     error
	after   time.Duration
	asked   provider.Decisions
}

func (d *decider) Decide(ctx context.Context, q provider.Decisions) (json.RawMessage, provider.Usage, error) {
	d.asked = q
	select {
	case <-time.After(d.after):
	case <-ctx.Done():
		return nil, provider.Usage{}, ctx.Err()
	}
	return json.RawMessage(d.answers), provider.Usage{InputTokens: 7}, d.err
}

// next is the model after it.
type next struct{ err error }

func (n next) Classify(context.Context, classify.Input) (payload.Classification, error) {
	return payload.Classification{Intent: "NEXT", ModelCalls: 1}, n.err
}

func TestSystemOne(t *testing.T) {
	t.Parallel()
	catalog := intents.NewCatalog([]intents.Intent{{ID: "A", Name: "A name", Triggers: []string{"one", "two"}}, {ID: "B", Name: "B name", Triggers: []string{"b"}}})
	const good = `{"intent":{"choice":"A","probabilities":{"A":0.75,"B":0.25}},"complexity":{"choice":"low","probabilities":{"low":1}}}`
	for _, row := range []struct {
		name, answers string
		err           error
		after         time.Duration
		want          string // "" for the next model
	}{
		{"an answer", good, nil, 0, "A"},
		{"nothing fits", `{"intent":{"choice":"OTHER","probabilities":{"OTHER":0.75}},"complexity":{"choice":"high"}}`, nil, 0, "OTHER"},
		{"an unknown intent", `{"intent":{"choice":"C","probabilities":{"C":1}},"complexity":{"choice":"low"}}`, nil, 0, ""},
		{"no probability", `{"intent":{"choice":"A"},"complexity":{"choice":"low"}}`, nil, 0, ""},
		{"too likely", `{"intent":{"choice":"A","probabilities":{"A":1.5}},"complexity":{"choice":"low"}}`, nil, 0, ""},
		{"no complexity", `{"intent":{"choice":"A","probabilities":{"A":1}}}`, nil, 0, ""},
		{"it fails", "", errors.New("down"), 0, ""},
		{"it is slow", good, nil, time.Minute, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			client := &decider{answers: row.answers, err: row.err, after: row.after}
			s := classify.SystemOne{Decider: model.NewDecider("one/m", client, model.Options{}), Next: next{}}
			in := classify.Input{Catalog: catalog, Latest: "do it", Conversation: []payload.Turn{{Role: payload.RoleUser, Text: "before"}}}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			if row.after > 0 {
				ctx, cancel = context.WithTimeout(t.Context(), 500*time.Millisecond)
			}
			defer cancel()
			got, err := s.Classify(ctx, in)
			require.NoError(t, err)
			if row.want == "" {
				require.Equal(t, []any{"NEXT", 2}, []any{got.Intent, got.ModelCalls})
				s.Next = next{classify.ErrFailed}
				if row.after == 0 {
					_, err = s.Classify(ctx, in)
					require.ErrorIs(t, err, classify.ErrFailed)
				}
				return
			}
			require.Equal(t, []any{row.want, 0.75, payload.SourceSystemOne, "one/m", 1, &payload.Tokens{In: 7}},
				[]any{got.Intent, got.Confidence, got.Source, got.Model, got.ModelCalls, got.Tokens})
			require.JSONEq(t, `{"latest":"do it","conversation":[{"role":"user","text":"before"}]}`, string(client.asked.State))
			require.Contains(t, string(client.asked.Questions), `"A":"A name: one; two"`)
		})
	}
}
