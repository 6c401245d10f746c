# The tools that hack/tools/go.mod pins. Each is built when a target that runs it is made.

CONTROLLER_GEN := $(BIN)/tools/controller-gen
CRD_REF_DOCS := $(BIN)/tools/crd-ref-docs
GOLANGCI_LINT := $(BIN)/tools/golangci-lint
KWOK := $(BIN)/tools/kwok
TOOLS := $(CONTROLLER_GEN) $(CRD_REF_DOCS) $(GOLANGCI_LINT) $(KWOK)

# The name of this file changes with the checksums of the modules and with the version of Go: then the tools are built anew.
TOOLS_KEY := $(BIN)/tools/.key-$(firstword $(shell cat hack/tools/go.mod hack/tools/go.sum | cksum))-$(shell $(GO) env GOVERSION)

##@ Tools

.PHONY: tools
tools: export BUILD_PROGRAMS = $(notdir $(TOOLS))
tools: $(TOOLS) ## Build the tools into bin/tools.

$(CONTROLLER_GEN): PACKAGE = sigs.k8s.io/controller-tools/cmd/controller-gen
$(CRD_REF_DOCS): PACKAGE = github.com/elastic/crd-ref-docs
$(GOLANGCI_LINT): PACKAGE = github.com/golangci/golangci-lint/v2/cmd/golangci-lint
$(KWOK): PACKAGE = sigs.k8s.io/kwok/cmd/kwok

$(TOOLS): $(TOOLS_KEY)
	@hack/build.sh $@ hack/tools $(PACKAGE) -trimpath -ldflags '-s -w'

$(TOOLS_KEY):
	@mkdir -p $(@D)
	@rm -f $(@D)/.key-* $(@D)/.built-*
	@touch $@
