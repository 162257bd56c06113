# Everything there is to do here; `make help` lists it.

GO        ?= go
ARCHS     := arm64 amd64
HOST       = $(shell $(GO) env GOARCH)
FUNCTIONS := telegram web runner reap
TOOLS     := $(CURDIR)/.tools
LINT      := $(TOOLS)/golangci-lint-2.15.0
SEEDS     ?= 200
SEED      ?=
OWNERS    ?= 1
NAME      ?=
ENDPOINT  ?=
KNOWN     ?=

.DEFAULT_GOAL := help
.PHONY: help run building pair test check lint race sim bench conformance build emulate grants infra clean

help: ## list what there is
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: building build/bobbin ## run the whole of Bobbin on this machine; the page is at http://127.0.0.1:8080
	@exec ./build/bobbin

building:
	@[ -x build/bobbin ] || echo 'Building Bobbin: this takes about a minute the first time.'

pair: build/$(if $(BOBBIN_TABLE),invite,bobbin) ## make a pairing code; NAME=… adds an owner of that name for it, OWNERS=n makes n of them
	@./build/$(if $(BOBBIN_TABLE),invite,bobbin pair) -count "$$OWNERS" $${NAME:+-owner "$$NAME"}

pair: export OWNERS := $(OWNERS)
pair: export NAME := $(NAME)

.PHONY: build/bobbin build/invite
build/bobbin build/invite: build/%:
	@$(GO) build -trimpath -o $@ ./localstack/$*

test: ## all tests that need nothing but Go; with Python 3.10 there, the AWS adapters on an emulator too
	@$(GO) run ./localstack/emulator/install $(if $(filter true,$(CI)),-must)
	$(GO) test ./...

check: lint race infra ## linter, race detector, the stack's tests; CI, which is .ci/run, also builds, tests, simulates and emulates

lint: $(LINT) ## run the linter
	$(LINT) run ./...
	cd infra && $(LINT) run --config ../.golangci.yml ./...

# Built once, into a name that holds the version.
$(LINT):
	GOBIN=$(TOOLS)/bin $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
	mv $(TOOLS)/bin/golangci-lint $@

race: ## the tests under the race detector
	$(GO) test -race -short ./...

infra: ## the tests of the stack; needs Node 20
	cd infra && $(GO) test ./...

sim: ## simulate whole lives of turns under faults: SEEDS=n fresh seeds, or SEED=x again with its trace
	$(GO) test ./shared/sim -count=1 -run 'TestSimulation$$' -timeout 2h -v $(if $(SEED),-seed=$(SEED),-seeds=$(SEEDS))

BENCH := $(GO) test -run '^$$' -bench

bench: ## measure: calls of the stores, time and bytes per turn, start, memory and throughput from the outside
	@echo '# calls of the stores, and round trips one after the other'
	@$(GO) test -count=1 -v ./localstack/bench | grep -E '^ +[a-z_]+\.go|^--- FAIL|^(ok|FAIL)'
	@echo '# the program from the outside'
	@$(BENCH) Outside -benchtime 1x ./localstack/bench | grep -E '^(Bench|---|  |FAIL)'
	@echo '# the functions: from their start to the first request for an event, beside the smallest one there can be'
	@$(BENCH) '^BenchmarkStart$$' -benchtime 1x ./localstack/bench | grep -E '^(Bench|---|  |FAIL)'
	@echo '# a turn and a checkpoint on one machine'
	@$(BENCH) 'Turn|ThousandSessions' -benchmem ./localstack/bench | grep -E '^(Bench|---|  |FAIL)'
	@$(BENCH) Checkpoint -benchtime 20x ./localstack/bench | grep -E '^(Bench|---|  |FAIL)'
	@echo '# the parts'
	@$(BENCH) . -benchmem -benchtime 0.3s ./shared/local/... ./shared/channel/... | grep -E '^(Bench|---|  |FAIL)'

# ENDPOINT is the address of a server that speaks AWS, "ministack" or "moto", which are installed and started, or "aws",
# the account you are in. KNOWN, "ministack" or "moto", leaves out what that server is known to get wrong.
conformance: ## the suites of the seams on AWS, which is the emulator or ENDPOINT=… (an address; aws is the account you are in); KNOWN=… spares it its known faults
	BOBBIN_TEST_ENDPOINT=$(ENDPOINT) BOBBIN_TEST_KNOWN=$(KNOWN) $(GO) test -count=1 -v ./localstack/conformance

bootstraps = $(FUNCTIONS:%=build/$(1)/%/bootstrap)

build: $(foreach arch,$(ARCHS),$(call bootstraps,$(arch))) ## build the functions for both architectures

# A static pattern, since make looks for no other rule of a phony target: Go knows better what is up to date.
.PHONY: $(foreach arch,$(ARCHS),$(call bootstraps,$(arch)))
$(foreach arch,$(ARCHS),$(call bootstraps,$(arch))): build/%/bootstrap:
	CGO_ENABLED=0 GOOS=linux GOARCH=$(firstword $(subst /, ,$*)) $(GO) build -trimpath -tags lambda.norpc \
		-ldflags '-s -w' -o $@ ./functions/$(lastword $(subst /, ,$*))

emulate: $(call bootstraps,$(HOST)) ## deploy the stack to an emulator with its policies enforced and run the end-to-end suite there; needs Python and Node
	BOBBIN_EMULATE=1 $(GO) test -count=1 -v -timeout 20m -run TestDeployed ./localstack/e2e

grants: $(call bootstraps,$(HOST)) ## take each grant from the deployed stack in turn and see the end-to-end run fail; takes ten minutes
	BOBBIN_GRANTS=1 $(GO) test -count=1 -v -timeout 60m -run TestGrants ./localstack/e2e

clean: ## remove what was built and installed here; data stays
	rm -rf build .tools
