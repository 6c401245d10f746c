# A bare machine needs Go, make and git. Everything else is built from the modules that hack/tools and hack/controlplane
# pin, into bin/.

SHELL := /bin/sh
.SHELLFLAGS := -ec
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

BIN := $(CURDIR)/bin
GO ?= go

# For hack/build.sh, which builds each program and shows the time since the command began.
ifndef BUILD_STARTED
BUILD_STARTED := $(shell date +%s)
endif
export GO BUILD_STARTED

# missing are those of some programs that are not built.
missing = $(filter-out $(wildcard $(1)),$(1))

# The race detector needs a C compiler; without one the tests run without it.
RACE := $(if $(shell command -v $$($(GO) env CC)),-race)

include hack/make/tools.mk
include hack/make/controlplane.mk
include hack/make/clusterapi.mk
include hack/make/generate.mk
include hack/make/conformance.mk
include hack/make/release.mk
include hack/make/node.mk
include hack/make/skew.mk
include hack/make/versions.mk
include hack/make/site.mk
include hack/make/karmada.mk

##@ General

.PHONY: help
help: ## Print this list.
	@cat $(MAKEFILE_LIST) | while IFS= read -r line; do \
		case $$line in \
		'##@ '*) printf '\n%s\n' "$${line#'##@ '}" ;; \
		[a-z]*:*'## '*) printf '  %-14s %s\n' "$${line%%:*}" "$${line#*'## '}" ;; \
		esac; \
	done

.PHONY: clean
clean: demo-down ## Stop the demo and remove all that was built, control plane and tools included.
	rm -rf $(BIN)

##@ Build

.PHONY: build
build: manager plugin ## Build the manager, of the hub and of members, and the kubectl plugin into bin/.

.PHONY: manager
manager:
	@hack/build.sh $(BIN)/manager . ./cmd/manager -trimpath -ldflags '-s -w'

.PHONY: plugin
plugin:
	@hack/build.sh $(BIN)/kubectl-fedquota . ./cmd/kubectl-fedquota -trimpath -ldflags '-s -w'

##@ Check

.PHONY: lint
lint: $(GOLANGCI_LINT) ## Run the linters.
	$(GOLANGCI_LINT) run

.PHONY: verify
verify: $(CONTROLLER_GEN) $(CRD_REF_DOCS) $(GOLANGCI_LINT) ## Generate and format everything; fail if that changes a file or if a linter complains.
	hack/verify.sh $(MAKE) --no-print-directory generated
	$(MAKE) --no-print-directory lint

# The test of hack/site reads pages outside its module, whose changes the test cache does not see.
.PHONY: test
test: controlplane build ## Run the tests, and the smoke test of the end-to-end fleet.
	KUBEBUILDER_ASSETS=$(CONTROLPLANE) $(GO) test $(RACE) -timeout 30m ./...
	$(GO) -C hack/release test ./...
	$(GO) -C hack/site test -count=1 ./...

# How many fleets run at a time. One leaves three quarters of two cores idle, but several measure each other.
FLEETS ?= 3
E2E = KUBEBUILDER_ASSETS=$(CONTROLPLANE) $(GO) test $(RACE) -v -count=1 -tags e2e -timeout 4h

# Packages whose tests start a fleet each come one after another; then the others, each of which has one. What make test
# has run is left out.
.PHONY: e2e
e2e: controlplane build $(KWOK) $(CLUSTERAPI) ## Run the end-to-end scenarios on fleets of real control planes.
	status=0; \
	$(E2E) -p 1 -parallel $(FLEETS) -skip '^TestSmoke$$' ./e2e ./e2e/system || status=1; \
	$(E2E) -p $(FLEETS) $$($(GO) list -tags e2e ./e2e/... | grep -v -E '/e2e(/system|/fleet|/census|/history)?$$') || status=1; \
	exit $$status

.PHONY: safety
safety: FLEETS := 1
safety: e2e ## Run the end-to-end scenarios and write what they showed into docs/evidence/safety.md.
	cp $(BIN)/e2e/safety.md docs/evidence/safety.md

