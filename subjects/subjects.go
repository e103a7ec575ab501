// Package subjects names everything that travels on the bus: subject tokens,
// request, event and dead-letter subjects, hook names and header keys
// (contract §2, §3). It imports no other package of this module.
package subjects

import "strings"

// Defaults of contract §2.
const (
	DefaultPrefix     = "openclaw"
	DefaultQueueGroup = "intent-hint"
	DefaultStream     = "OPENCLAW_EVENTS"

	// ServiceName is the name under which the NATS service framework lists
	// this program.
	ServiceName = "intent-hint"

	// DeadLetterSuffix is added to the name of the event stream to name the
	// dead-letter stream.
	DeadLetterSuffix = "_DLQ"
)

// Prefix is the first part of every subject (HINT_SUBJECT_PREFIX). It may
// itself contain dots.
type Prefix string

// Request returns the subject of a decision hook: P.request.<hook>.<agent>.
func (p Prefix) Request(hook, agent string) string {
	return string(p) + ".request." + part(hook) + "." + part(agent)
}

// Requests matches every request subject.
func (p Prefix) Requests() string { return string(p) + ".request.>" }

// RequestsOf matches the requests of one hook, for any agent. The subjects of
// two hooks never overlap.
func (p Prefix) RequestsOf(hook string) string { return string(p) + ".request." + part(hook) + ".*" }

// Event returns the subject of an observation hook:
// P.event.<hook>.<agent>.<session>, where session is the session id, else the
// session key.
func (p Prefix) Event(hook, agent, session string) string {
	return string(p) + ".event." + part(hook) + "." + part(agent) + "." + part(session)
}

// maxPart is the longest token in a subject: a server accepts 4096 bytes for
// the line that contains a subject, and closes the connection on a longer one.
const maxPart = 1000

// part returns the token of a value in a subject; a token that no server would
// accept is shortened like a file name.
func part(value string) string {
	if token := EncodeToken(value); len(token) <= maxPart {
		return token
	}
	return Name(value)
}

// Events matches every event subject; the event stream captures exactly these.
func (p Prefix) Events() string { return string(p) + ".event.>" }

// EventsOf matches the events of one hook.
func (p Prefix) EventsOf(hook string) string { return string(p) + ".event." + part(hook) + ".>" }

// EventsOfSession matches the events of one session, by its id or its key.
func (p Prefix) EventsOfSession(session string) string {
	return string(p) + ".event.*.*." + part(session)
}

// DeadLetter returns the subject of a dead letter: P.dlq.<hook>.
func (p Prefix) DeadLetter(hook string) string { return string(p) + ".dlq." + part(hook) }

// DeadLetters matches every dead-letter subject.
func (p Prefix) DeadLetters() string { return string(p) + ".dlq.>" }

// Runs returns the core NATS subject on which consumer processes broadcast the
// answers of recent runs, so that a retry gets the first hint from any of them
// (contract §8). No stream captures it.
func (p Prefix) Runs() string { return string(p) + ".runs" }

// KnowHub returns the subject of one of KnowHub's verbs (contract §12).
func (p Prefix) KnowHub(verb string) string { return string(p) + ".knowhub." + part(verb) }

// Holds reports whether a subject is below the prefix.
func (p Prefix) Holds(subject string) bool { return strings.HasPrefix(subject, string(p)+".") }

// EventHook returns the hook that an event subject names, or "" if the subject
// is not an event subject or its token is malformed.
func (p Prefix) EventHook(subject string) string {
	rest, ok := strings.CutPrefix(subject, string(p)+".event.")
	if !ok {
		return ""
	}
	token, _, _ := strings.Cut(rest, ".")
	hook, err := DecodeToken(token)
	if err != nil {
		return ""
	}
	return hook
}
