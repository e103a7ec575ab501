package index

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"
	"unsafe"

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
	defaultHits = 10
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
)

// Search returns experiences that match a question, best first. Words that do
// not occur are completed, or corrected by a letter or two, but only if nothing
// good is found without that.
func (x *Index) Search(ctx context.Context, q Query) ([]Hit, error) {
	words := terms.Question(q.Text)
	if len(words) == 0 || q.Prompt && words[0].Function {
		return nil, nil
	}
	var hits []Hit
	err := x.look(ctx, func(l *lookup) error {
		sets := []string{statusSet(experience.Approved)}
		if q.AgentID != "" || q.Unowned {
			sets = append(sets, agentSet(q.AgentID))
		}
		allowed, err := l.allowed(sets)
		if err != nil || len(allowed) == 0 {
			return err
		}
		hits, err = l.search(words, allowed, q.Prompt, bound(q.Limit, defaultHits, maxHits))
		return err
	})
	return hits, err
}

// lookup is a search in one snapshot of the file.
type lookup struct {
	ctx context.Context //nolint:containedctx // of the call that the lookup is a part of
	*reader
	rows  int // no row has a greater number
	known map[string]listed
	cache *cache
}

// look calls f with a lookup.
func (x *Index) look(ctx context.Context, f func(l *lookup) error) error {
	return x.reading(ctx, func(r *reader) error {
		return r.snapshot(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			var s state
			if err := r.findState.QueryRowContext(context.WithoutCancel(ctx)).Scan(&s.rows, &s.begun, &s.revision, &s.checksum); err != nil || s.rows == 0 {
				return err
			}
			return f(&lookup{ctx: ctx, reader: r, rows: s.rows, cache: x.cacheOf(s)})
		})
	})
}

func (l *lookup) search(words []terms.Word, allowed []uint64, prompt bool, limit int) ([]Hit, error) {
	if err := l.find(words); err != nil {
		return nil, err
	}
	top, whole, err := l.best(words, allowed, limit+maxClose)
	if err != nil {
		return nil, err
	}
	if len(top) == 0 || float64(top[0].score) < enough*whole {
		more, err := l.similar(words)
		if err != nil {
			return nil, err
		}
		if more {
			if top, whole, err = l.best(words, allowed, limit+maxClose); err != nil {
				return nil, err
			}
		}
	}
	if prompt {
		subjects := 0
		for _, w := range words {
			if w.Subject() {
				subjects++
			}
		}
		top = slices.DeleteFunc(top, func(s scored) bool { return !fitsPrompt(float64(s.score)/whole, int(s.shared), subjects) })
	}
	if len(top) == 0 {
		return nil, nil
	}
	return l.hits(top, whole, limit)
}

// fitsPrompt reports whether a row with a score fits a message to an agent: subjects are
// its words that may name one, and shared those that the row contains.
func fitsPrompt(score float64, shared, subjects int) bool {
	return score >= fits && (shared >= 2 || subjects >= 3 && score >= fitsAlone)
}

// hits reads the experiences of the best rows, and orders them. whole is the
// total weight of the words.
func (l *lookup) hits(top []scored, whole float64, limit int) ([]Hit, error) {
	least := top[0].score * tail
	if len(top) > limit {
		least = max(least, top[limit-1].score/(1+allBonuses))
	}
	if i := slices.IndexFunc(top, func(s scored) bool { return s.score < least }); i >= 0 {
		top = top[:i]
	}
	hits, err := l.load(top)
	if err != nil {
		return nil, err
	}
	newest := time.Time{}
	for _, h := range hits {
		if h.CreatedAt.After(newest) {
			newest = h.CreatedAt
		}
	}
	rank := make(map[string]float64, len(hits))
	for _, h := range hits {
		rank[h.ID] = h.Score * (1 + bonus(h.Experience, newest))
	}
	slices.SortFunc(hits, func(a, b Hit) int { return cmp.Or(cmp.Compare(rank[b.ID], rank[a.ID]), cmp.Compare(a.ID, b.ID)) })
	hits = hits[:min(limit, len(hits))]
	for i := range hits {
		hits[i].Score = min(1, hits[i].Score/whole)
	}
	return hits, nil
}

// bonus returns what is added to the text score of a hit. Ages are relative to
// the newest hit, so that the same question gets the same answer tomorrow.
func bonus(e experience.Experience, newest time.Time) float64 {
	seen := math.Log(float64(max(1, min(10, e.Seen)))) / math.Log(10)
	youth := math.Exp2(-newest.Sub(e.CreatedAt).Hours() / halfLife.Hours())
	return confidenceBonus*e.Confidence + seenBonus*seen + youthBonus*youth
}

// load reads the experiences of rows. Their scores are the text scores.
func (l *lookup) load(top []scored) ([]Hit, error) {
	have := make(map[int64]experience.Experience, len(top))
	var missing []int64
	for _, s := range top {
		if e, ok := get(l.cache, l.cache.rows, int64(s.row)); ok {
			have[int64(s.row)] = e
		} else {
			missing = append(missing, int64(s.row))
		}
	}
	if err := l.readRows(missing, have); err != nil {
		return nil, err
	}
	hits := make([]Hit, 0, len(top))
	for _, s := range top {
		if e, ok := have[int64(s.row)]; ok {
			e.Flags = slices.Clone(e.Flags)
			hits = append(hits, Hit{e, float64(s.score)})
		}
	}
	return hits, nil
}

// readRows adds the experiences of rows to have.
func (l *lookup) readRows(ids []int64, have map[int64]experience.Experience) error {
	if len(ids) == 0 {
		return nil
	}
	rows, err := l.query(l.findRows, list(ids))
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var n int64
		var e experience.Experience
		if err := scan(rows, &n, &e); err != nil {
			return err
		}
		have[n] = e
		put(l.cache, l.cache.rows, n, e, int(unsafe.Sizeof(e))+len(e.Task)+len(e.Resource)+len(e.Result))
	}
	return rows.Err()
}
