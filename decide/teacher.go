package decide

import (
	"context"
	"encoding/json"

	"intenthint/model"
	"intenthint/model/provider"
	"intenthint/part"
)

// Teacher is a model that answers questions.
type Teacher interface {
	// Teach returns the probabilities of each question's labels, by position, and what
	// the provider counted. Errors are those of package model.
	Teach(ctx context.Context, state json.RawMessage, questions []Question) (answers [][]float64, usage provider.Usage, err error)
}

// teacherOf returns the model of a reference: another server of the wire, or a chat
// model.
func teacherOf(p part.Program, ref string) (Teacher, error) {
	asked, err := p.Asked(ref)
	return teacherBy(asked), err
}

func teacherBy(asked part.Asked) Teacher {
	if asked.Decider != nil {
		return wireTeacher{asked.Decider}
	}
	return chatTeacher{asked.Chain}
}

// wireTeacher is another server of the wire.
type wireTeacher struct{ decider *model.Decider }

// Teach implements [Teacher].
func (t wireTeacher) Teach(ctx context.Context, state json.RawMessage, questions []Question) ([][]float64, provider.Usage, error) {
	asked := provider.Decisions{State: state, Questions: wireQuestions(questions)}
	answer, err := t.decider.Decide(ctx, asked, func(answers json.RawMessage) error {
		_, err := parseAnswers(questions, answers)
		return err
	})
	if err != nil {
		return nil, answer.Usage, err
	}
	found, err := parseAnswers(questions, answer.Value)
	return found, answer.Usage, err
}

// wireQuestions writes questions in the form of the wire, with their keys and labels in
// order.
func wireQuestions(questions []Question) json.RawMessage {
	var out object
	for i := range questions {
		q := &questions[i]
		var fields object
		kind := q.Type
		if kind == Boolean {
			kind = wireBoolean
		}
		fields.add("type", marshal(kind))
		if q.Instructions != nil {
			fields.add("instructions", q.Instructions)
		}
		if criteria := wireCriteria(q); criteria != nil {
			fields.add("criteria", criteria)
		}
		out.add(q.Key, fields.end())
	}
	return out.end()
}

// wireCriteria writes the criteria of a question, nil for none.
func wireCriteria(q *Question) json.RawMessage {
	var named object
	levels := make([]json.RawMessage, len(q.Labels))
	for i, label := range q.Labels {
		if levels[i] = q.Criteria[i]; levels[i] == nil {
			levels[i] = json.RawMessage("null")
		}
		if q.Type == Choice || q.Criteria[i] != nil {
			named.add(label, levels[i])
		}
	}
	switch {
	case q.Type == Score:
		return marshal(levels)
	case named.b == nil:
		return nil
	}
	return named.end()
}

// object is a JSON object whose fields stay in their order.
type object struct{ b []byte }

func (o *object) add(name string, value json.RawMessage) {
	o.b = append(o.b, "{,"[min(len(o.b), 1)])
	o.b = append(append(o.b, marshal(name)...), ':')
	o.b = append(o.b, value...)
}

func (o *object) end() json.RawMessage { return append(o.b, '}') }

// chatTeacher is a chat model with a prompt.
type chatTeacher struct{ chain *model.Chain }

// Teach implements [Teacher].
func (t chatTeacher) Teach(ctx context.Context, state json.RawMessage, questions []Question) ([][]float64, provider.Usage, error) {
	answer, err := model.Ask(ctx, t.chain, model.Question[[][]float64]{
		Request: prompt(state, questions),
		Parse:   func(said string) ([][]float64, error) { return parseText(questions, said) },
	})
	return answer.Value, answer.Usage, err
}
