package safety

import (
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

var train = flag.Bool("train", false, "train the model, and write trained.bin and testdata/trained.txt")

// example is a text that the model is trained with or measured on.
type example struct {
	Kind, Text, Writer string
	from               string // the set it is from
	attack             bool
	ruled              bool // a rule finds it
	plainly            bool // and not only in quotation marks
	certainly          bool // a rule that is certain does so
	segments           []segment
	within             []segment // of an attack in the midst of harmless text
}

// Sets of examples, and how they are used.
const (
	near  = "near misses" // harmless texts written as such
	other = "others"      // experiences, questions, messages of groups
	wide  = "wide"        // attacks written after the rules
	made  = "made"        // put together from phrases.txt
	early = "early"       // attacks that the rules were written with
)

// sources are the files that the model is trained with.
func sources(t testing.TB) map[string][]byte {
	files := make(map[string][]byte)
	for _, pattern := range []string{"../testdata/*", "../../triage/testdata/*.jsonl"} {
		names, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, name := range names {
			data, err := os.ReadFile(name)
			require.NoError(t, err)
			if filepath.Base(name) != "README.md" && filepath.Base(name) != "questions-fresh.jsonl" {
				files[filepath.Base(name)] = data
			}
		}
	}
	return files
}

// checksum is of everything that changes what training finds.
func checksum(t testing.TB) uint64 {
	h := fnv.New64a()
	files := sources(t)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		_, _ = fmt.Fprintln(h, name, len(files[name]))
		_, _ = h.Write(files[name])
	}
	_, _ = fmt.Fprintln(h, words, rules, tableBits, minSegment, maxSegment, maxSegments, few, rounds, step, attackWeight, nearWeight, pairWeight, strangersShare)
	return h.Sum64()
}

func examples(t testing.TB) (all []*example) {
	files := sources(t)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		lines := strings.Split(strings.TrimSpace(string(files[name])), "\n")
		if name == "phrases.txt" {
			all = append(all, paired(lines)...)
			continue
		}
		for _, line := range lines {
			x := &example{from: other}
			var texts struct{ Task, Resource, Result, Q string }
			if name == "harmless.txt" {
				x.Text, x.from = line, near
			} else {
				require.NoError(t, json.Unmarshal([]byte(line), x), name)
				require.NoError(t, json.Unmarshal([]byte(line), &texts), name)
			}
			switch name {
			case "experiences.jsonl":
				x.Text = texts.Task + "\n" + texts.Resource + "\n" + texts.Result
			case "questions.jsonl":
				x.Text = texts.Q
			case "harmless-wide.jsonl", "harmless-more.jsonl", "harmless-others.jsonl":
				x.from = near
			case "attacks.jsonl", "attacks-fresh.jsonl":
				x.attack, x.from = true, early
			case "attacks-wide.jsonl", "attacks-more.jsonl", "attacks-others.jsonl":
				x.attack, x.from = true, wide
			}
			all = append(all, x)
		}
	}
	var around []string
	for _, x := range all {
		// Those of a writer who is left out must not be seen.
		if !x.attack && x.from != made && x.Writer == "" && len(x.Text) < 200 {
			around = append(around, strings.TrimRight(x.Text, ".。"))
		}
	}
	random := rand.New(rand.NewPCG(13, 17)) //nolint:gosec // repeatable
	for _, x := range all {
		s := unescape(seen(x.Text))
		x.segments = segments(s)
		if x.attack {
			other := around[random.IntN(len(around))]
			x.within = segments([]string{other + ", " + s, s + " " + other, other + ". " + s + ". " + other}[random.IntN(3)])
		}
		marked := hasMarker(s)
		x.ruled = marked || ruled(s, true, true, func(string) {})
		x.plainly = marked || ruled(s, true, false, func(string) {})
		x.certainly = marked || ruled(s, false, false, func(string) {})
	}
	return all
}

// pairings are which slots of phrases.txt make an attack of a kind, and which
// make a harmless text of the same words.
var pairings = []struct{ kind, attack, harmless string }{
	{"override", "drop orders", "drop things"},
	{"leak", "show prompt", "show page"},
	{"role", "become free", "become someone"},
	{"exfil", "send secrets to", "send mail team"},
	{"conceal", "hide this", "hide detail"},
	{"tools", "reader act", "person task"},
	{"persistence", "lasting obey", "lasting usual"},
}

// perPairing is how many texts of each pairing and language are made.
const perPairing = 40

