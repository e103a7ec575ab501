package payload

// Tags around what KnowHub puts in front of a prompt (contract §5, §12).
const (
	// ExperiencesTag is around experiences that fit the prompt.
	ExperiencesTag = "relevant-experiences"
	// ReminderTag is around the reminder to use them.
	ReminderTag = "knowhub-reminder"
)
