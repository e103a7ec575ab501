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

	"intenthint/internal/linear"
)

var train = flag.String("train", "", "train the model, and write trained.bin and testdata/trained.txt below this `folder`")

// example is a text that the model is trained with or measured on.
type example struct {
	Kind, Lang, Text, Writer string
	from                     string // the set it is from
	attack                   bool
	size                     int  // how many harmless texts a joined one has
	alone                    view // as it stands
	within                   view // of an attack in the midst of harmless text, and of some harmless texts with an address
}

// A view is what rules and model see of a text.
type view struct {
	segments []segment
	matches  matches
	marker   marker
}

func viewOf(s string) view {
	s = unescape(seen(s))
	return view{segments: segments(s), matches: matching(s), marker: markerIn(s)}
}

// ruled reports whether a rule or a marker finds something, whatever the model says.
func (v view) ruled() bool { return v.marker != noMarker || len(v.matches.all) > 0 }

// Sets of examples, and how they are used.
const (
	near  = "near misses" // harmless texts written as such
	other = "others"      // experiences, questions, messages of groups
	wide  = "wide"        // attacks written after the rules
	prose = "prose"       // what people write to each other and to assistants, with attacks in that manner
	made  = "made"        // put together from phrases.txt
	early = "early"       // attacks that the rules were written with
	joint = "joined"      // several harmless texts of a file and writer; only trained with
	long  = "long"        // several harmless texts of a writer, with an attack or without; only measured
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
	_, _ = fmt.Fprintln(h, words, rules, tableBits, minSegment, maxSegment, maxSegments, few, rounds, step, short, harmlessWeight, pairWeight, perSegment, jointWeight, proseWeight, proseAttack, perJoined, shipped, sizes, draws, tails)
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
			case "harmless-wide.jsonl", "harmless-more.jsonl", "harmless-others.jsonl", "harmless-langs.jsonl", "harmless-plain.jsonl":
				x.from = near
			case "attacks.jsonl", "attacks-fresh.jsonl":
				x.attack, x.from = true, early
			case "attacks-wide.jsonl", "attacks-more.jsonl", "attacks-others.jsonl", "attacks-langs.jsonl", "attacks-plain.jsonl":
				x.attack, x.from = true, wide
			case "harmless-people.jsonl":
				x.from = prose
			case "attacks-people.jsonl":
				x.attack, x.from = true, prose
			}
			all = append(all, x)
		}
	}
	all = append(all, joined(all)...)
	var around []string
	for _, x := range all {
		// Those of a writer who is left out must not be seen.
		if !x.attack && x.from != made && x.from != joint && x.Writer == "" && len(x.Text) < 200 {
			around = append(around, strings.TrimRight(x.Text, ".。"))
		}
	}
	random := rand.New(rand.NewPCG(13, 17)) //nolint:gosec // repeatable
	for _, x := range all {
		x.alone = viewOf(x.Text)
		switch {
		case x.from == near && random.IntN(3) == 0:
			x.within = viewOf(x.Text + tails[random.IntN(len(tails))])
		case x.attack:
			other := around[random.IntN(len(around))]
			x.within = viewOf([]string{other + ", " + x.Text, x.Text + " " + other, other + ". " + x.Text + ". " + other}[random.IntN(3)])
		}
	}
	return all
}

// perJoined is how many texts are joined to one.
const perJoined = 4

// joined joins harmless texts that follow each other. Most of them are a sentence
// long, so that a model trained with them alone takes any window of several for an
// attack: every word that attacks have more often adds to it.
func joined(all []*example) (out []*example) {
	var texts []string
	for i, x := range all {
		if x.attack || x.from == made {
			texts = nil
			continue
		}
		if i > 0 && all[i-1].Writer != x.Writer {
			texts = nil
		}
		if texts = append(texts, x.Text); len(texts) == perJoined {
			out = append(out, &example{Text: strings.Join(texts, "\n\n"), Writer: x.Writer, from: joint})
			texts = nil
		}
	}
	return out
}

// tails are put behind harmless texts: most attacks have one, so a model would
// take an address for the sign of an attack.
var tails = []string{
	" See https://docs.acme.dev/guide for details.", " Docs: https://wiki.corp.io/x", " (https://git.example/acme/app/issues/12)", " Source: https://blog.acme.com/post",
	" (ops@corp.de)", " Questions go to help@shop.example.", " - ask anna@firm.fr", ", https://api.acme.com/v2/orders", " at 10.0.3.7:8080", " Siehe https://intern.firma.de/wiki.",
	" Voir https://docs.acme.fr/x.", " Más en https://acme.es/guia", " 详见 https://docs.acme.cn/a", "（https://wiki.acme.jp/b）", " 詳細は https://docs.acme.jp/c を参照", " Подробнее: https://wiki.acme.ru/d",
}

