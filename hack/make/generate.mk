# What is generated from the sources, and kept in the tree.

##@ Generate

.PHONY: generate
generate: $(CONTROLLER_GEN) ## Generate the deep copies of the API types.
	$(CONTROLLER_GEN) object paths=./api/...

# The generator's pattern of quantities lets through what is none, such as 1e1.5: one such object would end every watch of its kind.
# Digits are bounded too, since to compute with a huge exponent takes minutes.
QUANTITY := ^(\\+|-)?([0-9]{1,40}(\\.[0-9]{0,40})?|\\.[0-9]{1,40})([KMGTPE]i|[numkMGTPE]|[eE](\\+|-)?[0-9]{1,2})?$$

.PHONY: manifests
manifests: $(CONTROLLER_GEN) $(CONTROLPLANE)/kubectl ## Generate the CRDs, the roles, the rules of the webhook, and the agent's manifests in one file.
	$(CONTROLLER_GEN) crd paths=./api/... output:crd:dir=config/crd/bases
	sed -i -E 's/( pattern: ).*numkMGTPE.*/\1$(QUANTITY)/' config/crd/bases/*.yaml
	$(CONTROLLER_GEN) rbac:roleName=fedquota-hub paths=./controllers/hub/... paths=./webhooks/hub/... output:rbac:dir=config/rbac/hub
	$(CONTROLLER_GEN) rbac:roleName=fedquota-agent paths=./controllers/member/... paths=./webhooks/admission/... output:rbac:dir=config/rbac/agent
	$(CONTROLLER_GEN) webhook paths=./webhooks/admission/... output:webhook:dir=config/member/webhook
	$(CONTROLLER_GEN) webhook paths=./webhooks/hub/... output:webhook:dir=config/webhook
	$(CONTROLPLANE)/kubectl kustomize config/member > internal/bundle/agent.yaml
	$(CONTROLPLANE)/kubectl kustomize config/rbac/hub-scaleout-in-member > internal/bundle/scaleout.yaml

.PHONY: docs
docs: $(CRD_REF_DOCS) ## Generate the reference: API, kubectl plugin, conditions, events, annotations, flags, metrics.
	mkdir -p docs/reference
	$(CRD_REF_DOCS) --source-path=api --config=hack/docs/config.yaml --log-level=ERROR --renderer=markdown --output-path=docs/reference/api.md
	$(GO) run ./hack/docs/plugin > docs/reference/kubectl-fedquota.md
	for page in annotations conditions events flags metrics; do $(GO) run ./hack/docs/source $$page > docs/reference/$$page.md || exit 1; done

.PHONY: dashboards
dashboards: ## Generate the Grafana dashboards of config/grafana.
	$(GO) -C hack/dashboards run . ../../config/grafana

.PHONY: fmt
fmt: $(GOLANGCI_LINT) ## Format the Go code.
	$(GOLANGCI_LINT) fmt

.PHONY: tidy
tidy: ## Tidy the go.mod of the project, of its tools, control planes and Cluster API, of its releases, alerts, dashboards and site.
	$(GO) mod tidy
	$(GO) -C hack/tools mod tidy
	$(GO) -C hack/controlplane mod tidy
	for version in $(K8S_OLDER); do $(GO) -C hack/controlplane mod tidy -modfile=$$version.mod; done
	$(GO) -C hack/release mod tidy
	$(GO) -C hack/alerts mod tidy
	$(GO) -C hack/dashboards mod tidy
	$(GO) -C hack/site mod tidy

# One after the other: each of them reads what another one writes.
.PHONY: generated
generated:
	$(MAKE) --no-print-directory -j1 tidy generate manifests docs dashboards fmt
