// Package bus is the connection to NATS and everything that a consumer process
// needs there: an identity, the streams and durables, the request service, and
// the messages between processes (contract §2, §3).
//
// It transports messages only. The caller provides the function that answers
// requests.
package bus
