// Package console serves the pages for people (contract §14): an overview of the
// parts of a consumer, and the review of experiences. The pages are HTML from the
// server with one style sheet and one small script, all in the binary. They work
// without the script, which adds keys and saves page loads.
//
// A page is answered only if nothing else can read it: the request's Host must be
// an address of this server, so that a rebound name does not reach it; what
// changes something must not come from another origin; and where a token is set,
// the request must bring it or the cookie of a sign-in. Beyond loopback no page is
// served without a token.
package console
