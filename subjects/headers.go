package subjects

// Header keys. NATS header keys are case-sensitive; use only these spellings
// (contract §2, §3).
const (
	// HeaderTimeoutMs is the caller's whole budget in milliseconds from
	// sending, on a request.
	HeaderTimeoutMs = "Hint-Timeout-Ms"
	// HeaderTraceparent is the W3C trace context, copied from request to reply.
	HeaderTraceparent = "traceparent"
	// HeaderVersion is the version of the plugin that asks, and in a reply to it that
	// of the consumer.
	HeaderVersion = "Hint-Version"
	// HeaderMsgID carries the id of an event; JetStream deduplicates by it.
	HeaderMsgID = "Nats-Msg-Id"

	// Diagnostics on every reply to before_prompt_build.
	HeaderIntent     = "Hint-Intent"
	HeaderReason     = "Hint-Reason"
	HeaderConfidence = "Hint-Confidence"
	HeaderSource     = "Hint-Source"
	HeaderModel      = "Hint-Model"
	HeaderElapsedMs  = "Hint-Elapsed-Ms"
	HeaderSkip       = "Hint-Skip"
	HeaderSkills     = "Hint-Skills"

	// Diagnostics on every reply to decide (contract §15).
	HeaderDecideSource    = "Decide-Source"
	HeaderDecideRubric    = "Decide-Rubric"
	HeaderDecideSkip      = "Decide-Skip"
	HeaderDecideElapsedMs = "Decide-Elapsed-Ms"

	// Errors, in the spelling of the NATS service framework.
	HeaderError     = "Nats-Service-Error"
	HeaderErrorCode = "Nats-Service-Error-Code"

	// On a dead letter: the reason, the original subject, durable and
	// Nats-Msg-Id. The last one is also on a replayed event.
	HeaderDLQReason  = "Dlq-Reason"
	HeaderDLQSubject = "Dlq-Subject"
	HeaderDLQMsgID   = "Dlq-Msg-Id"
	HeaderDLQDurable = "Dlq-Durable"
)

// EventID returns the event id from the headers of a message, "" for none. A
// replayed dead letter has a Nats-Msg-Id of its own; the original one, possibly
// empty, is in another header.
func EventID(headers map[string][]string) string {
	for _, name := range []string{HeaderDLQMsgID, HeaderMsgID} {
		if values := headers[name]; len(values) > 0 {
			return values[0]
		}
	}
	return ""
}
