// Package e2e holds end-to-end tests. They build the binary, run it as real
// processes and test it from outside only, through NATS, files, logs and exit
// codes, as docs/contract.md describes them.
//
// They need a build tag:
//
//	go test -tags e2e ./test/e2e/...
//
// With E2E_RACE set to anything the binary is built with the race detector,
// and a process that reports a race fails its test. Everything happens on
// loopback, on free ports and in temporary directories. The only model is a
// scripted one in the test process.
//
// The fault tests make all choices from a seed that they print; FAULTS_SEED
// repeats them. `make soak` runs them for longer. Tests with network namespaces
// and small disks are skipped without root.
package e2e
