package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// maxDecisions bounds the response to typed questions, in bytes: as many as a request
// may have, with a figure for each of their labels.
const maxDecisions = 8 << 20

// Decider is one model of a provider that speaks [APISystemOne].
type Decider struct {
	client *client
	url    string
	model  string
	// Ref is provider/model.
	Ref string
}

// Decider returns the decision model of a reference, nil if its provider does not
// speak [APISystemOne]. It opens no connection. Errors are [ErrUnresolved].
func (r *Registry) Decider(ref string) (*Decider, error) {
	c, model, err := r.find(ref)
	switch {
	case err != nil:
		return nil, err
	case c.api != APISystemOne:
		return nil, nil //nolint:nilnil // it is another kind of model
	case c.err != nil:
		return nil, c.err
	}
	wide := *c.client
	wide.limit = maxDecisions
	return &Decider{client: &wide, url: c.baseURL + "/v1/systemone", model: model, Ref: c.name + "/" + model}, nil
}

// Decisions are typed questions about a state, as JSON of the wire (contract §15).
type Decisions struct {
	State     json.RawMessage
	Questions json.RawMessage
}

// systemOneRequest is the request of the wire.
type systemOneRequest struct {
	Model     string          `json:"model"`
	State     json.RawMessage `json:"state"`
	Questions json.RawMessage `json:"questions"`
}

// Decide asks once, without retries, and returns the answers by question, as JSON of
// the wire. It returns when ctx is done.
func (d *Decider) Decide(ctx context.Context, q Decisions) (answers json.RawMessage, usage Usage, err error) {
	resp, err := d.client.post(ctx, d.url, systemOneRequest{d.model, q.State, q.Questions})
	if err != nil {
		return nil, Usage{}, plain(ctx, err)
	}
	usage = Usage{InputTokens: count(resp, "usage.input_tokens"), OutputTokens: count(resp, "usage.output_tokens")}
	found := resp.Get("answers")
	if !found.IsObject() {
		return nil, usage, fmt.Errorf("%w: no answers", ErrMalformed)
	}
	return json.RawMessage(found.Raw), usage, nil
}

// Abstains reports whether an error of [Decider.Decide] is the wire's way to say "I do
// not know": the form was right, and there is no answer.
func (e *StatusError) Abstains() bool { return e.Code == http.StatusUnprocessableEntity }
