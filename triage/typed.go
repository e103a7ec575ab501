package triage

import (
	"context"
	"math"
	"strconv"

	"intenthint/model"
	"intenthint/triage/state"
)

const (
	typedPrompt = "In a group chat in which an AI assistant takes part: should the assistant answer the message?"
	typedYes    = "It is addressed to the assistant, asks a question or for help that the assistant can give, or continues a conversation with it. Also if in doubt."
	typedNo     = "People talk among themselves, greet or thank each other, react, joke, or say what needs no answer of the assistant."
)

// likely is the probability from which on a message is answered.
const likely = 0.5

// askTyped asks a model that answers typed questions (contract §15). The probability
// that the message needs an answer takes the place of a word, and of the score.
func (s *Settings) askTyped(ctx context.Context, m Message, before []state.RecentMessage, marks []state.Mark) (out model.Answer[reading], err error) {
	about, question := s.typed(m, before, marks)
	answer, err := s.Asked.Decider.Ask(ctx, about, question)
	out = model.Answer[reading]{Ref: answer.Ref, Usage: answer.Usage}
	if err == nil {
		out.Value = reading{s.byProbability(answer.Value), strconv.FormatFloat(answer.Value, 'f', 2, 64)}
	}
	return out, err
}

// byProbability returns the verdict for a probability that a message needs an answer.
func (s *Settings) byProbability(p float64) Verdict {
	if !s.Scores {
		return Verdict{Skip: p < likely, Reason: ByModel}
	}
	score := minScore + int(math.Round(p*(maxScore-minScore)))
	return Verdict{Skip: score < s.Threshold, Reason: ByModel, Score: score}
}

// typedState is what the question is about.
type typedState struct {
	Message string      `json:"message"`
	From    string      `json:"from,omitempty"`
	Before  []typedLine `json:"recentConversation,omitempty"`
}

type typedLine struct {
	From string `json:"from"`
	Text string `json:"text"`
}

// typedRubric says what an answer means, with messages that people marked.
type typedRubric struct {
	What     string   `json:"what,omitempty"`
	Examples []string `json:"examples,omitempty"`
}

// typed returns the question about a message, for which the arguments are those of
// [Settings.Question]. A prompt of the settings is the question, instead of the built-in one and
// of what its answers mean.
func (s *Settings) typed(m Message, before []state.RecentMessage, marks []state.Mark) (about typedState, q model.Boolean) {
	about = typedState{Message: headAndTail(m.Text), From: line(m.Sender, maxSender)}
	for _, said := range earlier(before, s.History) {
		about.Before = append(about.Before, typedLine{speaker(said.Sender), line(said.Text, maxLine)})
	}
	yes, no := typedRubric{What: typedYes}, typedRubric{What: typedNo}
	q.Instructions = s.ownPrompt(m.Group)
	if q.Instructions == "" {
		q.Instructions = typedPrompt
	} else {
		yes.What, no.What = "RESPOND: the assistant should answer.", "SKIP: it should not."
	}
	q.Instructions += s.introduction(m)
	for _, mark := range s.shown(m.Group, marks) {
		into := &yes
		if mark.Verdict == state.Skip {
			into = &no
		}
		into.Examples = append(into.Examples, line(mark.Text, maxLine))
	}
	q.Yes, q.No = yes, no
	return about, q
}
