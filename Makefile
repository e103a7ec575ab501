# The two commands of the README need no make; these are for daily work.

.PHONY: run test race lint fuzz bench microbench soak e2e e2e-openclaw ci

run:
	go run ./cmd/consumer

test:
	go test ./...

race:
	go test -race ./...

lint:
	.ci/run lint

# Each fuzz target for FUZZTIME.
FUZZTIME ?= 20s
fuzz:
	.ci/run fuzz $(FUZZTIME)

# The hot path against its floors, as tables; BENCH=-quick for a look at it.
bench:
	go run ./test/bench $(BENCH)

# Functions on the hot path, with allocations.
microbench:
	go test -run '^$$' -bench . -benchmem ./...

# Faults of every kind for so long, then a check that nothing was lost or
# doubled. FAULTS_SEED, which every run prints, repeats the choices of a run.
SOAK ?= 10m
soak:
	SOAK=$(SOAK) go test -count=1 -v -timeout 0 -tags e2e -run '^TestSoak' ./test/e2e

# Real processes; e2e-openclaw with a real OpenClaw gateway, which is installed
# into .cache/openclaw the first time.
e2e: e2e-openclaw
	go test -count=1 -tags e2e ./test/e2e/...

e2e-openclaw:
	test/e2e/openclaw/run

ci:
	.ci/run