// paired puts phrases together.
func paired(lines []string) (all []*example) {
	random := rand.New(rand.NewPCG(3, 5)) //nolint:gosec // repeatable
	slots := make(map[string][]string)
	put := func(lang, kind, names string, attack, verbLast bool) {
		for range perPairing {
			var parts []string
			for name := range strings.FieldsSeq(names) {
				parts = append(parts, slots[name][random.IntN(len(slots[name]))])
			}
			if verbLast && kind != "tools" && kind != "persistence" {
				parts = append(parts[1:], parts[0])
			}
			gap := " "
			if lang == "zh" || lang == "ja" {
				gap = ""
			}
			text := strings.Join(parts, gap)
			if random.IntN(2) == 0 {
				text += "."
			}
			all = append(all, &example{Kind: kind, Text: text, from: made, attack: attack})
		}
	}
	lang, verbLast := "", false
	end := func() {
		if lang == "" {
			return
		}
		for _, p := range pairings {
			put(lang, p.kind, p.attack, true, verbLast)
			put(lang, p.kind, p.harmless, false, verbLast)
		}
	}
	for _, line := range lines {
		if head, ok := strings.CutPrefix(line, "# "); ok {
			end()
			lang, verbLast = strings.CutSuffix(head, " reverse")
			continue
		}
		name, list, _ := strings.Cut(line, ": ")
		slots[name] = strings.Split(list, "|")
	}
	end()
	return all
}

// sample is a window with its place in training.
type sample struct {
	places []uint32
	values []float32
	attack float64 // 1 or 0
	weight float64
}

// How the regression is fitted; see docs/decisions/0021-a-model-marks-injections.md.
const (
	rounds         = 12
	step           = 0.1
	attackWeight   = 3.0  // there are fewer of them
	nearWeight     = 2.0  // harder than other harmless texts
	pairWeight     = 0.3  // they repeat each other
	strangersShare = 0.02 // of the harmless texts by writers not trained with that may be marked
	parts          = 10   // of a cross-validation
)

// samples returns the windows of a text: all of a harmless one, the whole of an
// attack, and the whole of one in the midst of something else.
func (x *example) samples() []sample {
	if x.attack && x.from != made {
		return append(x.windows(x.segments), x.windows(x.within)...)
	}
	return x.windows(x.segments)
}

func (x *example) windows(segments []segment) (all []sample) {
	weight := 1.0
	if x.attack {
		weight = attackWeight
	}
	switch x.from {
	case near:
		weight *= nearWeight
	case made:
		weight *= pairWeight
	}
	for i := range segments {
		for n := 1; n <= maxSegments && i+n <= len(segments); n++ {
			if x.attack && (i > 0 || n < min(maxSegments, len(segments))) {
				continue
			}
			s := sample{weight: weight}
			if x.attack {
				s.attack = 1
			}
			for b := range blocks {
				before := len(s.places)
				for _, g := range segments[i : i+n] {
					s.places = append(s.places, g[b]...)
				}
				v := share(len(s.places) - before)
				for range len(s.places) - before {
					s.values = append(s.values, v)
				}
			}
			all = append(all, s)
		}
	}
	return all
}

// fit returns the weights of a logistic regression by stochastic gradient descent
// with AdaGrad's steps. The bias, which is the same for all, is left to the limit.
func fit(all []*example) model {
	const bias = 1 << tableBits
	var samples []sample
	for _, x := range all {
		samples = append(samples, x.samples()...)
	}
	weights, squares := make([]float32, bias+1), make([]float32, bias+1)
	for range rounds {
		for _, i := range rand.New(rand.NewPCG(7, 7)).Perm(len(samples)) { //nolint:gosec // repeatable
			s := &samples[i]
			sum := weights[bias]
			for k, at := range s.places {
				sum += weights[at] * s.values[k]
			}
			g := float32((1/(1+math.Exp(-float64(sum))) - s.attack) * s.weight)
			change := func(at uint32, value float32) {
				d := g * value
				if squares[at] += d * d; squares[at] > 0 {
					weights[at] -= step * d / float32(math.Sqrt(float64(squares[at])))
				}
			}
			for k, at := range s.places {
				change(at, s.values[k])
			}
			change(bias, 0.3)
		}
	}
	return model{weights: weights[:bias], limit: -float64(weights[bias])}
}

// odds are those of a text by a model that was trained without its part: as it
// stands, and of an attack also in the midst of harmless text.
type odds struct{ alone, within float64 }

// held returns the odds of each text of n parts. What part says -1 of is always
// trained with.
func held(all []*example, n int, part func(*example, int) int) []odds {
	scores := make([]odds, len(all))
	var tasks sync.WaitGroup
	room := make(chan struct{}, 2)
	for p := range n {
		tasks.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			var rest []*example
			for i, x := range all {
				if part(x, i) != p {
					rest = append(rest, x)
				}
			}
			m := fit(rest)
			for i, x := range all {
				if part(x, i) == p {
					scores[i] = odds{alone: m.odds(x.segments), within: m.odds(x.within)}
				}
			}
		})
	}
	tasks.Wait()
	return scores
}

// byChance puts a text into one of n parts.
func byChance(i, n int) int {
	return rand.New(rand.NewPCG(11, uint64(i))).IntN(n) //nolint:gosec // repeatable
}

// writers are the parts of a cross-validation that leaves out one writer of the
// files of others at a time.
var writers = []string{"a", "b", "c"}

