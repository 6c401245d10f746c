# Fleets of other versions of Kubernetes than the newest. One is named by its hub and, if they are others, its members,
# which take these in turn: v1.36.3+v1.32.13+v1.34.4.

MIXED := $(subst $() $(),+,$(K8S_NEWEST) $(filter v1.32.% v1.34.%,$(K8S_OLDER)))
VERSIONS_ALL := $(K8S_OLDER) $(K8S_NEWEST) $(MIXED)
VERSIONS ?= $(VERSIONS_ALL)
VERSIONS_PACKAGES ?= e2e e2e/native
VERSIONS_RESULTS := hack/versions/results

# Those in which an API server has the most to say: what it admits, what policies refuse, what a write cut off leaves.
VERSIONS_SCENARIOS := bounds_and_placement|bad_input|foreign_quota|adoption|limits_taken_over|removal|$\
	share_deleted_and_rewritten_by_hand|two_API_servers_under_a_storm|cut_below_usage|kills_at_each_step
VERSIONS_TESTS := ^TestSmoke$$|^TestScenarios$$/^($(VERSIONS_SCENARIOS))$$|^TestNative$$

##@ Versions

.PHONY: e2e-versions
e2e-versions: controlplane build ## Run smoke, scenarios of the protocol and the native table on each version of Kubernetes, and write docs/versions.md.
	status=0; \
	for fleet in $(VERSIONS); do \
		$(MAKE) --no-print-directory e2e-version VERSIONS_FLEET=$$fleet || status=1; \
	done; \
	$(GO) run ./hack/versions page $(VERSIONS_RESULTS) docs/versions.md $(sort $(VERSIONS_ALL) $(VERSIONS)) || status=1; \
	exit $$status

VERSIONS_OF_FLEET = $(subst +, ,$(VERSIONS_FLEET))
VERSIONS_MEMBERS = $(or $(wordlist 2,9,$(VERSIONS_OF_FLEET)),$(VERSIONS_OF_FLEET))

# Each package leaves its results once it has ended. What is cut off leaves those of before as they are.
.PHONY: e2e-version
e2e-version:
	mkdir -p $(BIN)/versions
	for version in $(VERSIONS_OF_FLEET); do $(MAKE) --no-print-directory controlplane K8S_VERSION=$$version; done
	status=0; \
	for package in $(VERSIONS_PACKAGES); do \
		results=$(VERSIONS_FLEET).$${package##*/}.json; \
		KUBEBUILDER_ASSETS=$(BIN)/controlplane/$(firstword $(VERSIONS_OF_FLEET)) \
		FEDQUOTA_MEMBER_ASSETS=$(subst $() $(),:,$(addprefix $(BIN)/controlplane/,$(VERSIONS_MEMBERS))) \
		$(GO) test -json -count=1 -tags e2e -timeout 20m -run '$(VERSIONS_TESTS)' ./$$package > $(BIN)/versions/$$results || status=1; \
		$(GO) run ./hack/versions keep $(BIN)/versions/$$results $(VERSIONS_RESULTS)/$$results || status=1; \
	done; \
	exit $$status
