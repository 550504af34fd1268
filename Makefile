# Everything is a go command; this file only gives the long ones a name.
# `make help` lists the targets.

GO ?= go
BIN := bin/clusterctl-repo
# What --version prints; empty outside a git checkout.
STAMP = -X github.com/clusterctl-repo/clusterctl-repo/cmd/internal/root.commit=$(shell git rev-parse HEAD 2>/dev/null) -X github.com/clusterctl-repo/clusterctl-repo/cmd/internal/root.date=$(shell TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd 2>/dev/null)
DEMO_VERSION ?= v0.1.0
BENCH ?= .
SHELL := /bin/sh
# One set of flags: all targets, and the programs that tests build, use the same compiled packages.
export CGO_ENABLED := 0
export GOFLAGS := $(strip $(filter-out -trimpath,$(shell $(GO) env GOFLAGS)) -trimpath)
# The value of cmd/internal/term. The compiler, tests and servers need 15 to 20 % less
# processor time with it.
export GOGC := 400

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "%-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build the program into bin/
	$(GO) build -ldflags '-s -w $(STAMP)' -o $(BIN) ./cmd/clusterctl-repo

GORELEASER ?= $(GO) run github.com/goreleaser/goreleaser/v2@v2.14.3

# What judges in the browser whether pages are accessible.
AXE ?= axe-core@4.14.1

.PHONY: site-programs
site-programs:
	test/debian mkdocs:mkdocs /usr/lib/python3/dist-packages/material:mkdocs-material npm:npm \
		$$(command -v google-chrome >/dev/null || echo chromium:chromium)

.PHONY: site
site: site-programs ## Make the web site in out/site, check its links, and look at it with a browser (installs mkdocs and Chromium if it may)
	rm -rf out/site-src out/site out/axe && mkdir -p out/axe
	cd out/axe && npm pack --silent $(AXE) && tar xzf *.tgz
	$(GO) run ./test/site out/site-src
	mkdocs build --quiet --config-file docs/mkdocs.yml
	$(GO) test -count=1 ./test/site

.PHONY: dist
dist: ## Build all that a release has into out/dist, as a snapshot, and test it
	$(GORELEASER) release --snapshot --clean
	@$(MAKE) --no-print-directory dist-test

.PHONY: dist-test
dist-test: ## Make the image from the archives in out/dist and test all of it
	cd test/dist && $(GO) run ./image -dist ../../out/dist -date "$$(git log -1 --format=%cI)"
	cd test/dist && $(GO) test -count=1 -timeout 30m ./...

.PHONY: dist-twice
dist-twice: ## Build it again and compare the bytes with those of make dist
	rm -rf out/dist-first && cp -r out/dist out/dist-first
	$(GORELEASER) release --snapshot --clean
	cd test/dist && $(GO) run ./image -dist ../../out/dist -date "$$(git log -1 --format=%cI)"
	diff out/dist-first/SHA256SUMS out/dist/SHA256SUMS
	diff out/dist-first/image/index.json out/dist/image/index.json

