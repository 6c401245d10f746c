# A real node of a real control plane: kubelet and kube-proxy at the version of the control plane, and the images that it runs.

NODE_PROGRAMS := $(addprefix $(CONTROLPLANE)/,kubelet kube-proxy)
NODE_IMAGES := $(BIN)/e2e/images

##@ Real node

.PHONY: e2e-node
e2e-node: ## Install the product from its image and run it in pods of a real node. Needs root, containerd and runc; skipped without.
	@missing=$$(e2e/node/needs.sh | paste -sd ' '); \
	if [ -n "$$missing" ]; then \
		echo "SKIPPED: no pod ran on a real node, since this machine lacks: $$missing."; \
	else \
		$(MAKE) --no-print-directory e2e-node-run; \
	fi

.PHONY: e2e-node-run
e2e-node-run: controlplane build $(NODE_PROGRAMS) node-images
	KUBEBUILDER_ASSETS=$(CONTROLPLANE) $(GO) test $(RACE) -v -count=1 -tags node -timeout 30m ./e2e/node

$(NODE_PROGRAMS): PACKAGE = k8s.io/kubernetes/cmd/$(@F)
$(NODE_PROGRAMS):
	@mkdir -p $(@D)
	@hack/build.sh $@ hack/controlplane $(PACKAGE) -trimpath -ldflags '$(CONTROLPLANE_LDFLAGS)'

# node-image makes an image as make image does: its folder, name, version and package.
node-image = $(RELEASE)/image -source $(CURDIR) -to $(NODE_IMAGES)/$(1) -name $(2) -version $(3) -package $(4) \
	-platforms linux/$(shell $(GO) env GOARCH) -commit $(shell git rev-parse HEAD)

# Two versions of the same code, to upgrade from one to the other, and a program that does nothing.
.PHONY: node-images
node-images: $(RELEASE)/image
	$(call node-image,pause,localhost/pause,1,./e2e/node/pause)
	$(call node-image,v0.1.0,registry.example/fedquota,v0.1.0,./cmd/manager)
	$(call node-image,v0.2.0,registry.example/fedquota,v0.2.0,./cmd/manager)
