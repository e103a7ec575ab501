package local

import (
	"cmp"
	"math"
	"slices"
	"unicode"

	"intenthint/classify"
	"intenthint/intents"
	"intenthint/payload"
)

// verdict is the outcome of a classification.
type verdict struct {
	first, second int // positions; -1 if there is no such intent
	row           int // the nearest example of the first; -1 without one
	cosine        float32
	// words is the cosine to the nearest example by words alone.
	words float32
	// pIn is the probability that some intent fits, pFirst that the first does.
	pIn, pFirst float64
	unread      bool // see [scratch.unread]
	// earlier is the user's earlier message that decided; "" if the message alone did.
	earlier string
	// also is the message's second task, or "".
	also string
	// leans is the probability that the message leans on earlier ones.
	leans float64
	// seen is what else is known of the message that the probabilities are of.
	seen evidence
	// settled is the answer once its confidence is settled, see [Model.settle].
	settled settled
	// odds is how much likelier than the first intent the fallback must be to be
	// the answer; 0 means fallbackOdds.
	odds float64
}

// other reports whether the answer is the fallback. Being the likelier answer is
// not enough: without a hint the agent only lacks advice, but a wrong hint gives
// it advice that does not apply.
func (v *verdict) other() bool {
	if v.settled != unsettled {
		return v.settled == settledOther
	}
	return v.first < 0 || 1-v.pIn > cmp.Or(v.odds, fallbackOdds)*v.pFirst
}

// settled is an answer that probabilities no longer decide.
type settled uint8

const (
	unsettled settled = iota
	settledIntent
	settledOther
)

// confidence is the probability that the answer is right.
func (v *verdict) confidence() float64 {
	if v.other() {
		return 1 - v.pIn
	}
	return v.pFirst
}

// judge classifies the message that sc has read.
func (m *Model) judge(sc *scratch, allowed []bool) verdict {
	v := verdict{first: -1, second: -1, row: -1, odds: m.odds}
	m.score(sc.scores, sc)
	v.first, v.second = top(sc.scores[:len(m.intents)], allowed)
	if v.first < 0 {
		return v
	}
	v.unread = sc.unread()
	if len(sc.ids) == 0 {
		if v.unread {
			v.pIn = unreadInScope
		}
		v.seen = m.evidence(sc, &v, new(signals), false)
		return v
	}
	var covered float32
	v.row, v.cosine, covered = m.nearest(sc, v.first, nil)
	v.words = v.cosine
	s := m.signals(sc, v.first, v.second, v.cosine, covered)
	v.pIn = m.inScope.probability(&s)
	v.pFirst = v.pIn * m.correct.probability(&s)
	m.trustSame(sc, &v, v.row, s[sigMargin])
	if v.unread && v.other() {
		v.pIn = max(v.pIn, unreadInScope)
	}
	v.seen = m.evidence(sc, &v, &s, false)
	return v
}

// unreadInScope is the probability that an intent fits a message that could not be
// read: most messages fit one, and the fallback then stays below the default
// HINT_MIN_CONFIDENCE of 0.6.
const unreadInScope = 0.6

// mostlyUnknown is the share of known words, and of known word parts, below
// which a message counts as unreadable.
const mostlyUnknown = 0.1

// unread reports whether almost nothing of a message is known and most of its
// letters are not Latin: no example is written in its script. That it resembles
// no intent is then no evidence. Unknown words in Latin letters are gibberish.
func (sc *scratch) unread() bool {
	if sc.runs == 0 || sc.knownWords > mostlyUnknown*sc.words || sc.knownRuns > mostlyUnknown*sc.runs {
		return false
	}
	foreign := 0
	for _, r := range sc.text.runes {
		if r > unicode.MaxLatin1 && !unicode.Is(unicode.Latin, r) && unicode.IsLetter(r) {
			foreign++
		}
	}
	return 2*foreign > len(sc.text.runes)
}

