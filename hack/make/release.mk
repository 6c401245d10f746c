# What is released: the image of the manager, made without a container engine, and the manifests.

# The version is that of the last tag. Between tags it tells the commit.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
IMAGE ?= fedquota/manager

##@ Release

.PHONY: image
image: ## Make the image for amd64 and arm64 as an OCI archive, dist/image/manager.oci.tar, with a bill of materials. PUSH=1 pushes it.
	mkdir -p dist/image
	$(GO) -C hack/release run ./image -source $(CURDIR) -to $(CURDIR)/dist/image -name $(IMAGE) -version $(VERSION) \
		-commit $(shell git rev-parse HEAD) -created $(shell git log -1 --format=%ct) $(if $(PUSH),-push)
