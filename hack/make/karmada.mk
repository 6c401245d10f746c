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