// trustSame raises the probability of an answer to a message that equals the
// example of the given row, word for word. Calibration never sees a message
// twice, so it cannot learn that such a match is nearly certain.
func (m *Model) trustSame(sc *scratch, v *verdict, row int, margin float64) {
	if row >= 0 && !m.samples[row].trigger && v.words > sameCosine && sc.strange == 0 && margin > 0 {
		v.pFirst = max(v.pFirst, sameProbability)
		v.pIn = max(v.pIn, v.pFirst)
	}
}

// decide classifies a message that follows a conversation, by words and, if by
// is not nil, by vectors. asked reports whether the assistant's last words, if
// known, were a question. sc holds the words that decided.
func (m *Model) decide(sc *scratch, message string, conversation []payload.Turn, asked bool, allowed []bool, by *embedding) verdict {
	if by != nil && by.alone {
		return m.decideAlone(sc, message, conversation, asked, allowed, by)
	}
	alone := m.request(sc, message, allowed, by)
	if m.remembers(sc, allowed, by) {
		m.judged.put(message, &alone, sc.scores) // for the messages after it
	}
	c := cuesOf(&sc.text)
	if c.content == 0 && (len(conversation) > 0 || c.has(roleAnswer)) {
		alone.doubt()
	}
	if c.length <= maxReaction && alone.words < muchTheSame && reactions.whole(spaced(message)) {
		return m.lookAt(sc, allowed, by, c.closing()) // "lol", after whatever was said
	}
	if len(conversation) == 0 {
		return alone
	}
	if v, _, ok := m.offered(sc, &c, message, alone.pFirst, conversation, allowed, by); ok {
		v.also = ""
		return v
	}
	if c.closes(asked) {
		if alone.other() || alone.pFirst < certain {
			alone = m.lookAt(sc, allowed, by, c.closing())
		}
		return alone
	}
	// Earlier messages are not read if the message would not lean on them even if
	// they had its likeliest intent and repeated its words. If the message has an
	// accepted intent, only a different intent of the topic can change anything.
	likeliest := verdict{first: alone.first, pIn: 1, pFirst: 1}
	if !alone.other() && alone.pFirst >= likely {
		likeliest.first = alone.second
	}
	share := shareOf(sc.scores, &alone, &likeliest)
	if c.followUpProbability(alone.pFirst, share, closest) < negligible || brings(message) {
		return alone // also if it brings along what it is about
	}
	conversation = c.resumed(sc, conversation)
	bound := c.ties(sc, message, conversation)
	if c.followUpProbability(alone.pFirst, share, bound) < negligible {
		return alone
	}
	own := append(sc.own[:0], sc.scores...)
	sc.own = own
	before, earlier := m.topic(sc, conversation, allowed, by)
	if earlier == "" {
		m.request(sc, message, allowed, by)
		return alone
	}
	pFollowUp := c.followUpProbability(alone.pFirst, shareOf(own, &alone, &before), bound)
	sc.alone = divide(sc.alone, &alone, own, allowed)
	v, followed := follow(pFollowUp, alone, before, sc.alone, sc.topic)
	v.leans = pFollowUp
	if followed {
		v.earlier, v.also = earlier, ""
		message = earlier
	}
	deciding := m.request(sc, message, allowed, by)
	v.second, v.row, v.cosine = deciding.second, deciding.row, deciding.cosine
	if v.first != deciding.first {
		v.second = deciding.first
		v.row, v.cosine, _ = m.nearest(sc, v.first, nil)
	}
	for c, p := range sc.topic { // runners-up are ranked by the scores
		sc.scores[c] = float32(math.Log(p+math.SmallestNonzeroFloat32) / runnerUpSharpness)
	}
	return v
}

// decideAlone is decide with a vector of the message alone: words say whether it stands
// alone, and how likely, and if so the vector what it is (decision 17).
func (m *Model) decideAlone(sc *scratch, message string, conversation []payload.Turn, asked bool, allowed []bool, by *embedding) verdict {
	words := m.decide(sc, message, conversation, asked, allowed, nil)
	if c := cuesOfText(message); words.earlier != "" || c.content == 0 || c.closes(asked) {
		return words
	}
	v := m.request(sc, message, allowed, by)
	stands := 1 - words.leans
	v.pFirst, v.pIn = stands*v.pFirst, 1-stands*(1-v.pIn)
	return v
}

