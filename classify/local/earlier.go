package local

import (
	"hash/maphash"
	"slices"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"
)

// maxJudged bounds the messages whose verdicts are kept: those of some thousand sessions,
// in less than 3 MB.
const maxJudged = 4096

// judged are verdicts on whole messages that a model has given. Each message of a
// conversation is read again with every later one, for which its verdict is the same. It
// is safe for concurrent use.
type judged struct {
	seed  maphash.Seed
	cache *lru.Cache[uint64, judgement]
}

// judgement is the verdict on a message, and the scores of the intents.
type judgement struct {
	verdict verdict
	scores  []float32
}

func newJudged() *judged {
	// It fails only for a size that is not positive.
	cache, _ := lru.New[uint64, judgement](maxJudged)
	return &judged{seed: maphash.MakeSeed(), cache: cache}
}

func (j *judged) get(message string, scores []float32) (verdict, bool) {
	found, ok := j.cache.Get(maphash.String(j.seed, message))
	copy(scores, found.scores)
	return found.verdict, ok
}

func (j *judged) put(message string, v *verdict, scores []float32) {
	kept := *v
	kept.also = strings.Clone(v.also) // it may be a part of a long message
	j.cache.Add(maphash.String(j.seed, message), judgement{kept, slices.Clone(scores)})
}

// remembers reports whether verdicts that are given so are kept: those by words, of the
// whole catalogue, and of a model that is trained.
func (m *Model) remembers(sc *scratch, allowed []bool, by *embedding) bool {
	return m.judged != nil && allowed == nil && by == nil && sc.known == nil
}

// requestBefore is [Model.request] for a message before the latest one. Of sc it sets the
// scores only, if the verdict is known.
func (m *Model) requestBefore(sc *scratch, message string, allowed []bool, by *embedding) verdict {
	if !m.remembers(sc, allowed, by) {
		return m.request(sc, message, allowed, by)
	}
	if v, ok := m.judged.get(message, sc.scores); ok {
		return v
	}
	v := m.request(sc, message, allowed, by)
	m.judged.put(message, &v, sc.scores)
	return v
}
