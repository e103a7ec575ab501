// Package model asks language models and embedding models. It is generic over
// what is asked and how the answer is parsed: [Ask] puts a [Question] to a
// [Chain] of models, an [Embedder] turns texts into vectors.
//
// Every call goes the same way: equal questions under way share one answer, a
// circuit breaker ([Breakers]) keeps an outage from costing every caller its
// time, and an [Observer] sees how each call ended. The caller's context is the
// only budget: nothing is retried, and a call ends with it. [Start] bounds how
// many callers ask at once.
//
// Package [intenthint/model/provider] holds the wire formats.
package model