// request classifies a message as a whole, and by its sentences where that is a
// courtesy, nothing, or unsure and long: a task beats a courtesy, and what is asked
// beats what is pasted (contract §5). sc holds the words that the verdict is
// based on.
func (m *Model) request(sc *scratch, message string, allowed []bool, by *embedding) verdict {
	v := m.allOf(sc, message, allowed, by)
	if first, second, ok := m.twoTasks(sc, message, &v, allowed, by); ok {
		v = m.lookAt(sc, allowed, by, first.text)
		v.also = second.text
		return v
	}
	parts := sentences(message)
	if parts == nil {
		if joined(message) {
			return m.allOf(sc, message, allowed, by)
		}
		return v
	}
	if task, ok := m.task(sc, message, parts, &v, allowed, by); ok {
		return task
	}
	return m.allOf(sc, message, allowed, by)
}

// allOf classifies a message by all its words and by its [ownWords]. The surer
// verdict wins; if the own words decide and the intents differ, theirs wins if
// it is possible. sc holds the words that the verdict is based on.
func (m *Model) allOf(sc *scratch, message string, allowed []bool, by *embedding) verdict {
	whole := m.lookAt(sc, allowed, by, message)
	own, decides := ownWords(message)
	if own == "" {
		return whole
	}
	v := m.lookAt(sc, allowed, by, own)
	if !v.other() && (v.pFirst > whole.confidence() || decides && !whole.other() && v.pFirst >= possible) {
		return v
	}
	return m.lookAt(sc, allowed, by, message)
}

func (m *Model) lookAt(sc *scratch, allowed []bool, by *embedding, text string) verdict {
	m.read(sc, text)
	return m.look(sc, allowed, by, text)
}

// look classifies the text that sc has read.
func (m *Model) look(sc *scratch, allowed []bool, by *embedding, text string) verdict {
	if by != nil {
		if vector := by.vectors[textOf(text)]; vector != nil {
			return by.model.judge(sc, allowed, vector)
		}
	}
	return m.judge(sc, allowed)
}

// doubt lowers the probabilities of a message without content of its own,
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
	// The catalogue was reloaded: this model is older or newer than the catalogue.
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
	v := m.verdictOn(sc, &in, allowed, by)
	m.settle(&v)
	out := payload.Classification{
		Goal:       goal(in.Latest, v.earlier),
		Confidence: v.confidence(),
		Source:     payload.SourceLocal,
	}
	if v.other() {
		fallback := m.catalog.Fallback()
		out.Intent, out.Name = fallback.ID, fallback.Name
	} else {
		out.Intent, out.Name = m.intents[v.first].ID, m.intents[v.first].Name
		out.Suggestion = also(v.also)
	}
	out.RunnerUp, out.RunnerUpConfidence = m.runnerUp(sc, &v, allowed)
	out.Reason = m.reason(sc, &v)
	out.Complexity = complexityOf(&sc.text, in.Latest, m.about(&v)) // overwrites the message in sc
	m.pool.Put(sc)
	return out
}

// about returns the intent that is likely, "" without one.
func (m *Model) about(v *verdict) string {
	const likelyEnough = 0.5 // below it another one is likelier than not
	if v.other() || v.confidence() < likelyEnough {
		return ""
	}
	return m.intents[v.first].ID
}

// verdictOn classifies a message in its conversation. sc holds the words that decided.
func (m *Model) verdictOn(sc *scratch, in *classify.Input, allowed []bool, by *embedding) verdict {
	isQuoted := func(t payload.Turn) bool { return t.Quoted }
	if !slices.ContainsFunc(in.Conversation, isQuoted) {
		return m.verdictIn(sc, in, allowed, by)
	}
	// What is quoted helps where the words alone say nothing, and never decides
	// against them (contract §5).
	alone := *in
	alone.Conversation = slices.DeleteFunc(slices.Clone(in.Conversation), isQuoted)
	v := m.verdictIn(sc, &alone, allowed, by)
	if !v.other() && v.pFirst >= likely {
		return v
	}
	if v = m.verdictIn(sc, in, allowed, by); !v.other() {
		return v
	}
	return m.verdictIn(sc, &alone, allowed, by)
}

