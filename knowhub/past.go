package knowhub

import (
	"context"

	"intenthint/knowhub/experience"
)

// Past are turns of stored events that the model has not read, to be extracted from on
// demand.
type Past struct {
	// Turns is how many turns it is, Calls how many questions to the model, and Bytes the
	// size of these.
	Turns, Calls int
	Bytes        int64

	sink    *Sink
	planned planned
	unread  []Unread
}

// Past returns an empty [Past].
func (k *Sink) Past() *Past {
	return &Past{sink: k, planned: planned{known: k.Extracted, ids: map[string]bool{}}}
}

// planned are the turns that will be extracted from, beside those that were.
type planned struct {
	known Extracted
	ids   map[string]bool
}

// Extracted implements [Extracted].
func (p planned) Extracted(ctx context.Context, id string) (bool, error) {
	if p.ids[id] {
		return true, nil
	}
	return p.known.Extracted(ctx, id)
}

// SetExtracted implements [Extracted], for this process alone.
func (p planned) SetExtracted(_ context.Context, id string) error {
	p.ids[id] = true
	return nil
}

// Add adds what the model has not read of a fact, and is not asked anyway.
func (p *Past) Add(ctx context.Context, f Fact) error {
	u, ok, err := (&Sink{Service: p.sink.Service, Extracted: p.planned}).Unread(ctx, f)
	if err != nil || !ok {
		return err
	}
	for _, key := range u.keys {
		_ = p.planned.SetExtracted(ctx, key) // never fails
	}
	p.unread = append(p.unread, u)
	p.Turns, p.Calls, p.Bytes = p.Turns+u.Turns, p.Calls+1, p.Bytes+int64(u.Bytes)
	return nil
}

// Drawn is what [Past.Extract] did.
type Drawn struct {
	// Experiences, each once, are in the answers to Turns; Known turns were extracted from meanwhile.
	Experiences, Turns, Known int
	// Failed turns got no answer; Err is the last reason.
	Failed int
	Err    error
}

// failuresInRow is after how many questions without an answer no more are asked: the
// model is away.
const failuresInRow = 3

// Extract asks the model, one question after the other. progress receives the number of
// questions done and the total. What failed can be extracted by another call later.
func (p *Past) Extract(ctx context.Context, progress func(done, total int)) (out Drawn) {
	inRow, kept := 0, map[string]bool{}
	for i, u := range p.unread {
		progress(i, len(p.unread))
		found, known, err := p.draw(ctx, u)
		switch {
		case err != nil:
			inRow++
			out.Failed, out.Err = out.Failed+u.Turns, err
		case known:
			out.Known += u.Turns
		default:
			inRow = 0
			out.Turns += u.Turns
		}
		for _, e := range found {
			kept[e.ID] = true
		}
		if ctx.Err() != nil || inRow == failuresInRow {
			for _, rest := range p.unread[i+1:] {
				out.Failed += rest.Turns
			}
			break
		}
	}
	out.Experiences = len(kept)
	return out
}

// draw extracts unless another process did so meanwhile.
func (p *Past) draw(ctx context.Context, u Unread) (found []experience.Experience, known bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, ExtractTime)
	defer cancel()
	for _, key := range u.keys {
		if known, err := p.sink.Extracted.Extracted(ctx, key); err != nil || known {
			return nil, known, err
		}
	}
	found, err = p.sink.Extract(ctx, u)
	return found, false, err
}
