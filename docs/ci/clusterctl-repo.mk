# Targets for the release of a provider. In your Makefile, once this file is
# beside it:
#
#   include clusterctl-repo.mk
#
#   make lint-release
#   make build-release VERSION=v1.2.3
#   make publish-release VERSION=v1.2.3 DEST=https://github.com/acme/cluster-api-provider-acme
CLUSTERCTL_REPO_VERSION ?= v0.1.0
CLUSTERCTL_REPO ?= bin/clusterctl-repo-$(CLUSTERCTL_REPO_VERSION)
CLUSTERCTL_REPO_FLAGS ?=
FAIL_ON ?= error

bin/clusterctl-repo-$(CLUSTERCTL_REPO_VERSION):
	GOBIN=$(abspath bin) go install github.com/clusterctl-repo/clusterctl-repo/cmd/clusterctl-repo@$(CLUSTERCTL_REPO_VERSION)
	mv bin/clusterctl-repo $@

.PHONY: lint-release
lint-release: $(filter bin/%,$(CLUSTERCTL_REPO)) ## Check what the release would be
	$(CLUSTERCTL_REPO) lint . --fail-on $(FAIL_ON)

.PHONY: build-release
build-release: $(filter bin/%,$(CLUSTERCTL_REPO)) ## Build the release VERSION into out/
	$(CLUSTERCTL_REPO) build . --version "$(VERSION)" $(CLUSTERCTL_REPO_FLAGS)

.PHONY: publish-release
publish-release: $(filter bin/%,$(CLUSTERCTL_REPO)) ## Build, check and publish the release VERSION to DEST
	$(CLUSTERCTL_REPO) release . --version "$(VERSION)" --to "$(DEST)" --fail-on $(FAIL_ON) $(CLUSTERCTL_REPO_FLAGS)