.PHONY: demo
demo: build ## Build, lint and publish all examples into out/repository
	@rm -rf out/repository
	@for source in $(dir $(wildcard examples/*/metadata.yaml)); do \
		$(BIN) release $$source --version $(DEMO_VERSION) --to out/repository --fail-on warning || exit 1; \
	done
	@$(BIN) lint out/repository
	@$(BIN) config out/repository > out/clusterctl.yaml
	@echo; echo "--- out/clusterctl.yaml"; cat out/clusterctl.yaml
	@echo; echo "--- With clusterctl on your PATH:"
	@awk '/^- name:/ {name = $$3} /^  type:/ {print name, $$2}' out/clusterctl.yaml | while read name type; do \
		case $$type in \
		CoreProvider) flag=core;; BootstrapProvider) flag=bootstrap;; ControlPlaneProvider) flag=control-plane;; \
		InfrastructureProvider) flag=infrastructure;; IPAMProvider) flag=ipam;; \
		RuntimeExtensionProvider) flag=runtime-extension;; AddonProvider) flag=addon;; esac; \
		token=; [ $$flag = infrastructure ] && token="ACME_B64ENCODED_TOKEN=dG9rZW4= "; \
		echo "$${token}clusterctl generate provider --config out/clusterctl.yaml --$$flag $$name"; \
	done
	@echo "clusterctl generate cluster my-cluster --config out/clusterctl.yaml -i acme:$(DEMO_VERSION) -n default --kubernetes-version v1.34.0"

# The program that tests start, without the commit, so that only a change of the code
# makes another. What the tests found before counts for the same build ID and file; go build
# touches what it finds up to date, hence the copy.
TESTED := $(CURDIR)/bin/tested/clusterctl-repo
WITH_PROGRAM = CLUSTERCTL_REPO_TEST_PROGRAM=$(TESTED) CLUSTERCTL_REPO_TEST_PROGRAM_ID=$$($(GO) tool buildid $(TESTED))

.PHONY: tested
tested:
	@$(GO) build -buildvcs=false -o bin/to-test ./cmd/clusterctl-repo
	@cmp -s bin/to-test $(TESTED) || { mkdir -p $(dir $(TESTED)) && cp bin/to-test $(TESTED); }

.PHONY: test
test: tested ## Run the tests with a small share of their random cases; they need only Go
	$(WITH_PROGRAM) $(GO) test -vet=off ./...

.PHONY: test-all
test-all: tested ## Run the tests with all their cases, and compare with the real clusterctl
	$(WITH_PROGRAM) TESTS=all $(GO) test -vet=off -timeout 60m ./...
	cd test/oracle && TESTS=all $(GO) test -vet=off -timeout 60m ./...

.PHONY: check
check: ## Check a change in work: format, law of imports, vet and tests of what it touches
	test/check

.PHONY: race
race: ## Run the tests of what has goroutines with the race detector
	CGO_ENABLED=1 $(GO) test -race -vet=off -timeout 30m $$(test/concurrent)

.PHONY: lint
lint: ## Check the code and the workflows: gofmt, vet, staticcheck, errcheck, deadcode, actionlint
	@test -z "$$(gofmt -l .)" || { echo "gofmt would change:"; gofmt -l .; exit 1; }
	@for module in $$(git ls-files '*go.mod' | xargs -n1 dirname | grep -v '^test/tools$$'); do \
		echo "go vet: $$module"; (cd $$module && $(GO) vet ./...) || exit 1; \
	done
	test/tools/check

# The tests that compare documents with the code, and write them with -update.
DOCUMENTED = ./test/imports ./layouts/config ./repo/facts/diff ./repo/lint/rules/examples ./cmd/clusterctl-repo
DESTINATIONS = ./publish/github ./publish/gitlab ./publish/oci

.PHONY: generate
generate: ## Write the documents that are made from the code, and what rules report
	$(GO) test $(DOCUMENTED) -count=1 -update
	$(GO) test $(DESTINATIONS) -run TestTable -count=1 -p 1 -update
	$(GO) test ./repo/lint/rules -run 'TestExamplesWhole|TestFindings' -count=1 -update

.PHONY: verify
verify: lint ## Check the code, and that generated documents are not stale
	$(GO) test -vet=off $(DOCUMENTED) $(DESTINATIONS)

.PHONY: oracle
oracle: ## Compare with the real clusterctl (builds it first)
	cd test/oracle && $(GO) test -vet=off -timeout 60m ./...

.PHONY: cluster-test
cluster-test: ## Compare with a real API server (builds it first)
	cd test/cluster && $(GO) test -vet=off -timeout 60m ./...

# gitlab is the module of python3-gitlab, which has no command of its own.
.PHONY: conformance-programs
conformance-programs:
	test/debian gh:gh nginx:nginx-light skopeo:skopeo docker-registry:docker-registry curl:curl sha256sum:coreutils \
		/usr/lib/python3/dist-packages/gitlab:python3-gitlab

.PHONY: conformance
conformance: conformance-programs ## Publish to, and read with, programs of others (installs them if it may)
	cd test/conformance && CONFORMANCE=complete $(GO) test -vet=off -timeout 20m ./...

.PHONY: cluster-build
cluster-build: ## Compile what cluster-test and oracle need ahead of them
	cd test/cluster && $(GO) list -export -deps -test ./... >/dev/null
	cd test/oracle && $(GO) list -export -deps -test ./... >/dev/null

# Go's default, because the other programs are measured as users run them.
.PHONY: bench
bench: export GOGC := 100
bench: conformance-programs ## Measure the budgets next to other programs, on a quiet machine; BENCH='Lint|Build' for some
	cd test/oracle && $(GO) test -vet=off -timeout 60m -run '^$$' -bench '$(BENCH)' -benchtime 5x . ./suites
	cd test/conformance && $(GO) test -vet=off -timeout 60m -run '^$$' -bench '$(BENCH)' -benchtime 3x .
