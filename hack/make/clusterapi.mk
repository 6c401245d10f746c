# The manager of Cluster API's core, at the version that go.mod requires, built once per version. It is built from a copy of its module,
# with the modules that this one pins, because it has no flag for the address of its webhooks: here they listen on 127.0.0.1 alone.

CLUSTERAPI_VERSION := $(patsubst sigs.k8s.io/cluster-api@%,%,$(filter sigs.k8s.io/cluster-api@v%,\
	$(subst sigs.k8s.io/cluster-api v,sigs.k8s.io/cluster-api@v,$(file <go.mod))))
CLUSTERAPI := $(BIN)/clusterapi/$(CLUSTERAPI_VERSION)/cluster-api
CLUSTERAPI_SOURCE = $(@D)/source

##@ Cluster API

.PHONY: clusterapi
clusterapi: $(CLUSTERAPI) ## Build the manager of Cluster API's core into bin/clusterapi: about 2 minutes, once.

$(CLUSTERAPI):
	@rm -rf $(@D)
	@mkdir -p $(@D)
	@$(GO) mod download sigs.k8s.io/cluster-api
	@cp -r $$($(GO) list -m -f '{{.Dir}}' sigs.k8s.io/cluster-api) $(CLUSTERAPI_SOURCE)
	@chmod -R u+w $(CLUSTERAPI_SOURCE)
	@sed -i 's/^\(\t*\)Port: *webhookPort,$$/\1Host: "127.0.0.1",\n&/' $(CLUSTERAPI_SOURCE)/main.go
	@grep -q '"127.0.0.1",' $(CLUSTERAPI_SOURCE)/main.go
	@hack/build.sh $@ $(CLUSTERAPI_SOURCE) . -trimpath -ldflags '-s -w'
	@rm -rf $(CLUSTERAPI_SOURCE)

.PHONY: e2e-clusterapi
e2e-clusterapi: controlplane build $(CLUSTERAPI) ## Run the hub beside Cluster API's own manager and webhooks; a part of make e2e.
	$(E2E) ./e2e/clusterapi

.PHONY: fleet-docs
fleet-docs: ## Write what TestScaleOut has printed into docs/tasks/follow-the-fleet.md.
	$(GO) run ./hack/bench/paste docs/tasks/follow-the-fleet.md $(BIN)/e2e/fleet

# The cluster autoscaler is no module that one can ask for at its releases: AUTOSCALER names a program that was built from a
# clone, as docs/evidence/autoscaler.md says.
.PHONY: e2e-autoscaler
e2e-autoscaler: controlplane build $(KWOK) $(CLUSTERAPI) ## Run the hub beside the cluster autoscaler, which AUTOSCALER=FILE names, and write docs/evidence/autoscaler.md: about 12 minutes.
	$(if $(AUTOSCALER),,$(error AUTOSCALER=FILE has to name a cluster autoscaler that knows Cluster API: see docs/evidence/autoscaler.md))
	$(E2E) -run '^TestBesideAutoscaler$$' ./e2e/clusterapi -args -autoscaler=$(abspath $(AUTOSCALER))
	$(GO) run ./hack/bench/paste docs/evidence/autoscaler.md $(BIN)/e2e/tables