func byWriter(x *example, _ int) int { return slices.Index(writers, x.Writer) }

// limitOf returns the odds above which the model marks, so that it and the rules
// mark a share of the harmless texts by the writers.
func limitOf(all []*example, scores []odds, share float64) float64 {
	var left []float64 // what the rules do not mark
	n := 0
	for i, x := range all {
		if x.attack || x.Writer == "" {
			continue
		}
		n++
		if !x.byRule(scores[i].alone) {
			left = append(left, scores[i].alone)
		}
	}
	slices.Sort(left)
	allowed := int(share*float64(n)) - (n - len(left))
	return left[len(left)-1-max(0, allowed)]
}

// byRule reports whether a rule marks a text of such odds.
func (x *example) byRule(odds float64) bool { return x.certainly || x.plainly && odds > doubt }

// tally counts texts and those that are marked.
type tally struct{ marked, ruled, n int }

func (c tally) String() string {
	return fmt.Sprintf("%d of %d (%.1f %%)", c.marked, c.n, 100*float64(c.marked)/float64(max(1, c.n)))
}

// count tallies the attacks, alone and within other text, and the harmless texts
// that belong to a part, by writer.
func count(all []*example, scores []odds, limit float64, part func(*example, int) int) map[string]tally {
	out := make(map[string]tally)
	add := func(key string, x *example, odds float64) {
		for _, k := range []string{key, key + ", writer " + x.Writer} {
			if k == key+", writer " {
				continue
			}
			c := out[k]
			c.n++
			if x.ruled {
				c.ruled++
			}
			if odds > limit || x.byRule(odds) {
				c.marked++
			}
			out[k] = c
		}
	}
	for i, x := range all {
		switch {
		case part(x, i) < 0, x.from == early, x.from == made:
		case x.attack:
			add("attacks", x, scores[i].alone)
			add("attacks within other text", x, scores[i].within)
		case x.from == near:
			add("near misses", x, scores[i].alone)
		default:
			add("other harmless texts", x, scores[i].alone)
		}
	}
	return out
}

// TestTrain writes trained.bin and the figures of cross-validations; run it by
// go generate.
func TestTrain(t *testing.T) {
	if !*train {
		t.Skip("only for go generate")
	}
	all := examples(t)
	var report strings.Builder
	show := func(title string, scores []odds, limit float64, part func(*example, int) int) {
		fmt.Fprintln(&report, title)
		found := count(all, scores, limit, part)
		for _, k := range slices.Sorted(maps.Keys(found)) {
			fmt.Fprintf(&report, "  %s: %v, rules alone %d\n", k, found[k], found[k].ruled)
		}
	}
	strangers := held(all, len(writers), byWriter)
	for _, share := range []float64{0.01, strangersShare, 0.05} {
		show(fmt.Sprintf("a writer left out, limit at %.0f %% of their harmless texts", 100*share), strangers, limitOf(all, strangers, share), byWriter)
	}
	limit := limitOf(all, strangers, strangersShare)
	tenth := func(_ *example, i int) int { return byChance(i, parts) }
	show("a tenth left out, the limit that is shipped", held(all, parts, tenth), limit, tenth)

	m := fit(all)
	require.NoError(t, os.WriteFile("trained.bin", writeModel(m, m.limit, limit, checksum(t)), 0o600))
	require.NoError(t, os.WriteFile("testdata/trained.txt", []byte(report.String()), 0o600))
	t.Log(report.String())
}

// writeModel writes a model whose scores are odds of one at even.
func writeModel(m model, even, above float64, sum uint64) []byte {
	var most float32
	for _, w := range m.weights {
		most = max(most, max(w, -w))
	}
	scale := most / 127
	out := binary.LittleEndian.AppendUint64(nil, sum)
	for _, x := range []float32{float32(even), float32(above), scale} {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
	}
	for _, w := range m.weights {
		out = append(out, byte(int8(math.Round(float64(w/scale)))))
	}
	return out
}

// TestTrainedWithWhatIsHere keeps trained.bin in step with the words, rules and
// texts.
func TestTrainedWithWhatIsHere(t *testing.T) {
	t.Parallel()
	require.Equal(t, checksum(t), binary.LittleEndian.Uint64(trained), "run: go generate ./knowhub/safety")
}

// TestHeldOut trains with half of the texts and measures on the other.
func TestHeldOut(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	all := examples(t)
	half := func(_ *example, i int) int { return byChance(i, 2) }
	scores := held(all, 2, half)
	found := count(all, scores, limitOf(all, scores, strangersShare), half)
	t.Log(found)
	require.Greater(t, found["attacks"].marked, 2*found["attacks"].ruled)
	require.Less(t, float64(found["other harmless texts"].marked), 0.01*float64(found["other harmless texts"].n))
	require.Less(t, float64(found["near misses"].marked), 0.02*float64(found["near misses"].n))
}
