package knowhub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"intenthint/knowhub/experience"
	"intenthint/knowhub/extract"
	"intenthint/model"
	"intenthint/model/provider"
	"intenthint/payload"
)

// Extraction is the input of [Service.Extract].
type Extraction struct {
	// Messages are the messages of a session, as the gateway sends them.
	Messages    json.RawMessage `json:"messages"`
	AgentID     string          `json:"agent_id"`
	SubmittedBy string          `json:"submitted_by"`
	SessionKey  string          `json:"session_key"`
}

// errNoModel reports settings without an extraction model.
var errNoModel = errors.New("no model is configured, neither in HINT_KNOWHUB nor in HINT_MODEL")

// Extract asks the model for experiences, and stores and returns those with
// enough confidence, each once, including known ones that are not rejected. An answer
// without experiences in the form asked for is asked for once more, and is then none.
// Errors are [ErrRequest] and [ErrUnavailable].
func (s *Service) Extract(ctx context.Context, in Extraction) ([]experience.Experience, error) {
	messages, err := messagesOf(in.Messages)
	if err != nil {
		return nil, err
	}
	return s.extract(ctx, in, messages)
}

// extract is Extract with the messages decoded.
func (s *Service) extract(ctx context.Context, in Extraction, messages []payload.Message) ([]experience.Experience, error) {
	if s.Settings().Chain == nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, errNoModel)
	}
	request, ok := s.question(messages)
	if !ok {
		return nil, nil
	}
	return s.ask(ctx, in, request)
}

// question returns what the model is asked about messages, if anything.
func (s *Service) question(messages []payload.Message) (request provider.Request, ok bool) {
	set := s.Settings()
	return extract.Question(messages, extract.Options{Relaxed: !set.Strict, IPs: set.Strict && set.IPs})
}

// ask asks the model, and stores and returns the experiences in its answer.
func (s *Service) ask(ctx context.Context, in Extraction, request provider.Request) ([]experience.Experience, error) {
	set := s.Settings()
	if set.Chain == nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, errNoModel)
	}
	if !s.promises(ctx, set, request) {
		s.Metrics.extracted.WithLabelValues(outcomeNone).Inc()
		return nil, nil
	}
	answer, err := model.Start(ctx, set.Limit, 1, func(ctx context.Context) (model.Answer[[]extract.Candidate], error) {
		question := model.Question[[]extract.Candidate]{Request: request, Parse: extract.Parse}
		answer, err := model.Ask(ctx, set.Chain, question)
		if errors.Is(err, model.ErrUnparsable) {
			return model.Ask(ctx, set.Chain, question)
		}
		return answer, err
	})()
	if errors.Is(err, model.ErrUnparsable) {
		// Prose again: the model has nothing to say that it could be asked for.
		s.Metrics.extracted.WithLabelValues(outcomeUnusable).Inc()
		return nil, nil
	}
	if err != nil {
		s.Metrics.extracted.WithLabelValues(outcomeAskFailed).Inc()
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	var kept []experience.Experience
	for _, c := range answer.Value {
		e, ok, err := s.take(ctx, set, in, c)
		if err != nil {
			return kept, err
		}
		if at := slices.IndexFunc(kept, func(k experience.Experience) bool { return k.ID == e.ID }); ok && at >= 0 {
			kept[at] = e
		} else if ok {
			kept = append(kept, e)
		}
	}
	return kept, nil
}

// worth is the question to the gate.
var worth = model.Boolean{
	Instructions: "Does the conversation hold an experience that an agent can use again another day?",
	Yes:          "A piece of work has an outcome in it, and something about it is worth knowing: what worked or did not, and why. Also if in doubt.",
	No:           "It holds only what was planned, guessed or promised, a state that passes, greetings and small talk, or what everybody knows.",
}

// likely is the probability of an experience from which on the model is asked for it.
const likely = 0.5

// promises reports whether a conversation may hold an experience, by the gate. Without
// one, and where it fails, it may.
func (s *Service) promises(ctx context.Context, set *Settings, request provider.Request) bool {
	if set.Gate == nil {
		return true
	}
	answer, err := model.Start(ctx, set.Limit, 1, func(ctx context.Context) (model.Answer[float64], error) {
		return set.Gate.Ask(ctx, request.User, worth)
	})()
	if err != nil {
		s.Log.Debug("no answer of the gate of extraction", "error", err)
	}
	return err != nil || answer.Value >= likely
}

