package intents

import (
	"slices"
	"strings"

	"intenthint/internal/glob"
)

// FallbackID is the intent of a message that fits no other; it always exists,
// and deny lists do not affect it (contract §7).
const FallbackID = "OTHER"

// MaxExample is the longest text that is added to the examples of an intent, in
// characters. Longer messages are mostly pasted text.
const MaxExample = 200

// Intent is one category of messages, defined in a Markdown file.
type Intent struct {
	ID   string
	Name string
	// Triggers describe in words when the intent applies; there is at least one,
	// except for the built-in fallback.
	Triggers []string
	// Examples are messages as people write them.
	Examples []string
	// Learnt are further examples that are not in a file: see [Catalog.WithExamples].
	Learnt []string
	// Domain is the category that the intent is listed under; if it is "", the
	// prefix of the id is used (contract §6).
	Domain string
	// Complexity is what the complexity prompt of its hints is chosen by, whatever
	// the classification says: low, medium, high or [ComplexityNone]; "" for the
	// classification's own (contract §7).
	Complexity string
	// Fastpath is an answer without a classifier; the zero value means none.
	Fastpath Fastpath
	// Prompt is the body of the file: advice for the main agent.
	Prompt string
	// File is the name of the file that the intent was read from.
	File string
}

// ComplexityNone is the complexity of an intent whose hints have no built-in
// complexity prompt.
const ComplexityNone = "none"

// Fastpath answers messages that are, as a whole, one of its keywords (contract
// §6).
type Fastpath struct {
	Keywords []string
	// Hint is the body of their hint.
	Hint string
}

// Catalog is an immutable set of enabled intents and the fallback. A request
// uses the same catalogue from beginning to end, regardless of reloads.
type Catalog struct {
	enabled  []Intent // sorted by id
	fallback Intent
	byID     map[string]int // upper-cased id → position in enabled; fallback is -1
	root     *Catalog       // the catalogue this one was narrowed from, or itself
	keywords keywords       // in a root only
	skills   []string       // in a root only
	allowed  []bool         // by position in root.enabled; nil if nothing is denied
}

// NewCatalog returns the catalogue of the given intents. An intent with id
// [FallbackID] (in any case) becomes the fallback; without one the built-in
// fallback is used. Ids are unique ignoring case: of two equal ids the later
// wins.
func NewCatalog(intents []Intent) *Catalog {
	c := &Catalog{fallback: builtinFallback(), byID: make(map[string]int, len(intents)+1)}
	latest := make(map[string]Intent, len(intents))
	for _, in := range intents {
		latest[strings.ToUpper(in.ID)] = in
	}
	for id, in := range latest {
		if id == FallbackID {
			in.ID = FallbackID
			c.fallback = in
			continue
		}
		c.enabled = append(c.enabled, in)
	}
	slices.SortFunc(c.enabled, func(a, b Intent) int { return strings.Compare(a.ID, b.ID) })
	c.index()
	c.root, c.keywords, c.skills = c, keywordsOf(c.enabled, c.fallback), skillsOf(c.enabled, c.fallback)
	return c
}

func (c *Catalog) index() {
	for i, in := range c.enabled {
		c.byID[strings.ToUpper(in.ID)] = i
	}
	c.byID[FallbackID] = theFallback
}

// WithExamples returns the root with learnt examples for its intents and the
// fallback, by id: the local classifier learns from them, but models do not see
// them. Each list replaces the previous one; unknown ids are ignored.
func (c *Catalog) WithExamples(examples map[string][]string) *Catalog {
	root := c.root
	out := &Catalog{fallback: root.fallback, byID: root.byID, keywords: root.keywords, skills: root.skills}
	out.enabled = slices.Clone(root.enabled)
	for i := range out.enabled {
		out.enabled[i].Learnt = examples[out.enabled[i].ID]
	}
	out.fallback.Learnt = examples[FallbackID]
	out.root = out
	return out
}

// Enabled returns the intents in order of their ids, without the fallback. The
// slice is shared: do not modify it.
func (c *Catalog) Enabled() []Intent { return c.enabled }

// Fallback returns the intent of a message that fits no other.
func (c *Catalog) Fallback() Intent { return c.fallback }

// Skills returns the names of the skills that prompts of the root name (contract
// §7), sorted, each once ignoring case. The slice is shared: do not modify it.
func (c *Catalog) Skills() []string { return c.root.skills }

// FewExamples is the number of examples below which [Catalog.Thin] names an
// intent. With 5 examples per intent the local classifier is right on 70 to 79
// % of the messages of public sets, with 10 on 76 to 86 % (docs/figures.md).
const FewExamples = 10

// Thin returns the ids of the intents with fewer than [FewExamples] examples, and
// of the fallback if it has none.
func (c *Catalog) Thin() []string {
	var ids []string
	for _, in := range c.enabled {
		if len(in.Examples) < FewExamples {
			ids = append(ids, in.ID)
		}
	}
	if len(c.fallback.Examples) == 0 {
		ids = append(ids, FallbackID)
	}
	return ids
}

// Lookup finds an intent, or the fallback, by its id, ignoring case.
func (c *Catalog) Lookup(id string) (Intent, bool) {
	i, ok := c.byID[strings.ToUpper(id)]
	switch {
	case !ok:
		return Intent{}, false
	case i < 0:
		return c.fallback, true
	}
	return c.enabled[i], true
}

// Root returns the catalogue from which this one was narrowed by [Catalog.Without],
// or the catalogue itself. Classifiers are trained on roots.
func (c *Catalog) Root() *Catalog { return c.root }

// Allowed reports for each intent of the root, by position, whether it is in
// this catalogue; nil means all of them.
func (c *Catalog) Allowed() []bool { return c.allowed }

// Without returns the catalogue without the intents whose id matches one of the
// patterns (globs * and ?, ignoring case). The fallback stays.
func (c *Catalog) Without(patterns []string) *Catalog {
	if len(patterns) == 0 {
		return c
	}
	out := &Catalog{fallback: c.fallback, byID: make(map[string]int, len(c.byID)), root: c.root}
	out.allowed = make([]bool, len(c.root.enabled))
	for i, in := range c.root.enabled {
		if _, here := c.Lookup(in.ID); !here || glob.MatchAny(patterns, in.ID) {
			continue
		}
		out.allowed[i] = true
		out.enabled = append(out.enabled, in)
	}
	out.index()
	if len(out.enabled) == len(c.root.enabled) {
		return c.root
	}
	return out
}

// builtinFallback is the bundled file with id [FallbackID].
func builtinFallback() Intent {
	files := bundledFiles()
	return files[slices.IndexFunc(files, func(f File) bool { return f.Intent.ID == FallbackID })].Intent
}
