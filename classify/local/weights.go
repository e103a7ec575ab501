package local

// weights are the weights of each feature for each class. Two thirds of the
// features occur in a single training text: their weights follow from that text
// and are not stored.
type weights struct {
	classes int
	blocks  []block // the weights of features below shared
	shared  int

	// By feature, from shared on: its row and its value there.
	row   []int32
	value []float32

	pull  []float32 // [row][class]: the dual variable, with its sign
	class []int32   // by row; -1 for the fallback
	// alone is the naive Bayes weight of a feature of one row for the row's class,
	// absent that for every other class.
	alone, absent []float32
}

// score sets out to the scores of a message by class. shared is how many of the ids
// are below w.shared; these come first.
func (w *weights) score(out []float32, ids []int32, values []float32, shared int) {
	for i := range w.blocks {
		fetch(w.blocks[i].weights, ids[:shared], w.blocks[i].width)
	}
	score(out, w.blocks, ids[:shared], values[:shared])
	sum := float32(0)
	for k, id := range ids[shared:] {
		v, i := values[shared+k], w.row[int(id)-w.shared]
		sum += v
		axpy(out, w.pull[int(i)*w.classes:][:w.classes], v*w.value[int(id)-w.shared])
		if c := w.class[i]; c >= 0 {
			out[c] += v * (w.alone[c] - w.absent[c])
		}
	}
	if sum != 0 {
		axpy(out, w.absent, sum)
	}
}

// fetch reads once from each cache line of the rows of a matrix, so that memory
// delivers them side by side and not one after the other.
//
//go:noinline
func fetch(matrix []float32, ids []int32, width int) (sum float32) {
	if width == 0 {
		return 0
	}
	for _, id := range ids {
		row := matrix[int(id)*width:][:width]
		for i := 0; i < width; i += lineFloats {
			sum += row[i]
		}
		sum += row[width-1]
	}
	return sum
}

// lineFloats is how many weights a cache line of 64 bytes has.
const lineFloats = 16

// of returns the weight of a feature for a class.
func (w *weights) of(id int32, class int) float32 {
	if int(id) < w.shared {
		for i := range w.blocks {
			if b := &w.blocks[i]; class < b.first+b.width {
				return b.weights[int(id)*b.width+class-b.first]
			}
		}
	}
	i := w.row[int(id)-w.shared]
	out := w.pull[int(i)*w.classes+class] * w.value[int(id)-w.shared]
	if int(w.class[i]) == class {
		return out + w.alone[class]
	}
	return out + w.absent[class]
}
