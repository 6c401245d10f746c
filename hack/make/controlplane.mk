# The programs of a real control plane, at the versions that hack/controlplane/go.mod pins, built once per version.

K8S_VERSION := $(patsubst k8s.io/kubernetes@%,%,$(filter k8s.io/kubernetes@v%,\
	$(subst k8s.io/kubernetes v,k8s.io/kubernetes@v,$(file <hack/controlplane/go.mod))))
K8S_NUMBERS := $(subst ., ,$(K8S_VERSION:v%=%))
CONTROLPLANE := $(BIN)/controlplane/$(K8S_VERSION)

CONTROLPLANE_PROGRAMS := $(addprefix $(CONTROLPLANE)/,etcd kube-apiserver kube-controller-manager kube-scheduler kubectl)

# Without these the API server reports v0.0.0 and its clients do not know what it can do.
CONTROLPLANE_LDFLAGS := -s -w \
	-X k8s.io/component-base/version.gitVersion=$(K8S_VERSION) \
	-X k8s.io/component-base/version.gitMajor=$(word 1,$(K8S_NUMBERS)) \
	-X k8s.io/component-base/version.gitMinor=$(word 2,$(K8S_NUMBERS))

##@ Control plane

.PHONY: controlplane
controlplane: export BUILD_PROGRAMS := $(notdir $(call missing,$(CONTROLPLANE_PROGRAMS)))
controlplane: $(CONTROLPLANE_PROGRAMS) ## Build etcd, the Kubernetes control plane and kubectl into bin/controlplane.

$(CONTROLPLANE)/etcd: PACKAGE = go.etcd.io/etcd/server/v3
$(CONTROLPLANE)/kube%: PACKAGE = k8s.io/kubernetes/cmd/$(@F)

$(CONTROLPLANE_PROGRAMS):
	@mkdir -p $(@D)
	@hack/build.sh $@ hack/controlplane $(PACKAGE) -trimpath -ldflags '$(CONTROLPLANE_LDFLAGS)'