# The pages that show what TestPlugin has printed. One shows what TestRequirement has, and one what TestScaleOut has.
SEEN = $(filter-out %/require-a-quota.md %/follow-the-fleet.md,$(shell grep -l '<!-- end of ' docs/tasks/*.md))

.PHONY: see-docs
see-docs: ## Write what kubectl and its plugin have printed in the end-to-end tests into the pages of docs/tasks.
	for page in $(SEEN); do $(GO) run ./hack/bench/paste $$page $(BIN)/e2e/plugin || exit 1; done

.PHONY: pictures
pictures: ## Take the pictures of the page of kubectl fedquota view that docs show, in chromium.
	mkdir -p $(BIN)/pictures docs/pictures
	FEDQUOTA_SCREENSHOTS=$(BIN)/pictures $(GO) test -count=1 ./cmd/kubectl-fedquota/app/web -run '^TestBrowser'
	cp $(BIN)/pictures/budget.png $(BIN)/pictures/pool.png $(BIN)/pictures/replay.png docs/pictures

.PHONY: tables
tables: ## Write what the end-to-end tests have measured into docs/security.md, docs/operations.md and docs/evidence/nodes.md.
	for page in security operations evidence/nodes; do $(GO) run ./hack/bench/paste docs/$$page.md $(BIN)/e2e/tables || exit 1; done

.PHONY: require-docs
require-docs: ## Write what TestRequirement has printed into docs/tasks/require-a-quota.md.
	$(GO) run ./hack/bench/paste docs/tasks/require-a-quota.md $(BIN)/e2e/requirement

.PHONY: native
native: controlplane build ## Show each name and scope of native quota in two members, and write the tables into docs/evidence/native.md: about 4 minutes.
	rm -f $(BIN)/e2e/native.md
	$(E2E) ./e2e/native
	cp $(BIN)/e2e/native.md docs/evidence/native.md

# What the replay needs of public traces is skipped unless FEDQUOTA_TRACES names their folder. Each part writes what it prints
# into bin/bench, and its numbers as JSON. Nothing else should run meanwhile.
BENCHMARKS := micro replay latency donors live

.PHONY: bench
bench: controlplane build $(BENCHMARKS:%=bench-%) bench-eyes ## Run the microbenchmarks, the replay of loads, and latency, admission and the costs of metrics on real fleets.

.PHONY: $(BENCHMARKS:%=bench-%)
.NOTPARALLEL: bench
$(BENCHMARKS:%=bench-%): bench-%: controlplane build
	mkdir -p $(BIN)/bench
	KUBEBUILDER_ASSETS=$(CONTROLPLANE) $(GO) run ./hack/bench/$* > $(BIN)/bench/$*.txt
	cat $(BIN)/bench/$*.txt

# Two hub managers take turns, so that what else the machine does concerns both alike. A turn is long enough for a read of
# the metrics. Nothing else should run meanwhile: about 20 minutes.
.PHONY: bench-eyes
bench-eyes: controlplane build
	mkdir -p $(BIN)/bench
	KUBEBUILDER_ASSETS=$(CONTROLPLANE) $(GO) run ./hack/bench/latency -eyes 20 -raises 30 -out $(BIN)/bench/eyes.json > $(BIN)/bench/eyes.txt
	cat $(BIN)/bench/eyes.txt

.PHONY: bench-docs
bench-docs: ## Write what the benchmarks have printed last into docs/evidence/benchmarks.md.
	$(GO) run ./hack/bench/paste docs/evidence/benchmarks.md $(BIN)/bench

# Members are light ones in one process; the hub is real. Nothing else should run meanwhile. Another size or mode is measured by
# `go run ./e2e/scale -members 1000 -budgets 200 -mode Auto`, which writes its table into bin/scale.
.PHONY: scale
scale: controlplane build ## Measure a hub over a hundred light members, and write the table into docs/evidence/scale.md.
	KUBEBUILDER_ASSETS=$(CONTROLPLANE) $(GO) run ./e2e/scale -name hundred -members 100 -budgets 20
	$(GO) run ./hack/bench/paste docs/evidence/scale.md $(BIN)/scale

.PHONY: scale-agent
scale-agent: controlplane build ## Measure an agent over 5,000 namespaces and 50,000 pods, and write the table into docs/evidence/scale-agent.md: about 12 minutes.
	KUBEBUILDER_ASSETS=$(CONTROLPLANE) $(GO) run ./e2e/scale/agent
	$(GO) run ./hack/bench/paste docs/evidence/scale-agent.md $(BIN)/scale-agent

.PHONY: mutants
mutants: controlplane ## Take out one protection at a time, demand that its test fails, and write docs/evidence/protections.md.
	KUBEBUILDER_ASSETS=$(CONTROLPLANE) $(GO) run ./hack/mutants -write docs/evidence/protections.md

# A schedule takes about a millisecond of one core. The lines that say how many were played are demanded, whatever else passes.
SCHEDULES ?= 1000000

.PHONY: schedules
schedules: ## Play 10^6 random schedules of the protocol on all cores, and 10^5 with forged shares: about 20 minutes on two.
	mkdir -p $(BIN)
	$(GO) test -v -count=1 -timeout 0 -run '^TestSimulation' ./internal/shares -drawn -schedules $(SCHEDULES) | tee $(BIN)/schedules.txt
	grep -q ' $(SCHEDULES) schedules of seed ' $(BIN)/schedules.txt
	grep -q " $$(($(SCHEDULES) / 10)) schedules of seed " $(BIN)/schedules.txt

.PHONY: model
model: ## Check the model of the protocol with Spin.
	hack/model/run.sh

include hack/make/demo.mk
