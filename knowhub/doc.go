// Package knowhub keeps what agents have experienced, and gives it to them
// (contract §12).
//
// A [Service] carries out the verbs: extract, submit, search, content, pending,
// approve and reject. HTTP ([API]), NATS endpoints ([Endpoints]), the command line
// and the pages are ways to it. The truth is the bucket of package bucket; a
// [Copy] of it is searched, and made again whenever it is lost.
//
// [Reminder] and [Recall] contribute to before_prompt_build, a [Sink] extracts
// experiences from what agents did.
package knowhub
