package decide

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/tidwall/gjson"

	"intenthint/model"
	"intenthint/model/provider"
)

// Source is who answered.
type Source string

// Sources (contract §15, Decide-Source).
const (
	Local Source = "local" // a student
	Model Source = "model" // the teacher
	Zero  Source = "zero"  // labels and descriptions alone
)

// Sources are all of them.
var Sources = []Source{Local, Model, Zero}

// Answer is the answer to a question.
type Answer struct {
	// Probabilities are by position of the question's labels, and add up to 1.
	Probabilities []float64
	Source        Source
	// Model is provider/model of a teacher, or the name of what answered here.
	Model string
	// Usage is a share of the teacher's; zero if no model was asked.
	Usage provider.Usage
}

// best returns the position of the likeliest label, the first of equal ones.
func best(probabilities []float64) int {
	at := 0
	for i, p := range probabilities {
		if p > probabilities[at] {
			at = i
		}
	}
	return at
}

// Confidence is (max p − 1/K)/(1 − 1/K) for a choice, 1 − E|level − mode|/(L − 1) for a
// score (contract §15), and 1 for a question with one answer.
func Confidence(q *Question, p []float64) float64 {
	n, mode := float64(len(p)), best(p)
	switch {
	case len(p) < 2:
		return 1
	case q.Type == Score:
		off := 0.0
		for i, share := range p {
			off += share * math.Abs(float64(i-mode))
		}
		return between0And1(1 - off/(n-1))
	}
	return between0And1((p[mode] - 1/n) / (1 - 1/n))
}

func between0And1(x float64) float64 { return min(max(x, 0), 1) }

// level is the expected level of a score.
func level(p []float64) (mean float64) {
	for i, share := range p {
		mean += float64(i) * share
	}
	return mean
}

// Reply is the answer to a batch, in the form of the wire.
type Reply struct {
	Model   string         `json:"model"`
	Answers map[string]any `json:"answers"`
	Usage   ReplyUsage     `json:"usage"`
}

// ReplyUsage are the teacher's tokens.
type ReplyUsage struct {
	InputTokens  int `json:"input_tokens"`
	OutputTokens int `json:"output_tokens"`
}

// Answers to each type of question. The wire has exactly these fields.
type (
	choiceReply struct {
		Type          string             `json:"type"`
		Choice        string             `json:"choice"`
		Confidence    float64            `json:"confidence"`
		Probabilities map[string]float64 `json:"probabilities"`
	}
	scoreReply struct {
		Type          string                     `json:"type"`
		Score         float64                    `json:"score"`
		Confidence    float64                    `json:"confidence"`
		Probabilities map[string]float64         `json:"probabilities"`
		Legend        map[string]json.RawMessage `json:"legend"`
	}
	booleanReply struct {
		Type string  `json:"type"`
		Noul float64 `json:"noul"`
	}
)

// replyOf puts answers, by position of the questions, into the form of the wire.
func replyOf(b *Batch, answers []Answer) Reply {
	out := Reply{Answers: make(map[string]any, len(answers))}
	for i := range answers {
		q, a := &b.Questions[i], &answers[i]
		if out.Model == "" || a.Source == Model {
			out.Model = a.Model
		}
		out.Usage.InputTokens += a.Usage.InputTokens
		out.Usage.OutputTokens += a.Usage.OutputTokens
		out.Answers[q.Key] = wireAnswer(q, a.Probabilities)
	}
	return out
}

func wireAnswer(q *Question, p []float64) any {
	switch q.Type {
	case Choice:
		return choiceReply{Choice, q.Labels[best(p)], Confidence(q, p), byLabel(q, p)}
	case Score:
		legend := make(map[string]json.RawMessage, len(q.Labels))
		for i, label := range q.Labels {
			if legend[label] = q.Criteria[i]; q.Criteria[i] == nil {
				legend[label] = json.RawMessage("null")
			}
		}
		return scoreReply{Score, level(p), Confidence(q, p), byLabel(q, p), legend}
	default:
		return booleanReply{wireBoolean, p[0]}
	}
}

func byLabel(q *Question, p []float64) map[string]float64 {
	out := make(map[string]float64, len(p))
	for i, label := range q.Labels {
		out[label] = p[i]
	}
	return out
}

// parseAnswers reads the answers of another server of the wire, by position of the
// questions. An answer that is missing or does not fit its question is
// [model.ErrUnparsable].
func parseAnswers(questions []Question, answers json.RawMessage) ([][]float64, error) {
	found := map[string]gjson.Result{}
	gjson.ParseBytes(answers).ForEach(func(key, value gjson.Result) bool {
		found[key.Str] = value
		return true
	})
	out := make([][]float64, len(questions))
	for i := range questions {
		p, problem := parseAnswer(&questions[i], found[questions[i].Key])
		if problem != "" {
			return nil, fmt.Errorf("%w: answer %d: %s", model.ErrUnparsable, i+1, problem)
		}
		out[i] = p
	}
	return out, nil
}

// parseAnswer reads one answer, and returns what is wrong with it.
func parseAnswer(q *Question, answer gjson.Result) (p []float64, problem string) {
	kind := answer.Get("type").Str
	if q.Type == Boolean {
		// The host's own form is read as well.
		yes := answer.Get("noul")
		if kind == Boolean {
			yes = answer.Get("probabilityTrue")
		} else if kind != wireBoolean {
			return nil, "type is not that of the question"
		}
		if yes.Type != gjson.Number || yes.Num < 0 || yes.Num > 1 {
			return nil, "no probability from 0 to 1"
		}
		return []float64{yes.Num, 1 - yes.Num}, ""
	}
	if kind != q.Type {
		return nil, "type is not that of the question"
	}
	given, shares := answer.Get("probabilities"), map[string]gjson.Result{}
	if given.IsArray() {
		for i, share := range given.Array() {
			shares[strconv.Itoa(i)] = share
		}
	} else {
		given.ForEach(func(label, share gjson.Result) bool {
			shares[label.Str] = share
			return true
		})
	}
	p = make([]float64, len(q.Labels))
	for i, label := range q.Labels {
		share, ok := shares[label]
		if !ok || share.Type != gjson.Number || share.Num < 0 || share.Num > 1 {
			return nil, "a label without a probability from 0 to 1"
		}
		p[i] = share.Num
	}
	if !normalize(p) {
		return nil, "all probabilities are 0"
	}
	// The label counts: probabilities are rounded to two decimals there.
	if at := slices.Index(q.Labels, answer.Get("choice").Str); q.Type == Choice && at < 0 {
		return nil, "the choice is not one of the labels"
	} else if q.Type == Choice {
		raise(p, at)
	}
	return p, ""
}

// normalize makes shares add up to 1, and reports whether that can be done.
func normalize(p []float64) bool {
	sum := 0.0
	for _, share := range p {
		sum += share
	}
	if !(sum > 0) || math.IsInf(sum, 0) {
		return false
	}
	for i := range p {
		p[i] /= sum
	}
	return true
}

// raise makes the label at a position the likeliest: it changes shares with the one
// that is.
func raise(p []float64, at int) {
	if top := best(p); p[top] > p[at] {
		p[at], p[top] = p[top], p[at]
	}
}
