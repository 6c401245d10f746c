# What is released: the image of the manager, made without a container engine, and the manifests.

# The version is that of the last tag. Between tags it tells the commit.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
IMAGE ?= fedquota/manager

HELM := $(BIN)/tools/helm

# The programs that make it, each built with its progress shown.
RELEASE := $(BIN)/release
RELEASE_PROGRAMS := $(addprefix $(RELEASE)/,image plugin chart)

.PHONY: $(RELEASE_PROGRAMS)
$(RELEASE_PROGRAMS):
	@mkdir -p $(@D)
	@hack/build.sh $@ hack/release ./$(@F)

##@ Release

.PHONY: image
image: $(RELEASE)/image ## Make the image for amd64 and arm64 as an OCI archive, dist/image/manager.oci.tar, with a bill of materials. PUSH=1 pushes it.
	mkdir -p dist/image
	$(RELEASE)/image -source $(CURDIR) -to $(CURDIR)/dist/image -name $(IMAGE) -version $(VERSION) \
		-commit $(shell git rev-parse HEAD) -created $(shell git log -1 --format=%ct) $(if $(PUSH),-push)

VIEW_IMAGE ?= fedquota/kubectl-fedquota

.PHONY: view-image
view-image: $(RELEASE)/image ## Make the image of the plugin, which config/view runs, as dist/view-image/manager.oci.tar. PUSH=1 pushes it.
	mkdir -p dist/view-image
	$(RELEASE)/image -source $(CURDIR) -package ./cmd/kubectl-fedquota -to $(CURDIR)/dist/view-image -name $(VIEW_IMAGE) -version $(VERSION) \
		-commit $(shell git rev-parse HEAD) -created $(shell git log -1 --format=%ct) $(if $(PUSH),-push)

# Where the archives of a release are to be had.
URL ?= https://github.com/fedquota/fedquota/releases/download/$(VERSION)

.PHONY: plugins
plugins: $(RELEASE)/plugin ## Make the archives of the kubectl plugin for Linux, macOS and Windows, dist/kubectl-fedquota_*, and its manifest for krew.
	mkdir -p dist
	$(RELEASE)/plugin -source $(CURDIR) -to $(CURDIR)/dist -version $(VERSION) -image $(IMAGE):$(VERSION) -url $(URL) \
		-commit $(shell git rev-parse HEAD) -created $(shell git log -1 --format=%ct)

.PHONY: release
release: image chart plugins ## Make all that is released in dist: manifests of hub and agents, chart, image, kubectl plugin, bills of materials, checksums.
	$(CONTROLPLANE)/kubectl kustomize config/default | sed 's#fedquota/manager:latest#$(IMAGE):$(VERSION)#' > dist/install.yaml
	$(GO) run ./cmd/manager bundle --agent-image=$(IMAGE):$(VERSION) > dist/agent.yaml
	$(HELM) package dist/chart/fedquota --destination dist
	for arch in amd64 arm64; do cp dist/image/linux_$$arch/manager.cdx.json dist/manager-linux-$$arch.cdx.json; done
	cp dist/image/manager.oci.tar dist/manager.oci.tar
	cd dist && sha256sum install.yaml agent.yaml fedquota.yaml kubectl-fedquota_* fedquota-*.tgz manager-*.cdx.json manager.oci.tar > checksums.txt
	cat dist/checksums.txt

# What a value of the chart lets in.
CHART_MORE := $(addprefix $(CURDIR)/config/,prometheus/monitor.yaml prometheus/alerts.yaml rbac/hub-scaleout/role.yaml) $(CURDIR)/dist/dashboards.yaml $(CURDIR)/config/view/view.yaml

# Helm has to make of the chart what kustomize makes of config/all.
.PHONY: chart
chart: $(HELM) $(CONTROLPLANE)/kubectl $(RELEASE)/chart ## Make the Helm chart out of config/default, dist/chart/fedquota, and check it.
	mkdir -p dist
	$(CONTROLPLANE)/kubectl kustomize config/default > dist/default.yaml
	$(CONTROLPLANE)/kubectl kustomize config/grafana > dist/dashboards.yaml
	$(RELEASE)/chart -source $(CURDIR)/config/chart -to $(CURDIR)/dist/chart/fedquota -version $(VERSION) \
		$(CHART_MORE) < dist/default.yaml
	$(HELM) lint --strict --quiet dist/chart/fedquota
	$(HELM) template fedquota dist/chart/fedquota --namespace fedquota-system > dist/chart.yaml \
		--set namespace.create=true,image.tag=latest,serviceMonitor.enabled=true,prometheusRule.enabled=true,dashboards.enabled=true,scaleOut.enabled=true,view.enabled=true
	$(HELM) template fedquota dist/chart/fedquota --values config/chart/ci/all-values.yaml > /dev/null
	$(CONTROLPLANE)/kubectl kustomize config/all > dist/all.yaml
	$(RELEASE)/chart -compare $(CURDIR)/dist/chart.yaml < dist/all.yaml
	rm dist/default.yaml dist/dashboards.yaml dist/all.yaml dist/chart.yaml

# The alerts are not files of that module, so its tests are not cached.
.PHONY: alerts
alerts: ## Try the alerts of config/prometheus in Prometheus' own engine: about 4 minutes once, to build it.
	$(GO) -C hack/alerts test -count=1 ./...

$(HELM): hack/release/go.sum
	@mkdir -p $(@D)
	@hack/build.sh $@ hack/release helm.sh/helm/v4/cmd/helm -trimpath -ldflags '-s -w'
