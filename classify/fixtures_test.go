package classify

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"intenthint/intents"
	"intenthint/payload"
)

func testCatalog() *intents.Catalog {
	return intents.NewCatalog([]intents.Intent{
		{
			ID: "MEMORY_LOOKUP", Name: "Memory Lookup",
			Triggers: []string{"The user asks about something said or decided earlier."},
			Examples: []string{"What did we decide about the logo?", "還記得上次的決定嗎?"},
			Prompt:   "Search the memory before you answer.\n\n- Quote what you found.\n",
		},
		{
			ID: "MEMORY_SAVE", Name: "Memory Save",
			Triggers: []string{"The user wants something to be remembered."},
			Examples: []string{"Remember that I park on level 3."},
			Prompt:   "Store the fact, then confirm it in one line.",
		},
		{
			ID: "CODE_CHANGE", Name: "Code Change",
			Triggers: []string{"The user wants code to be written or changed."},
			Prompt:   "Read the code before you change it.",
		},
		{
			ID: "SMALLTALK", Name: "Small talk",
			Triggers: []string{"Greetings, thanks, jokes."},
			Prompt:   "Be brief and warm.",
		},
		{
			ID: "OTHER", Name: "Other",
			Triggers: []string{"Nothing else fits."},
			Prompt:   "Ask one short question when it is not clear what is meant.",
		},
	})
}

func testInput(t testing.TB) Input {
	zone, err := time.LoadLocation("Asia/Taipei")
	require.NoError(t, err)
	return Input{
		Catalog: testCatalog(),
		Conversation: []payload.Turn{
			{Role: "user", Text: "We need a logo for the tea shop."},
			{Role: "assistant", Text: "I suggest a green leaf."},
		},
		Latest: "What did we decide about the logo?",
		Now:    time.Date(2026, 5, 18, 21, 24, 46, 0, zone),
	}
}

const goodAnswer = `{"intent": "MEMORY_LOOKUP (Memory Lookup)", "reason": "asks about an earlier decision", "goal": "recall the logo decision", "confidence": 0.9, "complexity": "medium", "suggestion": "search the memory first"}`

func goodClassification() payload.Classification {
	return payload.Classification{
		Intent: "MEMORY_LOOKUP", Name: "Memory Lookup",
		Reason: "asks about an earlier decision", Goal: "recall the logo decision",
		Confidence: 0.9, Complexity: "medium", Suggestion: "search the memory first",
	}
}
