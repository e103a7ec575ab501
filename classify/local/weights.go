package local

// weights are the weights of each feature for each class, and of a text without any. Those
// of a feature of few texts follow from the texts and are not stored.
type weights struct {
	classes  int
	constant []float32 // by class: what every text has
	absent   []float32 // by class: what every feature has beside its own weights, times its value
	// ratio is naive Bayes' of a feature that one class alone has.
	ratio float32
	// common are the weights of features of many texts, by feature and class, and
	// commonScale what they are to be multiplied by, by feature.
	common      []byte
	commonScale f32s
	// By row: its dual variables that are not zero, each with its class, and what they
	// are to be multiplied by. dual is where those of a row begin; one more at the end.
	dual      u32s
	dualClass u16s
	dualValue []byte
	dualScale f32s
}

// score sets out to the scores by class of the message that sc has read.
func (m *Model) score(out []float32, sc *scratch) {
	w := &m.weights
	copy(out, w.constant)
	sum := float32(0)
	for k, id := range sc.ids {
		v := sc.values[k]
		sum += v
		m.addWeights(out, id, v, sc.views[k], sc.worth[k])
	}
	axpy(out, w.absent, sum)
}

// addWeights adds v times the weights of a feature to out, but for absent.
func (m *Model) addWeights(out []float32, id int32, v float32, view view, worth float32) {
	w := &m.weights
	if int(id) < m.lexicon.nCommon {
		axpyInt8(out, w.common[int(id)*w.classes:], v*w.commonScale.at(int(id)))
		return
	}
	var (
		memory [maxRare]int32
		values [maxRare]float32
	)
	rows, total := m.postings.few(id, &memory), float32(0)
	for i, row := range rows {
		x := m.postings.value(row, view, worth)
		w.addDuals(out, int(row), v*x)
		values[i] = x * m.samples[row].cost() / exampleCost
		total += values[i]
	}
	for i := 0; i < len(rows); {
		class, sum := m.postings.class[rows[i]], float32(0)
		for ; i < len(rows) && m.postings.class[rows[i]] == class; i++ {
			sum += values[i]
		}
		if int(class) < w.classes {
			out[class] += v * bayes(sum, total, w.ratio)
		}
	}
}

// addDuals adds v times the dual variables of a row to out.
func (w *weights) addDuals(out []float32, row int, v float32) {
	v *= w.dualScale.at(row)
	for i, end := w.dual.at(row), w.dual.at(row+1); i < end; i++ {
		out[w.dualClass.at(i)] += v * float32(int8(w.dualValue[i]))
	}
}

// bayes returns the naive Bayes weight of a feature for a class, given its mass there and
// in all.
func bayes(mass, total, ratio float32) float32 {
	if mass == total {
		return bayesWeight * log32(ratio+1)
	}
	return bayesWeight * log32(mass/total*ratio+1)
}

// newWeights returns what the solver has found, which must not be used afterwards.
func newWeights(s *solver, common int) weights {
	w := weights{classes: s.classes}
	w.absent, w.ratio = s.bayes(nil)
	row := make([]float32, s.classes)
	for _, b := range s.blocks {
		w.constant = append(w.constant, b.constant...)
	}
	for c := range w.constant {
		w.constant[c] *= constantValue
	}
	var scale float32
	for id := range common {
		for _, b := range s.blocks {
			copy(row[b.first:], b.weights[id*b.width:][:b.width])
		}
		axpy(row, w.absent, -1)
		w.common, scale = appendInt8(w.common, row)
		w.commonScale = w.commonScale.add(scale)
	}
	w.dual = w.dual.add(0)
	var values []float32
	for i := range s.rows.len() {
		values = values[:0]
		for _, b := range s.blocks {
			for c, a := range b.alpha[i*b.width:][:b.width] {
				if a == 0 {
					continue
				}
				if s.class(i) != b.first+c {
					a = -a
				}
				w.dualClass, values = w.dualClass.add(b.first+c), append(values, a)
			}
		}
		w.dualValue, scale = appendInt8(w.dualValue, values)
		w.dualScale, w.dual = w.dualScale.add(scale), w.dual.add(len(w.dualValue))
	}
	return w
}
