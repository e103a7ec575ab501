// Package e2e holds end-to-end tests: they build the binary, run it as real
// processes and look at it from outside only, through NATS, files, logs and
// exit codes, as docs/contract.md promises them.
//
// They stand behind a build tag:
//
//	go test -tags e2e ./test/e2e/...
//
// With E2E_RACE set to anything the binary is built with the race detector,
// and a process that reports a race fails its test. Everything happens on
// loopback, on free ports and in temporary directories; no model is asked but
// a scripted one in the test process.
//
// The fault tests draw all choices from a seed that they print; FAULTS_SEED
// repeats them. `make soak` runs them for longer. Where they need root, for
// network namespaces and small disks, they are skipped without.
package e2e
