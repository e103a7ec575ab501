// Package bus is the connection to NATS and what every consumer process needs
// there: an identity, the streams and the durable, the request service, and
// what the processes tell each other (contract §2, §3).
//
// It moves messages and decides nothing: what a request is answered is given to
// it as a function.
package bus
