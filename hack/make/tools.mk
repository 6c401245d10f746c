# The tools that hack/tools/go.mod pins, each built when something needs it, once per change of the module's checksums and of Go.

TOOLS_KEY := $(firstword $(shell cat hack/tools/go.mod hack/tools/go.sum | cksum))-$(shell $(GO) env GOVERSION)

CONTROLLER_GEN := $(BIN)/tools/controller-gen
CRD_REF_DOCS := $(BIN)/tools/crd-ref-docs
GOLANGCI_LINT := $(BIN)/tools/golangci-lint
KWOK := $(BIN)/tools/kwok

$(CONTROLLER_GEN): PACKAGE = sigs.k8s.io/controller-tools/cmd/controller-gen
$(CRD_REF_DOCS): PACKAGE = github.com/elastic/crd-ref-docs
$(GOLANGCI_LINT): PACKAGE = github.com/golangci/golangci-lint/v2/cmd/golangci-lint
$(KWOK): PACKAGE = sigs.k8s.io/kwok/cmd/kwok

TOOLS := $(CONTROLLER_GEN) $(CRD_REF_DOCS) $(GOLANGCI_LINT) $(KWOK)

##@ Tools

.PHONY: tools
tools: $(TOOLS) ## Build the tools into bin/tools: about 4 minutes on two cores, once.

$(TOOLS): $(BIN)/tools/.key-$(TOOLS_KEY)
	@rm -f $@
	@GO=$(GO) hack/build.sh $(@D) hack/tools '-s -w' $(@F)=$(PACKAGE)

$(BIN)/tools/.key-$(TOOLS_KEY):
	@mkdir -p $(@D)
	@rm -f $(@D)/.key-* $(@D)/.built-*
	@touch $@
