package index

import (
	"cmp"
	"math"
	"slices"
	"time"
	"unique"

	"intenthint/knowhub/experience"
	"intenthint/knowhub/index/terms"
)

// Query is a search of approved experiences.
type Query struct {
	// Text is any text.
	Text string
	// AgentID limits the search to one agent; "" means all.
	AgentID string
	// Unowned limits the search to experiences without an agent.
	Unowned bool
	// Prompt is set if the text is a message to an agent, which nobody wrote to
	// search with: then one of function words alone, such as "and then?", finds
	// nothing, and hits that share little with it, such as one word of two, are left
	// out.
	Prompt bool
	// Meaning returns the vector of the text, nil for none. It is called at most once,
	// and only if words alone do not answer; nil for a search by words.
	Meaning func() *Vector
	// Limit is the maximum number of hits, 10 if it is not positive, and never
	// more than 201.
	Limit int
}

// Hit is an experience found by a search.
type Hit struct {
	experience.Experience
	// Score is 0–1: how much of the question the experience covers, by the weight
	// of the words. Scores of different questions are comparable.
	Score float64
}

const (
	defaultHits = 10  // if no limit is given
	maxHits     = 201 // those of the longest page for people, and one that says that there are more
)

// Bonuses that rank experiences with nearly equal text scores. Together they
// are at most a seventh of the text score.
const (
	confidenceBonus = 0.06
	seenBonus       = 0.05 // of one that was seen ten times or more
	youthBonus      = 0.03 // of a new one; half of it after half a year
	allBonuses      = confidenceBonus + seenBonus + youthBonus
	halfLife        = 180 * 24 * time.Hour
)

const (
	// tail is the share of the best hit's score below which a hit is left out.
	tail = 0.2
	// maxClose bounds the hits beyond the limit that are considered because their
	// bonuses could bring them in. On the labelled experiences the results are the same
	// as with 100; on 10,000 that are mixed from them, 96 % are.
	maxClose = 4
	// enough is the score from which a hit is good enough that words are not
	// completed or corrected.
	enough = 0.5
	// fits is the least score of a hit for a prompt, fitsAlone that of one which
	// shares a single word with it, and of more words. Without the second rule "fix
	// it" found whatever was fixed. They leave out six sevenths of what messages on
	// other subjects find, and a ninth of what fits (TestPrompts); with the first
	// alone it would be two thirds and 3 %.
	fits      = 0.25
	fitsAlone = 0.4
	// fitsMeaning is the least cosine of a hit for a prompt that its words do not bring
	// in, likelyMeaning that of one which shares a single word with the prompt, and
	// possibleMeaning that of one which shares several. Of 198 English messages on
	// other subjects 71 find something, 87 by words alone, and the prompts that find what
	// fits are 48 % of those in other words instead of 18 % (decision 24).
	fitsMeaning     = 0.55
	likelyMeaning   = 0.5
	possibleMeaning = 0.2
)

// Search returns experiences that match a question, best first. Words that do
// not occur are completed, or corrected by a letter or two, but only if nothing
// good is found without that.
func (x *Index) Search(q Query) []Hit {
	words := terms.Question(q.Text)
	if len(words) == 0 || q.Prompt && words[0].Function {
		return nil
	}
	limit := bound(q.Limit, defaultHits, maxHits)
	found, whole := x.find(words, q, limit)
	if len(found) == 0 {
		return nil
	}
	return hits(found, whole, limit)
}

// find returns the best rows, a few more than limit, best first, and the total weight of
// the words.
func (x *Index) find(words []terms.Word, q Query, limit int) ([]scored, float64) {
	n := limit + maxClose
	words, found, whole, subjects := x.byWords(words, q, n)
	var meaning *Vector
	if q.Meaning != nil && subjects >= minSubjects && x.hasVectors() && !isClear(found, whole, subjects) {
		meaning = q.Meaning() // which takes milliseconds, so without the lock
	}
	if meaning != nil {
		found, whole = x.byMeaning(words, q, meaning, subjects, n)
	}
	if q.Prompt {
		found = slices.DeleteFunc(found, func(s scored) bool { return !fitsPrompt(s, subjects, meaning != nil && s.cosine != 0) })
	}
	return found, whole
}

// byWords returns the best n rows by words, and how many words may name a subject. It
// takes compounds apart, and completes and corrects words if that is needed; more are
// the words with those.
func (x *Index) byWords(words []terms.Word, q Query, n int) (more []terms.Word, found []scored, whole float64, subjects int) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	l := x.lookUp(words, q.filter())
	words = l.compounds(words)
	found, whole = l.best(words, n)
	if (len(found) == 0 || float64(found[0].score) < enough*whole) && l.similar(words) {
		found, whole = l.best(words, n)
	}
	for _, w := range words {
		if w.Subject() {
			subjects++
		}
	}
	return words, found, whole, subjects
}

// byMeaning returns the best n rows by words and by meaning.
func (x *Index) byMeaning(words []terms.Word, q Query, meaning *Vector, subjects, n int) (found []scored, whole float64) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	l := x.lookUp(words, q.filter())
	found, whole = l.best(words, nearestRows)
	whole = cmp.Or(whole, 1)
	return l.join(found, whole, meaning, subjects, n), whole
}

func (x *Index) hasVectors() bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.vectors > 0
}

func (q Query) filter() filter {
	return filter{approved: true, owned: q.AgentID != "" || q.Unowned, agent: unique.Make(q.AgentID)}
}

// fitsPrompt reports whether a row fits a message to an agent: subjects are the words of
// the message that may name one. meant is set if both have a known meaning.
func fitsPrompt(s scored, subjects int, meant bool) bool {
	switch several := s.shared >= 2; {
	case meant && s.cosine >= fitsMeaning:
		return true
	case s.words < fits:
		return false
	case several:
		return !meant || s.cosine >= possibleMeaning
	case meant:
		return subjects >= 3 && s.words >= fitsAlone && s.cosine >= likelyMeaning
	default:
		return subjects == 3 && s.words >= fitsAlone
	}
}

// hits returns the experiences of the best rows, in their order. whole is the total
// weight of the words.
func hits(found []scored, whole float64, limit int) []Hit {
	least := found[0].score * tail
	if len(found) > limit {
		least = max(least, found[limit-1].score/(1+allBonuses))
	}
	if i := slices.IndexFunc(found, func(s scored) bool { return s.score < least }); i >= 0 {
		found = found[:i]
	}
	newest := time.Time{}
	for _, s := range found {
		if s.CreatedAt.After(newest) {
			newest = s.CreatedAt
		}
	}
	for i, s := range found {
		found[i].rank = float64(s.score) * (1 + bonus(&s.Experience, newest))
	}
	slices.SortFunc(found, func(a, b scored) int { return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(a.ID, b.ID)) })
	list := make([]Hit, 0, limit)
	for _, s := range found[:min(limit, len(found))] {
		list = append(list, Hit{s.copied(), min(1, float64(s.score)/whole)})
	}
	return list
}

// bonus returns what is added to the text score of a hit. Ages are relative to
// the newest hit, so that the same question gets the same answer tomorrow.
func bonus(e *experience.Experience, newest time.Time) float64 {
	seen := math.Log(float64(max(1, min(10, e.Seen)))) / math.Log(10)
	youth := math.Exp2(-newest.Sub(e.CreatedAt).Hours() / halfLife.Hours())
	return confidenceBonus*e.Confidence + seenBonus*seen + youthBonus*youth
}
