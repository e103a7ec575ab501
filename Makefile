# The README needs no make; these targets are for daily work.

.PHONY: module pictures release run test race lint fuzz bench microbench weights soak e2e e2e-openclaw ci

run:
	go run ./cmd/consumer

test:
	go test ./...
	go -C tools test ./...

race:
	go test -race ./...
	go -C tools test -race -short ./...

lint:
	.ci/run lint

# Each fuzz target runs for FUZZTIME.
FUZZTIME ?= 20s
fuzz:
	.ci/run fuzz $(FUZZTIME)

# The hot path against its floors, as tables; BENCH=-quick is a short run.
bench:
	go -C tools run ./bench $(BENCH)

# Functions on the hot path, with allocations.
microbench:
	go test -run '^$$' -bench . -benchmem ./...

# The weights in the binary, for a release; WEIGHTS=vectors makes some of them.
# PEOPLE is an absolute path of labelled messages of people; without it the numbers
# that were fitted to such messages stay.
weights:
	go -C tools run ./weights $(if $(PEOPLE),-people $(PEOPLE)) $(WEIGHTS)

# The README's pictures of the pages, by a headless Chromium (CHROMIUM).
pictures:
	PICTURES=$(CURDIR)/docs go test -count=1 -tags browser -run PicturesOfTheDemo ./test/browser

# Static binaries with their checksums and a bill of materials each, in dist.
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64
release:
	rm -rf dist && mkdir dist
	set -e; for platform in $(PLATFORMS); do \
	  name=consumer-$${platform%/*}-$${platform#*/}; \
	  CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/} go build -trimpath \
	    -ldflags="-s -w -X main.builtFrom=$$(git describe --always --dirty=+ --abbrev=12 --exclude='*')" -o dist/$$name ./cmd/consumer; \
	  go -C tools run ./sbom $(CURDIR)/dist/$$name > dist/$$name.cdx.json; \
	done
	cd dist && sha256sum * > SHA256SUMS

# Another path of the module, in every import, for who publishes it.
module:
	test -n "$(MODULE)"
	git ls-files '*.go' | xargs sed -i -E \
	  -e 's#^(import |\t([A-Za-z_.]+ )?)"intenthint("|/[^"]+")( //.*)?$$#\1"$(MODULE)\3\4#' \
	  -e 's#"intenthint/(cmd/consumer|knowhub/safety)?"#"$(MODULE)/\1"#g'
	sed -i -E 's#^(module |replace |\t| +- (pkg: )?| +module-path: )intenthint( |/|\$$|$$)#\1$(MODULE)\3#' go.mod tools/go.mod .golangci.yml

# Faults of every kind for the time in SOAK, then a check that every event counted
# exactly once. Each run prints a FAULTS_SEED, which repeats its choices.
SOAK ?= 10m
soak:
	SOAK=$(SOAK) go test -count=1 -v -timeout 0 -tags e2e -run '^TestSoak' ./test/e2e

# Real processes; e2e-openclaw with a real OpenClaw gateway, which the first run
# installs into .cache/openclaw.
e2e: e2e-openclaw
	go test -count=1 -tags e2e ./test/e2e/...

e2e-openclaw:
	test/e2e/openclaw/run

ci:
	.ci/run
