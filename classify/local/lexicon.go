package local

import "math/bits"

// lexicon numbers the features of the training texts and says what each is worth. The
// numbers of features that many texts have come first, then those of few texts, then
// those of one text.
type lexicon struct {
	common, rare, single table
	nCommon, nShared     int // numbers below these are of features of many, and of several texts
	n                    int
	worths               []byte  // by feature of several texts: its worth in parts of unknown
	unknown              float32 // what a feature that was never seen is worth
	// chat tells how common a feature is, see [background]; it may be nil. byUsers are
	// what features are worth by how many intents use them.
	chat    *background
	byUsers []float32
}

const (
	// worthParts is how many parts of the worth of an unknown feature, the greatest, are
	// told apart.
	worthParts = 255
	// maxRare is how many texts have a rare feature at most. Its weights follow from these
	// texts in little more time than it takes to read them, and are not kept.
	maxRare = 8
)

// newLexicon numbers features by their hashes, which ascend in each of the three groups.
func newLexicon(hashes []uint64, common, shared int) *lexicon {
	return &lexicon{
		common: newTable(hashes[:common]), rare: newTable(hashes[common:shared]), single: newTable(hashes[shared:]),
		nCommon: common, nShared: shared, n: len(hashes),
	}
}

// lookup returns the number of a feature and its worth, or -1 for the number.
func (l *lexicon) lookup(f *feature) (id int32, worth float32) {
	if id = l.find(f.hash); id < 0 {
		return -1, 0
	}
	return id, l.worthOf(id, f)
}

// worthOf returns what a feature with a number is worth.
func (l *lexicon) worthOf(id int32, f *feature) float32 {
	if int(id) < l.nShared {
		return l.unknown / worthParts * float32(l.worths[id]) * f.weight
	}
	users := 1
	if l.chat != nil {
		users += l.chat.usersOf(f.hash)
	}
	return l.byUsers[min(users, len(l.byUsers)-1)] * f.weight
}

func (l *lexicon) find(hash uint64) int32 {
	if i := l.common.find(hash); i >= 0 {
		return i
	}
	if i := l.rare.find(hash); i >= 0 {
		return int32(l.nCommon) + i
	}
	if i := l.single.find(hash); i >= 0 {
		return int32(l.nShared) + i
	}
	return -1
}

// ofUnknown returns what a feature is worth that no training text has.
func (l *lexicon) ofUnknown(f *feature) float32 {
	if l.chat == nil {
		return l.unknown * f.weight
	}
	return l.byUsers[min(l.chat.usersOf(f.hash), len(l.byUsers)-1)] * f.weight
}

// weigh sets the worth of each feature of several texts, by the number of its users, so
// that the worth is a whole number of parts.
func (l *lexicon) weigh(users []int32, byUsers []float32) {
	l.byUsers, l.unknown, l.worths = byUsers, byUsers[0], make([]byte, l.nShared)
	for id := range l.worths {
		worth := byUsers[min(int(users[id]), len(byUsers)-1)]
		l.worths[id] = byte(worth/l.unknown*worthParts + 0.5)
	}
}

// table finds the places of hashes in their order. A hash has a bucket by its first bits;
// the next bits tell it from the others there, but for one in a million.
type table struct {
	shift  int  // 64 less the bits that say the bucket
	starts u32s // by bucket: the place of its first hash; one more at the end
	marks  u24s
}

const (
	bucketBits = 3  // of the number of hashes in a bucket
	markBits   = 24 // of a hash, to tell it from others of its bucket
)

// newTable returns the table of hashes that ascend.
func newTable(hashes []uint64) table {
	size := max(0, bits.Len(uint(len(hashes)))-bucketBits)
	t := table{shift: 64 - size}
	at := 0
	for bucket := range uint64(1) << size {
		t.starts = t.starts.add(at)
		for at < len(hashes) && hashes[at]>>t.shift == bucket {
			t.marks = t.marks.add(t.mark(hashes[at]))
			at++
		}
	}
	t.starts = t.starts.add(at)
	return t
}

func (t *table) mark(hash uint64) uint32 { return uint32(hash << (64 - t.shift) >> (64 - markBits)) }

// find returns the place of a hash, -1 if it is not there.
func (t *table) find(hash uint64) int32 {
	bucket, mark := int(hash>>t.shift), t.mark(hash)
	for i, end := t.starts.at(bucket), t.starts.at(bucket+1); i < end; i++ {
		if t.marks.at(i) == mark {
			return int32(i)
		}
	}
	return -1
}

// openTable returns the table of the given parts.
func openTable(starts, marks []byte) table {
	return table{shift: 64 - bits.Len(uint(u32s(starts).len()-2)), starts: starts, marks: marks}
}
