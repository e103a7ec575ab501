// Package natsserver runs a NATS server in this process (contract §9).
//
// Whoever holds the lock on the data directory runs the server; every other
// process on the machine joins it. A server that would let in everybody who
// reaches this machine does not start unless that is asked for.
package natsserver
