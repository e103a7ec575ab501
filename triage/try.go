package triage

import (
	"context"
	"time"

	"intenthint/model"
	"intenthint/model/provider"
	"intenthint/part"
	"intenthint/triage/state"
)

// Trial is a decision about a message, with what led to it.
type Trial struct {
	Verdict
	// Question is the question to a model that answers prompts, nil if none was asked.
	Question *provider.Request
	// Answer is the model's answer, Model its name as provider/model; both are ""
	// without an answer.
	Answer, Model string
	// Tokens are the tokens of all calls, including those without an answer.
	Tokens state.Tokens
}

// Try decides about a message without storing anything. before are the messages
// of the group before it, oldest first ([state.Store.Recent]); marks are
// people's marks, newest first ([state.Store.Marks]). An error comes from the
// model; the verdict is then to respond.
func (s *Settings) Try(ctx context.Context, m Message, before []state.RecentMessage, marks []state.Mark) (t Trial, err error) {
	for _, rule := range []func() (Verdict, bool){
		func() (Verdict, bool) { return s.Outside(m) },
		func() (Verdict, bool) { return s.ByText(m) },
		func() (Verdict, bool) { return byReply(m, before) },
		func() (Verdict, bool) { return s.ByRate(m, before) },
		func() (Verdict, bool) { return s.byLocal(m, before) },
	} {
		if v, ok := rule(); ok {
			return Trial{Verdict: v}, nil
		}
	}
	if s.Asked == (part.Asked{}) {
		return Trial{Verdict: Verdict{Reason: ByModel}}, nil
	}
	return s.ask(ctx, m, before, marks)
}

// reading is a model's answer, and the verdict in it.
type reading struct {
	verdict Verdict
	text    string
}

// ask asks the model.
func (s *Settings) ask(ctx context.Context, m Message, before []state.RecentMessage, marks []state.Mark) (t Trial, err error) {
	ask := func(ctx context.Context) (model.Answer[reading], error) { return s.askTyped(ctx, m, before, marks) }
	if s.Asked.Decider == nil {
		question := s.Question(m, before, marks)
		t.Question = &question
		ask = func(ctx context.Context) (model.Answer[reading], error) {
			return model.Ask(ctx, s.Asked.Chain, model.Question[reading]{
				Request: question,
				Parse:   func(answer string) (reading, error) { return reading{s.Answer(answer), answer}, nil },
			})
		}
	}
	ctx, use := model.CountUse(ctx)
	answer, err := model.Start(ctx, s.Limit, 1, ask)()
	_, _, usage := use.Total()
	t.Verdict, t.Answer, t.Model = answer.Value.verdict, answer.Value.text, answer.Ref
	t.Tokens = state.Tokens{In: usage.InputTokens, Out: usage.OutputTokens}
	if err != nil {
		t.Verdict = Verdict{Reason: Failed}
	}
	return t, err
}

// byLocal returns the verdict of the trained gate; ok is false if it is not
// sure, or if there is no trained gate.
func (s *Settings) byLocal(m Message, before []state.RecentMessage) (v Verdict, ok bool) {
	if s.Local == nil {
		return Verdict{}, false
	}
	in := LocalInput{Text: m.Text, Sender: m.Sender, Group: m.Group, At: m.At}
	if names := s.names(m); len(names) > 0 {
		in.BotName = names[0]
	}
	for _, said := range earlier(before, state.MaxTexts) {
		in.Recent = append(in.Recent, Earlier{Sender: said.Sender, Text: said.Text, At: time.UnixMilli(said.At), Bot: said.Bot, Answered: said.Answered})
	}
	respond, sure := s.Local.Judge(in)
	return Verdict{Skip: !respond, Reason: ByLocal}, sure
}
