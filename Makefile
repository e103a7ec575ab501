# The two commands of the README need no make; these are for daily work.

.PHONY: run test race lint fuzz bench ci

run:
	go run ./cmd/consumer

test:
	go test ./...

race:
	go test -race ./...

lint:
	.cache/bin/golangci-lint run ./...

# Each fuzz target for FUZZTIME.
FUZZTIME ?= 20s
fuzz:
	@for pkg in $$(go list ./...); do \
	  for target in $$(go test -list '^Fuzz' $$pkg 2>/dev/null | grep '^Fuzz'); do \
	    echo "$$pkg $$target"; go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
	  done; \
	done

# Everything on the hot path, with allocations.
bench:
	go test -run '^$$' -bench . -benchmem ./...

ci:
	.ci/run
