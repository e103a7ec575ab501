// Package console serves the pages for people (contract §14): an overview of the
// parts of a consumer, turns, sessions, intents, dead
// letters, and pages of its parts. The pages are HTML from the server with
// one style sheet and one small script, all in the binary. They work without the
// script, which adds keys and saves page loads.
//
// Pages are protected against other readers: the request's Host must be an
// address of this server, so that DNS rebinding does not reach it; requests
// that change something must not be cross-origin; and if a token is set, the
// request must have it or the cookie of a sign-in. Beyond loopback no page is
// served without a token.
package console
