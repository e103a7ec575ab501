// Package triage decides at before_dispatch which messages of groups an agent
// answers, and tells the next turn of a group what was skipped (contract §11).
//
// The rules, the prompt and the reading of a model's answer are pure functions of
// [Settings] and a [Message]. A [Gate] adds the shared state ([State]) and the
// model: the first decision about a message stands in every process. [Skipped]
// contributes to before_prompt_build.
//
// Whatever fails responds: better a wasted turn than a lost message. So a message
// is skipped only once that is stored.
package triage
