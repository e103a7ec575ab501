package model_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"intenthint/model"
	"intenthint/model/provider"
)

// static is a model that always gives the same answer; provider.New returns a
// registry of real ones.
type static string

func (s static) Resolve(ref string) (provider.Completer, error) {
	if ref == "openai/no-key" {
		return nil, provider.ErrUnresolved
	}
	return s, nil
}

func (s static) Complete(context.Context, provider.Request) (provider.Completion, error) {
	return provider.Completion{Text: string(s)}, nil
}

// A question is anything that can be asked and whose answer can be parsed: here,
// whether a message of a group is to be answered.
func Example() {
	chain := model.NewChain(static("SKIP"), model.Options{Breakers: model.NewBreakers(nil)}, "openai/no-key", "ollama/small")
	respond := model.Question[bool]{
		Request: provider.Request{
			System:    "Answer RESPOND or SKIP.",
			User:      "Message: see you tomorrow",
			MaxTokens: 10,
		},
		Parse: func(text string) (bool, error) {
			switch {
			case strings.HasPrefix(text, "RESPOND"):
				return true, nil
			case strings.HasPrefix(text, "SKIP"):
				return false, nil
			}
			return false, errors.New("neither RESPOND nor SKIP")
		},
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	answer, err := model.Ask(ctx, chain, respond)
	fmt.Println(answer.Value, answer.Ref, err)
	// Output: false ollama/small <nil>
}
