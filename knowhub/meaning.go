package knowhub

import (
	"context"
	"time"

	"intenthint/internal/text"
	"intenthint/knowhub/index"
)

const (
	// meaningTime is how long a search waits for the vector of its question, which takes
	// some ten milliseconds, and more while others wait for the encoder.
	meaningTime = 30 * time.Millisecond
	// meaningShare is the least time that must be left, as a multiple of meaningTime.
	// With less the search goes by words alone.
	meaningShare = 4
	// maxMeant bounds what the encoder is given of a text, in bytes. It reads 128 tokens,
	// of up to 16 characters.
	maxMeant = 2048
	// maxEncoded is how many texts are taken from the index at once.
	maxEncoded = 64
)

// meaning returns the vector of a question; nil if it has none, or would be too late.
func (c *Copy) meaning(ctx context.Context, q index.Query) *index.Vector {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < meaningShare*meaningTime {
		return nil
	}
	encoder, err := c.o.Encoder()
	asked := text.CutBytes(q.Text, maxMeant)
	if err != nil || !encoder.Fits(asked) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, meaningTime)
	defer cancel()
	found, err := encoder.Vectors(ctx, []string{asked})
	if err != nil {
		return nil
	}
	return index.NewVector(found[asked])
}

// unencoded notes that experiences may lack their vectors.
func (c *Copy) unencoded() {
	select {
	case c.changes <- struct{}{}:
	default:
	}
}

// encode makes the vectors of experiences until ctx ends, while the copy is complete.
func (c *Copy) encode(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.changes:
		}
		for c.Ready() {
			list := c.index.Unread(maxEncoded)
			if len(list) == 0 {
				break
			}
			if err := c.read(ctx, list); err != nil {
				if ctx.Err() == nil {
					c.o.Log.Error("encoder failed, experiences are searched by words alone", "error", err)
				}
				return
			}
		}
	}
}

// read sets the vectors of experiences. It pauses as long as it works, so that it takes at
// most half of a processor.
func (c *Copy) read(ctx context.Context, list []index.Unread) error {
	encoder, err := c.o.Encoder()
	if err != nil {
		return err
	}
	for _, u := range list {
		began := time.Now()
		var v *index.Vector
		if of := text.CutBytes(u.Text, maxMeant); encoder.Fits(of) {
			found, _, err := encoder.Embed(ctx, []string{of})
			if err != nil {
				return err
			}
			v = index.NewVector(found[0])
		}
		c.index.SetVector(u, v)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Since(began)):
		}
	}
	return nil
}
