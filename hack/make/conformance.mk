# Kubernetes' own end-to-end tests, at the version that hack/controlplane/go.mod pins.

E2E_TEST := $(CONTROLPLANE)/e2e.test

##@ Conformance

.PHONY: conformance
conformance: controlplane build $(E2E_TEST) ## Run Kubernetes' own tests of ResourceQuota in a member with the agent, and compare what is refused.
	FEDQUOTA_GENERATED_SPECS=5000 KUBEBUILDER_ASSETS=$(CONTROLPLANE) $(GO) test -v -count=1 -run '^TestAgainstNative$$' ./webhooks/hub
	KUBEBUILDER_ASSETS=$(CONTROLPLANE) $(GO) run ./hack/conformance -suite $(E2E_TEST) -dir $(BIN)/conformance
	KUBEBUILDER_ASSETS=$(CONTROLPLANE) $(GO) run ./hack/conformance -suite $(E2E_TEST) -dir $(BIN)/conformance/shares -shares

$(E2E_TEST):
	@echo "Building $(@F) $(K8S_VERSION) (about 3 minutes on two cores, once)"
	mkdir -p $(@D)
	CGO_ENABLED=0 $(GO) -C hack/controlplane test -c $(CONTROLPLANE_MODULES) -trimpath -ldflags '$(CONTROLPLANE_LDFLAGS)' -o $@.new k8s.io/kubernetes/test/e2e
	mv $@.new $@
