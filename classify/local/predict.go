package local

import (
	"cmp"
	"math"
	"slices"

	"intenthint/classify"
	"intenthint/intents"
	"intenthint/payload"
)

// verdict is the outcome of a classification.
type verdict struct {
	first, second int // positions; -1 for none
	row           int // the nearest example of the first; -1 for none
	cosine        float32
	// words is the cosine to the nearest example by words alone.
	words float32
	// pIn is the probability that some intent fits, pFirst that the first does.
	pIn, pFirst float64
	// earlier is the user's earlier message that decided; "" for none.
	earlier string
}

// other reports whether the answer is the fallback. Being the likelier answer is
// not enough: without a hint the agent only lacks advice, but a wrong hint gives
// it advice that does not apply.
func (v *verdict) other() bool { return v.first < 0 || 1-v.pIn > fallbackOdds*v.pFirst }

// confidence is the probability that the answer is right.
func (v *verdict) confidence() float64 {
	if v.other() {
		return 1 - v.pIn
	}
	return v.pFirst
}

// judge classifies what sc has read.
func (m *Model) judge(sc *scratch, allowed []bool) verdict {
	v := verdict{first: -1, second: -1, row: -1}
	score(sc.scores, m.blocks, sc.ids, sc.values)
	v.first, v.second = top(sc.scores, allowed)
	if v.first < 0 || len(sc.ids) == 0 {
		return v
	}
	var covered float32
	v.row, v.cosine, covered = m.nearest(sc, v.first, nil)
	v.words = v.cosine
	s := m.signals(sc, v.first, v.second, v.cosine, covered)
	v.pIn = m.inScope.probability(&s)
	v.pFirst = v.pIn * m.correct.probability(&s)
	m.trustSame(sc, &v, v.row, s[sigMargin])
	return v
}

// trustSame raises the probability of an answer to a message that equals the
// example of the given row, word for word. Calibration never sees a message
// twice, so it cannot learn that such a match is nearly certain.
func (m *Model) trustSame(sc *scratch, v *verdict, row int, margin float64) {
	if row >= 0 && !m.examples.trigger[row] && v.words > sameCosine && sc.strange == 0 && margin > 0 {
		v.pFirst = max(v.pFirst, sameProbability)
		v.pIn = max(v.pIn, v.pFirst)
	}
}

// decide classifies a message that follows a conversation, by words and, if by
// is not nil, by vectors. It leaves the words that decided in sc; remove them
// with clear.
func (m *Model) decide(sc *scratch, message string, conversation []payload.Turn, allowed []bool, by *embedding) verdict {
	m.read(sc, message)
	kind := m.followUpOf(sc)
	alone := m.look(sc, allowed, by, "", message)
	if kind == acknowledgement {
		alone.doubt()
	}
	switch {
	case kind == standalone,
		kind == elliptic && !alone.other() && alone.pFirst >= likely,
		kind == continuing && !alone.other() && alone.pFirst >= certain:
		return alone
	}
	// What a message lacks stands in what the user said before. What the
	// assistant said is not what the user wants.
	discount, looked := continuity, 0
	for i := len(conversation) - 1; i >= 0 && looked < maxLookBack; i-- {
		turn := &conversation[i]
		if turn.Role != payload.RoleUser {
			continue
		}
		sc.clear()
		looked++
		said := message
		if kind == acknowledgement {
			said = ""
		}
		if said != "" {
			m.read(sc, turn.Text, said)
		} else if m.read(sc, turn.Text); m.followUpOf(sc) == acknowledgement {
			continue
		}
		v := m.look(sc, allowed, by, turn.Text, said)
		v.pIn *= discount
		v.pFirst *= discount
		if !v.other() && (kind != elliptic || alone.other() || v.pFirst > alone.pFirst) {
			v.earlier = turn.Text
			return v
		}
		discount *= continuity
	}
	if looked > 0 {
		sc.clear()
		m.read(sc, message)
		if by == nil {
			score(sc.scores, m.blocks, sc.ids, sc.values)
		} else {
			m.look(sc, allowed, by, "", message)
		}
	}
	return alone
}

// look classifies what sc has read of the two texts.
func (m *Model) look(sc *scratch, allowed []bool, by *embedding, earlier, said string) verdict {
	if by != nil {
		if vector := by.vectors[textOf(earlier, said)]; vector != nil {
			return by.model.judge(sc, allowed, vector)
		}
	}
	return m.judge(sc, allowed)
}

// doubt lowers the probabilities for a message without meaning of its own,
// unless an intent has a nearly identical example.
func (v *verdict) doubt() {
	if c := float64(v.words); c < muchTheSame {
		v.pIn *= c
		v.pFirst *= c
	}
}