func (m *Model) verdictIn(sc *scratch, in *classify.Input, allowed []bool, by *embedding) verdict {
	message, before := in.Latest, in.Before()
	if in.Whole {
		return m.lookAt(sc, allowed, by, message)
	}
	if in.Paste != nil {
		v, bare, ok := m.aroundPaste(sc, message, in.Paste, len(before) > 0, allowed, by)
		if ok {
			return v
		}
		if bare != "" {
			message = bare
		}
	}
	return m.decide(sc, message, before, asks(in.Conversation), allowed, by)
}

// Score is an answer and the probability that it is right.
type Score struct {
	Intent      string
	Name        string
	Probability float64
}

// Prediction is the full result of the model for a message.
type Prediction struct {
	// Intent is the best allowed intent, even if the answer is the fallback: a
	// forced choice. "" if none is allowed.
	Intent string
	// Other reports whether the answer is the fallback.
	Other bool
	// Confidence is the probability that the answer is right: that Intent is
	// right, or the fallback if Other is set.
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
	return m.PredictInput(classify.Input{Latest: message, Conversation: conversation}, allowed)
}

// PredictInput is [Model.Predict] for a message in its conversation, with its paste.
// The catalogue of in does not count.
func (m *Model) PredictInput(in classify.Input, allowed []bool) Prediction {
	return m.predict(&in, allowed, nil)
}

func (m *Model) predict(in *classify.Input, allowed []bool, by *embedding) Prediction {
	sc := m.pool.Get().(*scratch)
	v := m.verdictOn(sc, in, allowed, by)
	m.settle(&v)
	p := Prediction{
		Other: v.other(), Confidence: v.confidence(), Similarity: float64(v.cosine),
		Words: m.tellingWords(sc, &v), Ranked: m.rank(sc, &v, allowed),
	}
	if v.first >= 0 {
		p.Intent = m.intents[v.first].ID
	}
	if v.row >= 0 {
		p.Nearest = m.textOf(v.row)
	}
	m.pool.Put(sc)
	return p
}

// runnerUp returns the first intent in the order of rank that is not the
// answer; "" if no intent is allowed. Unlike rank it does not allocate.
func (m *Model) runnerUp(sc *scratch, v *verdict, allowed []bool) (intent string, probability float64) {
	if v.first < 0 {
		return "", 0
	}
	total, best, second := 0.0, 0.0, -1
	for c := range m.intents {
		if c == v.first || allowed != nil && !allowed[c] {
			continue
		}
		w := math.Exp(runnerUpSharpness * float64(sc.scores[c]-sc.scores[v.first]))
		if total += w; second < 0 || w > best {
			best, second = w, c
		}
	}
	if v.other() {
		intent, probability = m.intents[v.first].ID, v.pFirst
	} else {
		intent, probability = m.catalog.Fallback().ID, 1-v.pIn
	}
	if second < 0 {
		if !v.other() {
			probability = 1 - v.pFirst
		}
		return intent, probability
	}
	if p := best * ((v.pIn - v.pFirst) / total); p > probability {
		return m.intents[second].ID, p
	}
	return intent, probability
}

func (m *Model) rank(sc *scratch, v *verdict, allowed []bool) []Score {
	fallback := m.catalog.Fallback()
	out := make([]Score, 0, len(m.intents)+1)
	out = append(out, Score{Intent: fallback.ID, Name: fallback.Name, Probability: 1 - v.pIn})
	if v.first < 0 {
		return out
	}
	out = append(out, Score{Intent: m.intents[v.first].ID, Name: m.intents[v.first].Name, Probability: v.pFirst})
	// The remaining probability is divided among the others by their scores.
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
		// With a single intent, the rest of the probability is the fallback's.
		out[0].Probability = 1 - v.pFirst
	}
	for i := from; i < len(out); i++ {
		out[i].Probability *= (v.pIn - v.pFirst) / total
	}
	slices.SortStableFunc(out, func(a, b Score) int { return cmp.Compare(b.Probability, a.Probability) })
	return out
}