// sizes are how many harmless texts a long text has, and draws how many long texts
// there are of each size and writer, with an attack and without.
var sizes = []int{3, 10, 20, 40}

const draws = 150

// longs joins harmless texts of the same writer, for each of them also with an attack
// of that writer at any place.
func longs(all []*example) (out []*example) {
	random := rand.New(rand.NewPCG(23, 29)) //nolint:gosec // repeatable
	for _, writer := range writers {
		var harmless, attacks []string
		for _, x := range all {
			switch {
			case x.Writer != writer:
			case x.attack:
				attacks = append(attacks, x.Text)
			default:
				harmless = append(harmless, x.Text)
			}
		}
		for _, size := range sizes {
			for range draws {
				var texts []string
				for range size {
					texts = append(texts, harmless[random.IntN(len(harmless))])
				}
				gap := []string{" ", "\n", "\n\n"}[random.IntN(3)]
				out = append(out, &example{Writer: writer, from: long, size: size, alone: viewOf(strings.Join(texts, gap))})
				if len(attacks) == 0 { // the writer of ordinary texts with addresses
					continue
				}
				texts = slices.Insert(texts, random.IntN(size+1), attacks[random.IntN(len(attacks))])
				out = append(out, &example{Writer: writer, from: long, size: size, attack: true, alone: viewOf(strings.Join(texts, gap))})
			}
		}
	}
	return out
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

// How the regression is fitted; see docs/decisions/0021-a-model-marks-injections.md.
const (
	rounds         = 18
	step           = 0.3
	harmlessWeight = 32.0 // found by cross-validation
	pairWeight     = 0.3  // they repeat each other
	jointWeight    = 0.3  // of joined texts, relative to harmless ones: they have been trained with already
	proseWeight    = 3.0  // of prose, relative to harmless texts: there is less of it
	proseAttack    = 4.0  // of attacks in that manner, relative to others
	// perSegment is by how much the odds of a window must be higher for each further
	// segment.
	perSegment     = 0.75
	strangersShare = 0.012 // of the harmless texts by plain writers that a model for tests may mark
	parts          = 3     // of a cross-validation by chance
	writerParts    = 3     // of one by writers
)

// shipped is the limit of the model in the binary. It and perSegment were chosen on
// what people wrote (the even lines of mails, long prompts, NotInject and CyberSecEval):
//
//	go -C tools run ./injections -lines even -sweep DIR
var shipped = limit{above: -0.4, slope: 4}

// samples returns the windows of a text: all of a harmless one, the whole of an
// attack; and, unless it is made of phrases, those of the text with something else.
func (x *example) samples() []*linear.Sample {
	if x.from == made {
		return x.windows(x.alone.segments)
	}
	return append(x.windows(x.alone.segments), x.windows(x.within.segments)...)
}

// weight is how much a window of the example counts.
func (x *example) weight() float64 {
	switch {
	case x.from == made:
		return pairWeight
	case x.from == prose && x.attack:
		return proseAttack
	case x.attack:
		return 1
	case x.from == joint:
		return jointWeight * harmlessWeight
	case x.from == prose:
		return proseWeight * harmlessWeight
	}
	return harmlessWeight
}

func (x *example) windows(segments []segment) (all []*linear.Sample) {
	weight := x.weight()
	for i := range segments {
		for n := 1; n <= maxSegments && i+n <= len(segments); n++ {
			switch {
			case x.attack && (i > 0 || n < min(maxSegments, len(segments))):
				continue
			case x.from == joint && (i%2 > 0 || n < 3):
				continue
			}
			s := &linear.Sample{Weight: weight, Index: []int32{bias, bias + int32(n)}, Value: []float32{1, 1}}
			if x.attack {
				s.Target = 1
			}
			for b := range blocks {
				before := len(s.Index)
				for _, g := range segments[i : i+n] {
					for _, place := range g[b] {
						s.Index = append(s.Index, int32(place)) //nolint:gosec // below 1<<tableBits
					}
				}
				v := float32(share(len(s.Index) - before))
				for range len(s.Index) - before {
					s.Value = append(s.Value, v)
				}
			}
			all = append(all, s)
		}
	}
	return all
}

// bias is the place of a weight that every window has: the odds of an attack whatever
// the text. Behind it is one for each number of segments. The limits take them over.
const bias = 1 << tableBits

// fit returns a logistic regression: the mean of the rounds of the second half.
func fit(all []*example) model {
	var samples []*linear.Sample
	for _, x := range all {
		if x.from != long {
			samples = append(samples, x.samples()...)
		}
	}
	mean := linear.Logistic{Rounds: rounds, Step: step, Seed: 7, Mean: rounds - rounds/2}.Fit(samples, bias+1+maxSegments)
	var most float64
	for _, w := range mean[:bias] {
		most = max(most, math.Abs(float64(w)))
	}
	m := model{weights: make([]byte, bias), scale: most / math.MaxInt8}
	for n := range m.limits {
		m.limits[n] = perSegment*float64(n) - float64(mean[bias]+mean[bias+1+n])
	}
	for i, w := range mean[:bias] {
		m.weights[i] = byte(int8(math.Round(float64(w) / m.scale)))
	}
	return m
}

// A verdict is that of a model which was trained without a text, and of the rules.
type verdict struct {
	odds   float64
	rules  float64 // the odds of what rules find, see matches.odds
	length float64 // see length
}

func (m model) verdict(v view) verdict {
	out := verdict{odds: m.odds(v.segments), rules: v.matches.odds(m), length: length(len(v.segments))}
	if v.marker.counts(out.odds) {
		out.rules = math.Inf(1)
	}
	return out
}

// excess is that of model.excess, for another slope.
func (v verdict) excess(slope float64) float64 { return v.odds - slope*v.length }

// ruled reports whether rules mark the text.
func (v verdict) ruled(slope float64) bool { return v.rules-slope*v.length > doubt }

// A limit is what makes odds a mark.
type limit struct{ above, slope float64 }

func (l limit) marks(v verdict) bool { return v.ruled(l.slope) || v.excess(l.slope) > l.above }

// verdicts are those of a text as it stands, and of an attack also in the midst of
// harmless text.
type verdicts struct{ alone, within verdict }

// held returns the verdicts on each text of n parts. What part says -1 of is always
// trained with.
func held(all []*example, n int, part func(*example, int) int) []verdicts {
	scores := make([]verdicts, len(all))
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
					scores[i] = verdicts{alone: m.verdict(x.alone), within: m.verdict(x.within)}
				}
			}
		})
	}
	tasks.Wait()
	return scores
}

