package payload

// Tags around the texts that KnowHub puts in front of a prompt (contract §5,
// §12).
const (
	// ExperiencesTag is around experiences that match the prompt.
	ExperiencesTag = "relevant-experiences"
	// ReminderTag is around the reminder to use them.
	ReminderTag = "knowhub-reminder"
)
