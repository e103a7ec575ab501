// Package natsserver runs a NATS server in this process (contract §9).
//
// The process that holds the lock on the data directory runs the server; every
// other process on the machine joins it. A server with a non-loopback listener
// without authentication does not start unless [Options] allow it.
package natsserver
