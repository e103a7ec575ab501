package index

import "slices"

// top keeps the first of many values: a heap with the last of those that are kept at its
// root, which the next value must come before.
type top[T any] struct {
	most  int
	order func(a, b T) int // negative if a comes before b
	heap  []T
}

func (t *top[T]) add(v T) {
	if len(t.heap) < t.most {
		t.heap = append(t.heap, v)
		for i := len(t.heap) - 1; i > 0 && t.order(t.heap[(i-1)/2], t.heap[i]) < 0; i = (i - 1) / 2 {
			t.heap[i], t.heap[(i-1)/2] = t.heap[(i-1)/2], t.heap[i]
		}
		return
	}
	if t.order(v, t.heap[0]) >= 0 {
		return
	}
	t.heap[0] = v
	for i := 0; ; {
		last := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(t.heap); child++ {
			if t.order(t.heap[last], t.heap[child]) < 0 {
				last = child
			}
		}
		if last == i {
			return
		}
		t.heap[i], t.heap[last] = t.heap[last], t.heap[i]
		i = last
	}
}

// sorted returns the values that were kept, in their order. No more can be added.
func (t *top[T]) sorted() []T {
	slices.SortFunc(t.heap, t.order)
	return t.heap
}
