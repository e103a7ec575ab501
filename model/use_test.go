package model

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/model/provider"
)

// priced is a model that answers after a while, at a price.
type priced struct {
	takes time.Duration
	err   error
}

func (p priced) Complete(ctx context.Context, _ provider.Request) (provider.Completion, error) {
	select {
	case <-time.After(p.takes):
	case <-ctx.Done():
		return provider.Completion{}, ctx.Err()
	}
	return provider.Completion{Text: "answer", Usage: provider.Usage{InputTokens: 10, OutputTokens: 2}}, p.err
}

// pricedModels holds models by reference.
type pricedModels map[string]priced

func (m pricedModels) Resolve(ref string) (provider.Completer, error) {
	if p, ok := m[ref]; ok {
		return p, nil
	}
	return nil, provider.ErrUnresolved
}

func TestCountedCalls(t *testing.T) {
	broken := errors.New("HTTP status 500")
	for _, row := range []struct {
		name          string
		models        pricedModels
		unparsable    bool
		calls, failed int
		in            int
	}{
		{"an answer", pricedModels{"a": {}}, false, 1, 0, 10},
		{"the second one's", pricedModels{"a": {err: broken}, "b": {}}, false, 2, 1, 20},
		{"a faster one's", pricedModels{"a": {takes: time.Hour}, "b": {}}, false, 2, 1, 10},
		{"none", pricedModels{"a": {err: broken}, "b": {err: broken}}, false, 2, 2, 20},
		{"none that can be read", pricedModels{"a": {}, "b": {}}, true, 2, 2, 20},
		{"late", pricedModels{"a": {takes: time.Hour}}, false, 1, 1, 0},
		{"nobody to ask", pricedModels{}, false, 0, 0, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				ctx, use := CountUse(ctx)
				_, _ = Ask(ctx, NewChain(row.models, Options{}, "a", "b"), Question[string]{Parse: func(s string) (string, error) {
					if row.unparsable {
						return "", ErrUnparsable
					}
					return s, nil
				}})
				calls, failed, usage := use.Total()
				require.Equal(t, []int{row.calls, row.failed, row.in}, []int{calls, failed, usage.InputTokens})
			})
		})
	}
}

func TestASharedCallCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		chain := NewChain(pricedModels{"a": {takes: time.Second}}, Options{}, "a")
		var uses []*Use
		for range 3 {
			ctx, use := CountUse(t.Context())
			uses = append(uses, use)
			go func() {
				_, _ = Ask(ctx, chain, Question[string]{Parse: func(s string) (string, error) { return s, nil }})
			}()
		}
		synctest.Wait()
		time.Sleep(2 * time.Second)
		all := 0
		for _, use := range uses {
			calls, _, _ := use.Total()
			all += calls
		}
		require.Equal(t, 1, all)
	})
}
