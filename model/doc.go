// Package model asks language models and embedding models. It is generic over
// the question and the parsing of the answer: [Ask] puts a [Question] to a
// [Chain] of models, an [Embedder] turns texts into vectors.
//
// Every call works the same way: equal questions in progress share one answer
// (singleflight), a circuit breaker ([Breakers]) keeps an outage from slowing
// down every caller, and an [Observer] sees the outcome of each call. The
// caller's context is the only budget: nothing is retried, and a call ends with
// it. [Start] bounds the number of concurrent callers.
//
// Package [intenthint/model/provider] holds the wire formats.
package model
