// Package triage decides at before_dispatch which group messages an agent
// answers, and tells the next turn of a group which messages were skipped
// (contract §11).
//
// The rules, the prompt and the reading of a model's answer are pure functions of
// [Settings] and a [Message]. A [Gate] adds the shared state ([State]) and the
// model: the first decision about a message is final in every process.
// [Skipped] contributes to before_prompt_build.
//
// On any failure the gate responds: better a wasted turn than a lost message.
// So a message is skipped only once the decision is stored.
package triage
