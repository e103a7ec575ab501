package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// cleanups are the steps of a stop.
type cleanups struct {
	steps []cleanup
}

type cleanup struct {
	name string
	do   func(context.Context) error
}

func (c *cleanups) add(name string, do func(context.Context) error) {
	c.steps = append(c.steps, cleanup{name, do})
}

// run runs the steps in reverse order; a failed step does not stop the rest.
func (c *cleanups) run(ctx context.Context) error {
	var errs []error
	for _, v := range slices.Backward(c.steps) {
		if err := v.do(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", v.name, err))
		}
	}
	return errors.Join(errs...)
}

// wait waits until all work has ended.
func wait(ctx context.Context, work *sync.WaitGroup) error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		work.Wait()
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("background work still running: %w", ctx.Err())
	}
}
