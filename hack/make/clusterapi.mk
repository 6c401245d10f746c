# The manager of Cluster API's core, at the version that hack/clusterapi/go.mod pins, built once per version.

CLUSTERAPI_VERSION := $(patsubst sigs.k8s.io/cluster-api@%,%,$(filter sigs.k8s.io/cluster-api@v%,\
	$(subst sigs.k8s.io/cluster-api v,sigs.k8s.io/cluster-api@v,$(file <hack/clusterapi/go.mod))))
CLUSTERAPI := $(BIN)/clusterapi/$(CLUSTERAPI_VERSION)/cluster-api

##@ Cluster API

.PHONY: clusterapi
clusterapi: $(CLUSTERAPI) ## Build the manager of Cluster API's core into bin/clusterapi: about 2 minutes, once.

$(CLUSTERAPI):
	@mkdir -p $(@D)
	@hack/build.sh $@ hack/clusterapi sigs.k8s.io/cluster-api -trimpath -ldflags '-s -w'

.PHONY: e2e-clusterapi
e2e-clusterapi: controlplane build $(CLUSTERAPI) ## Run the hub beside Cluster API's own manager and webhooks; a part of make e2e.
	KUBEBUILDER_ASSETS=$(CONTROLPLANE) $(GO) test $(RACE) -v -count=1 -tags e2e -timeout 30m ./e2e/clusterapi
