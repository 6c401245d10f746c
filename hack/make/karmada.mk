# The programs of Karmada's control plane that fedquota is compared with, at the version that hack/karmada/go.mod pins, built
# once per version.

KARMADA_VERSION := $(patsubst github.com/karmada-io/karmada@%,%,$(filter github.com/karmada-io/karmada@v%,\
	$(subst github.com/karmada-io/karmada v,github.com/karmada-io/karmada@v,$(file <hack/karmada/go.mod))))
KARMADA := $(BIN)/karmada/$(KARMADA_VERSION)
KARMADA_PROGRAMS := $(addprefix $(KARMADA)/,aggregated-apiserver controller-manager webhook)
KARMADA_LDFLAGS := -s -w -X github.com/karmada-io/karmada/pkg/version.gitVersion=$(KARMADA_VERSION)

##@ Comparison

.PHONY: karmada
karmada: export BUILD_PROGRAMS := $(notdir $(call missing,$(KARMADA_PROGRAMS)))
karmada: $(KARMADA_PROGRAMS) ## Build Karmada's aggregated API server, controller manager and webhook into bin/karmada.

$(KARMADA_PROGRAMS):
	@mkdir -p $(@D)
	@hack/build.sh $@ hack/karmada github.com/karmada-io/karmada/cmd/$(@F) -trimpath -ldflags '$(KARMADA_LDFLAGS)'

# Each way gets a fleet of its own, one after another. Nothing else should run meanwhile.
WAYS := pool static karmada fedquota
COMPARE = $(GO) run ./hack/bench/compare

.PHONY: compare
compare: controlplane manager karmada ## Measure fedquota, Karmada, static quotas and one pool on the same load, and write the table into docs/evidence/compare.md: about 12 minutes.
	for way in $(WAYS); do KUBEBUILDER_ASSETS=$(CONTROLPLANE) $(COMPARE) -way $$way || exit 1; done
	$(MAKE) --no-print-directory compare-docs

.PHONY: compare-docs
compare-docs: ## Write what make compare has measured last into docs/evidence/compare.md and the README.
	$(COMPARE) > $(BIN)/bench/compare/compared.txt
	$(COMPARE) -brief > $(BIN)/bench/compare/brief.txt
	cat $(BIN)/bench/compare/compared.txt
	for page in docs/evidence/compare.md README.md; do $(GO) run ./hack/bench/paste $$page $(BIN)/bench/compare || exit 1; done
