// Package expand asks a language model for more examples of an intent and decides
// which of them to keep. The local classifier learns from examples alone, so the
// model is asked once, and from then on its wordings are known without it.
//
// Everything except [Models.Suggest], [Append] and [Replace] is a pure function of
// its arguments.
package expand
