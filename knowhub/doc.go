// Package knowhub stores the experiences of agents and recalls them (contract
// §12).
//
// A [Service] carries out the verbs: extract, submit, search, content, pending,
// approve and reject. HTTP ([API]), NATS endpoints ([Service.Endpoints]), the
// command line and the pages use it. The source of truth is the bucket of
// package bucket; searches use a [Copy] of it in memory.
//
// [Reminder] and [Recall] contribute to before_prompt_build, a [Sink] extracts
// experiences from ended runs.
package knowhub