// allowed reports by position which of the model's intents are in the
// catalogue; nil for all.
func (m *Model) allowed(cat *intents.Catalog) []bool {
	switch {
	case cat == nil:
		return nil
	case cat.Root() == m.catalog:
		return cat.Allowed()
	}
	// The catalogue was reloaded: this model is older or newer than it.
	allowed := make([]bool, len(m.intents))
	for i := range m.intents {
		_, allowed[i] = cat.Lookup(m.intents[i].ID)
	}
	return allowed
}

// Classify implements [classify.Local]. It never answers an intent outside the
// catalogue of in, which should be the one the model was trained on or one
// narrowed from it.
func (m *Model) Classify(in classify.Input) payload.Classification { return m.classify(in, nil) }

func (m *Model) classify(in classify.Input, by *embedding) payload.Classification {
	allowed := m.allowed(in.Catalog)
	sc := m.pool.Get().(*scratch)
	defer m.pool.Put(sc)
	v := m.decide(sc, in.Latest, in.Conversation, allowed, by)
	out := payload.Classification{
		Goal:       goal(in.Latest, v.earlier),
		Confidence: v.confidence(),
		Complexity: complexityOf(in.Latest),
		Source:     payload.SourceLocal,
	}
	if v.other() {
		fallback := m.catalog.Fallback()
		out.Intent, out.Name = fallback.ID, fallback.Name
	} else {
		out.Intent, out.Name = m.intents[v.first].ID, m.intents[v.first].Name
	}
	out.Reason = m.reason(sc, &v)
	sc.clear()
	return out
}

// Score is an answer and the probability that it is right.
type Score struct {
	Intent      string
	Name        string
	Probability float64
}

// Prediction is the full result of the model for a message.
type Prediction struct {
	// Intent is the best intent of those allowed, whether or not the message
	// falls to the fallback: a forced choice. "" when none is allowed.
	Intent string
	// Other reports whether the answer is the fallback.
	Other bool
	// Confidence is the probability that the answer is right: that of Intent,
	// or of the fallback when Other is set.
	Confidence float64
	// Ranked are the allowed intents and the fallback, most probable first.
	// The probabilities add up to 1.
	Ranked []Score
	// Nearest is the example, or trigger, of Intent that is most like the
	// message, and Similarity its cosine, 0 to 1.
	Nearest    string
	Similarity float64
	// Words are the strongest evidence for Intent in the message, strongest
	// first.
	Words []string
}

// Predict classifies a message that follows a conversation, oldest turn first.
// allowed is by position in the root catalogue, nil for all.
func (m *Model) Predict(message string, conversation []payload.Turn, allowed []bool) Prediction {
	return m.predict(message, conversation, allowed, nil)
}

func (m *Model) predict(message string, conversation []payload.Turn, allowed []bool, by *embedding) Prediction {
	sc := m.pool.Get().(*scratch)
	defer m.pool.Put(sc)
	v := m.decide(sc, message, conversation, allowed, by)
	p := Prediction{
		Other: v.other(), Confidence: v.confidence(), Similarity: float64(v.cosine),
		Words: m.tellingWords(sc, &v), Ranked: m.rank(sc, &v, allowed),
	}
	if v.first >= 0 {
		p.Intent = m.intents[v.first].ID
	}
	if v.row >= 0 {
		p.Nearest = m.examples.texts[v.row]
	}
	sc.clear()
	return p
}

func (m *Model) rank(sc *scratch, v *verdict, allowed []bool) []Score {
	fallback := m.catalog.Fallback()
	out := make([]Score, 0, len(m.intents)+1)
	out = append(out, Score{Intent: fallback.ID, Name: fallback.Name, Probability: 1 - v.pIn})
	if v.first < 0 {
		return out
	}
	out = append(out, Score{Intent: m.intents[v.first].ID, Name: m.intents[v.first].Name, Probability: v.pFirst})
	// What is left goes to the others by their scores.
	total, from := 0.0, len(out)
	for c := range m.intents {
		if c == v.first || allowed != nil && !allowed[c] {
			continue
		}
		w := math.Exp(runnerUpSharpness * float64(sc.scores[c]-sc.scores[v.first]))
		total += w
		out = append(out, Score{Intent: m.intents[c].ID, Name: m.intents[c].Name, Probability: w})
	}
	if from == len(out) {
		// The only intent there is: what is not its is the fallback's.
		out[0].Probability = 1 - v.pFirst
	}
	for i := from; i < len(out); i++ {
		out[i].Probability *= (v.pIn - v.pFirst) / total
	}
	slices.SortStableFunc(out, func(a, b Score) int { return cmp.Compare(b.Probability, a.Probability) })
	return out
}
