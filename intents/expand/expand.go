// Package expand asks a language model for more examples of an intent and
// decides which of them to keep. The local classifier learns from examples
// alone, so what a model knows of how people put a wish is asked for once, and
// used from then on without the model.
//
// Everything but [Models.Suggest] and [Replace] is a pure function of its
// arguments; the files themselves are edited by [intents.AppendExamples].
package expand