// take stores a candidate; ok is false if it is not an experience, or one that a
// person has rejected.
func (s *Service) take(ctx context.Context, set *Settings, in Extraction, c extract.Candidate) (e experience.Experience, ok bool, err error) {
	if reason, ok := extract.Keep(c, set.MinConfidence); !ok {
		outcome := outcomeUnusable
		if reason == extract.Unsure {
			outcome = outcomeUnsure
		}
		s.Metrics.extracted.WithLabelValues(outcome).Inc()
		return e, false, nil
	}
	e = s.prepared(set, experience.Experience{
		Task: c.Task, Resource: c.Resource, Result: c.Result, Confidence: c.Confidence,
		AgentID: in.AgentID, SubmittedBy: cmp.Or(strings.TrimSpace(in.SubmittedBy), set.SubmittedBy), SessionKey: in.SessionKey,
	})
	known, corrects, err := s.near(ctx, set, e)
	if err != nil {
		return e, false, err
	}
	created := false
	merged := false
	if known != nil {
		var out experience.Experience
		out, err = s.merge(ctx, known.ID, e)
		if merged = !errors.Is(err, ErrUnknown); merged {
			e = out
		} // else it was replaced meanwhile, and the index does not know yet
	}
	if !merged {
		if corrects {
			e.Status = experience.Pending
		}
		e, created, err = s.keep(ctx, e, otherSession(e))
	}
	switch {
	case errors.Is(err, ErrInvalid):
		s.Metrics.extracted.WithLabelValues(outcomeUnusable).Inc()
		return e, false, nil
	case err != nil:
		return e, false, err
	case created:
		s.Metrics.extracted.WithLabelValues(outcomeNew).Inc()
	default:
		s.Metrics.extracted.WithLabelValues(outcomeKnown).Inc()
	}
	return e, e.Status != experience.Rejected, nil
}

// otherSession returns a function that reports whether a known experience was
// seen again in e, an extracted and prepared one. The same session does not
// count: its turns are read several times.
func otherSession(e experience.Experience) func(known experience.Experience) bool {
	return func(known experience.Experience) bool { return known.SessionKey != e.SessionKey }
}

// near looks for an experience that says the same as e, which is prepared; if agents
// do not share experiences, only among those of the same agent. Without one, corrects
// reports that e is like a rejected one, in other words: a person decides about it.
// Without an index the error is [ErrUnavailable].
func (s *Service) near(ctx context.Context, set *Settings, e experience.Experience) (known *experience.Experience, corrects bool, err error) {
	hits, err := s.Copy.Near(ctx, e, !set.Shared)
	if err != nil {
		return nil, false, s.unavailable(ctx, "search", err)
	}
	for _, h := range hits {
		rejected := h.Status == experience.Rejected
		switch {
		case extract.Same(h.Experience, e) && (!rejected || !extract.Adds(e, h.Experience)):
			return &h.Experience, false, nil
		case rejected && extract.OutlineOf(h.Experience).Alike(extract.OutlineOf(e)):
			corrects = true
		}
	}
	return nil, corrects, nil
}

// merge adds a repeated experience to a known one. A better text takes the place of
// one that nobody has decided about, with an id of its own: whoever decides by the id
// of the old one has not read it.
func (s *Service) merge(ctx context.Context, id string, e experience.Experience) (experience.Experience, error) {
	var old *experience.Experience
	out, err := s.change(ctx, id, func(known experience.Experience) (experience.Experience, bool, error) {
		if old = nil; !otherSession(e)(known) {
			return known, false, nil
		}
		if known.ID != e.ID && extract.Improves(e, known) {
			old = &known
			return known, false, nil
		}
		known.Seen = max(known.Seen, 1) + 1
		return known, true, nil
	})
	if err != nil || old == nil {
		return out, err
	}
	e.Seen, e.Status, e.Flags = max(old.Seen, 1)+1, experience.Pending, old.Flags
	out, _, err = s.keep(ctx, e, func(experience.Experience) bool { return true })
	if err != nil || out.Status != experience.Pending {
		return out, err
	}
	err = s.Experiences.Remove(ctx, old.ID, func(known experience.Experience) bool { return known.Status == experience.Pending })
	if err != nil { // both stay, for a person to choose
		s.Log.Warn("replaced experience not removed", "id", old.ID, "error", err)
	}
	return out, nil
}

// messagesOf decodes messages, which must be a list.
func messagesOf(list json.RawMessage) ([]payload.Message, error) {
	if text := strings.TrimSpace(string(list)); text == "" || text[0] != '[' {
		return nil, fmt.Errorf("%w: messages must be a list", ErrRequest)
	}
	raw, err := json.Marshal(map[string]json.RawMessage{"messages": list})
	if err != nil {
		return nil, fmt.Errorf("%w: messages: %w", ErrRequest, err)
	}
	e, err := payload.DecodeAgentEnd(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	return e.Messages, nil
}
