# The programs of a real control plane, at the versions that hack/controlplane/go.mod pins, built once per version.

K8S_VERSION := $(patsubst k8s.io/kubernetes@%,%,$(filter k8s.io/kubernetes@v%,\
	$(subst k8s.io/kubernetes v,k8s.io/kubernetes@v,$(file <hack/controlplane/go.mod))))
K8S_NUMBERS := $(subst ., ,$(K8S_VERSION:v%=%))
CONTROLPLANE := $(BIN)/controlplane/$(K8S_VERSION)

# Without these the API server reports v0.0.0 and its clients do not know what it can do.
CONTROLPLANE_LDFLAGS := -s -w \
	-X k8s.io/component-base/version.gitVersion=$(K8S_VERSION) \
	-X k8s.io/component-base/version.gitMajor=$(word 1,$(K8S_NUMBERS)) \
	-X k8s.io/component-base/version.gitMinor=$(word 2,$(K8S_NUMBERS))

ETCD = etcd=go.etcd.io/etcd/server/v3
KUBERNETES = $(foreach program,$(1),$(program)=k8s.io/kubernetes/cmd/$(program))

# build_controlplane builds those programs of the control plane that are missing, of the names given.
build_controlplane = GO=$(GO) hack/build.sh $(CONTROLPLANE) hack/controlplane '$(CONTROLPLANE_LDFLAGS)' $(ETCD) $(call KUBERNETES,$(1))

##@ Control plane

.PHONY: controlplane
controlplane: ## Build etcd, the Kubernetes control plane and kubectl into bin/controlplane: about 5 minutes on two cores, once.
	@$(call build_controlplane,kube-apiserver kube-controller-manager kubectl kube-scheduler)

# What the demo runs: no pod of it needs a scheduler.
.PHONY: controlplane-demo
controlplane-demo:
	@$(call build_controlplane,kube-apiserver kube-controller-manager kubectl)
