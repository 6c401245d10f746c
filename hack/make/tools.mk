# The tools that hack/tools/go.mod pins, built once per change of its checksums and of Go.

TOOLS_KEY := $(firstword $(shell cat hack/tools/go.mod hack/tools/go.sum | cksum))-$(shell $(GO) env GOVERSION)
TOOLS := $(BIN)/tools/.built-$(TOOLS_KEY)

CONTROLLER_GEN := $(BIN)/tools/controller-gen
CRD_REF_DOCS := $(BIN)/tools/crd-ref-docs
GOLANGCI_LINT := $(BIN)/tools/golangci-lint

##@ Tools

.PHONY: tools
tools: $(TOOLS) ## Build the tools into bin/tools.

# Built aside and moved, so that nobody ever runs half a tool.
$(TOOLS):
	@echo "Building controller-gen, crd-ref-docs, golangci-lint and kwok (about 4 minutes on two cores)"
	mkdir -p $(@D)/.new
	GOBIN=$(@D)/.new CGO_ENABLED=0 $(GO) -C hack/tools install -trimpath -ldflags '-s -w' tool
	mv $(@D)/.new/* $(@D)
	rm -rf $(@D)/.new $(@D)/.built-*
	touch $@