// byChance puts a text into one of n parts, and long ones, which hold others, into
// none.
func byChance(n int) func(*example, int) int {
	return func(x *example, i int) int {
		if x.from == long {
			return -1
		}
		return rand.New(rand.NewPCG(11, uint64(i))).IntN(n) //nolint:gosec // repeatable
	}
}

// writers are those of the files of others, of whom a cross-validation leaves out some
// at a time. The first three wrote attacks that look harmless, and
// harmless texts that look like attacks; the plain writers wrote what turns up.
var (
	writers = []string{"a", "b", "c", "d", "e", "f", "g", "h", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t", "u", "v", "w", "x", "y", "z", "aa", "bb", "cc", "dd", "ee", "ff"}
	plain   = writers[3:]
)

// byWriter puts the texts of a writer into one of writerParts parts, with those of
// others.
func byWriter(x *example, _ int) int {
	if i := slices.Index(writers, x.Writer); i >= 0 {
		return i % writerParts
	}
	return -1
}

// limitOf returns the limit by which model and rules mark a share of the harmless
// texts by the plain writers, and the model no larger share of the long ones.
func limitOf(all []*example, scores []verdicts, share float64) limit {
	for slope := 0.0; ; slope += 0.01 {
		var single, joined []float64 // what the rules do not mark
		n := 0
		for i, x := range all {
			if x.attack || !slices.Contains(plain, x.Writer) {
				continue
			}
			v := scores[i].alone
			if x.from != long {
				n++
			}
			switch {
			case v.ruled(slope):
			case x.from == long:
				joined = append(joined, v.excess(slope))
			default:
				single = append(single, v.excess(slope))
			}
		}
		slices.Sort(single)
		slices.Sort(joined)
		allowed := max(0, int(share*float64(n))-(n-len(single)))
		l := limit{above: single[len(single)-1-allowed], slope: slope}
		if len(joined) == 0 || joined[len(joined)-1-allowed*len(joined)/len(single)] <= l.above {
			return l
		}
	}
}

// tally counts texts and those that are marked.
type tally struct{ marked, ruled, n int }

func (c tally) String() string {
	return fmt.Sprintf("%d of %d (%.1f %%)", c.marked, c.n, 100*float64(c.marked)/float64(max(1, c.n)))
}

// count tallies the attacks, alone and within other text, and the harmless texts
// that belong to a part, by writer or language.
func count(all []*example, scores []verdicts, l limit, part func(*example, int) int) map[string]tally {
	out := make(map[string]tally)
	for i, x := range all {
		if part(x, i) < 0 || x.from == early || x.from == made || x.from == joint {
			continue
		}
		add := func(name string, text view, v verdict) {
			keys := []string{name}
			switch {
			case x.Writer != "":
				keys = append(keys, name+", writer "+x.Writer)
			case x.Lang != "":
				keys = append(keys, name+", "+x.Lang)
			}
			for _, k := range keys {
				c := out[k]
				c.n++
				if text.ruled() {
					c.ruled++
				}
				if l.marks(v) {
					c.marked++
				}
				out[k] = c
			}
		}
		switch {
		case x.from == long && x.attack:
			add(fmt.Sprintf("attacks within %2d harmless texts", x.size), x.alone, scores[i].alone)
		case x.from == long:
			add(fmt.Sprintf("%2d harmless texts", x.size), x.alone, scores[i].alone)
		case x.attack:
			add("attacks", x.alone, scores[i].alone)
			add("attacks within other text", x.within, scores[i].within)
		case x.from == near:
			add("near misses", x.alone, scores[i].alone)
			if len(x.within.segments) > 0 {
				add("near misses with an address", x.within, scores[i].within)
			}
		case x.from == prose:
			add("what people write", x.alone, scores[i].alone)
		default:
			add("other harmless texts", x.alone, scores[i].alone)
		}
	}
	return out
}

// TestTrain writes trained.bin and the figures of cross-validations; run it by
// tools/weights. With -short it only shows that a model can be trained.
func TestTrain(t *testing.T) {
	if *train == "" {
		t.Skip("only for go generate")
	}
	all := examples(t)
	if testing.Short() {
		trainQuickly(t, all)
		return
	}
	m := fit(all)
	m.above, m.slope = shipped.above, shipped.slope
	require.NoError(t, os.WriteFile(filepath.Join(*train, "trained.bin"), writeModel(m, checksum(t)), 0o600))

	all = append(all, longs(all)...)
	var report strings.Builder
	show := func(title string, scores []verdicts, l limit, part func(*example, int) int) {
		fmt.Fprintf(&report, "%s (%.2f, and %.2f more for e times the length)\n", title, l.above, l.slope)
		found := count(all, scores, l, part)
		for _, k := range slices.Sorted(maps.Keys(found)) {
			fmt.Fprintf(&report, "  %s: %v, rules alone %d\n", k, found[k], found[k].ruled)
		}
	}
	strangers := held(all, writerParts, byWriter)
	show("writers left out, the limit that is shipped", strangers, shipped, byWriter)
	for _, share := range []float64{0.01, 0.05} {
		show(fmt.Sprintf("writers left out, limit at %.1f %% of their harmless texts", 100*share), strangers, limitOf(all, strangers, share), byWriter)
	}
	third := byChance(parts)
	show("a third left out, the limit that is shipped", held(all, parts, third), shipped, third)
	require.NoError(t, os.WriteFile(filepath.Join(*train, "testdata", "trained.txt"), []byte(report.String()), 0o600))
	t.Log(report.String())
}

// trainQuickly trains with a third of the texts and without the cross-validations,
// and writes a trained.bin that is for no texts.
func trainQuickly(t *testing.T, all []*example) {
	var third []*example
	for i, x := range all {
		if i%3 == 0 {
			third = append(third, x)
		}
	}
	m := fit(third)
	scores := make([]verdicts, len(third))
	for i, x := range third {
		scores[i] = verdicts{alone: m.verdict(x.alone), within: m.verdict(x.within)}
	}
	l := limitOf(third, scores, strangersShare)
	m.above, m.slope = l.above, l.slope
	data := writeModel(m, 0)
	read := readModel(data)
	marked, attacks := 0, 0
	for _, x := range all {
		if x.attack {
			attacks++
			if read.marks(x.alone.segments) {
				marked++
			}
		}
	}
	t.Logf("%d of %d attacks marked", marked, attacks)
	require.Greater(t, marked, attacks/2)
	require.NoError(t, os.WriteFile(filepath.Join(*train, "trained.bin"), data, 0o600))
}

// writeModel writes what readModel reads.
func writeModel(m model, sum uint64) []byte {
	out := binary.LittleEndian.AppendUint64(nil, sum)
	for _, x := range append([]float64{m.above, m.slope, m.scale}, m.limits[:]...) {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(x)))
	}
	return append(out, m.weights...)
}

// TestHeldOut trains with half of a third of the texts and measures on the other
// half.
func TestHeldOut(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	var all []*example
	for i, x := range examples(t) {
		if i%3 == 0 {
			all = append(all, x)
		}
	}
	half := byChance(2)
	scores := held(all, 2, half)
	found := count(all, scores, limitOf(all, scores, strangersShare), half)
	t.Log(found)
	require.Greater(t, found["attacks"].marked, 2*found["attacks"].ruled)
	require.Less(t, float64(found["other harmless texts"].marked), 0.01*float64(found["other harmless texts"].n))
	require.Less(t, float64(found["near misses"].marked), 0.05*float64(found["near misses"].n), "limited to less of those of plain writers")
}
