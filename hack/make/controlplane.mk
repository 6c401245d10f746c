# The programs of a real control plane, at the versions that hack/controlplane/go.mod pins, built once per version. With
# K8S_VERSION=v1.32.13 they are those that hack/controlplane/v1.32.13.mod pins: an API server and a controller manager,
# beside the etcd and the kubectl of the newest version.

K8S_NEWEST := $(patsubst k8s.io/kubernetes@%,%,$(filter k8s.io/kubernetes@v%,\
	$(subst k8s.io/kubernetes v,k8s.io/kubernetes@v,$(file <hack/controlplane/go.mod))))
K8S_OLDER := $(patsubst hack/controlplane/%.mod,%,$(wildcard hack/controlplane/v*.mod))
K8S_VERSION ?= $(K8S_NEWEST)
K8S_NUMBERS := $(subst ., ,$(K8S_VERSION:v%=%))
CONTROLPLANE := $(BIN)/controlplane/$(K8S_VERSION)

NEWEST := $(BIN)/controlplane/$(K8S_NEWEST)

ifeq ($(K8S_VERSION),$(K8S_NEWEST))
CONTROLPLANE_PROGRAMS := $(addprefix $(CONTROLPLANE)/,etcd kube-apiserver kube-controller-manager kube-scheduler kubectl)
else
CONTROLPLANE_PROGRAMS := $(addprefix $(CONTROLPLANE)/,kube-apiserver kube-controller-manager)
CONTROLPLANE_MODULES := -modfile=$(K8S_VERSION).mod
CONTROLPLANE_LINKS := $(addprefix $(CONTROLPLANE)/,etcd kubectl)
endif

# Without these the API server reports v0.0.0 and its clients do not know what it can do.
CONTROLPLANE_LDFLAGS := -s -w \
	-X k8s.io/component-base/version.gitVersion=$(K8S_VERSION) \
	-X k8s.io/component-base/version.gitMajor=$(word 1,$(K8S_NUMBERS)) \
	-X k8s.io/component-base/version.gitMinor=$(word 2,$(K8S_NUMBERS))

##@ Control plane

.PHONY: controlplane
controlplane: export BUILD_PROGRAMS := $(notdir $(call missing,$(CONTROLPLANE_PROGRAMS)))
controlplane: $(CONTROLPLANE_PROGRAMS) $(CONTROLPLANE_LINKS) ## Build etcd, the Kubernetes control plane and kubectl into bin/controlplane.

$(NEWEST)/etcd: PACKAGE = go.etcd.io/etcd/server/v3
$(CONTROLPLANE)/kube%: PACKAGE = k8s.io/kubernetes/cmd/$(@F)

$(CONTROLPLANE_PROGRAMS):
	@mkdir -p $(@D)
	@hack/build.sh $@ hack/controlplane $(PACKAGE) $(CONTROLPLANE_MODULES) -trimpath -ldflags '$(CONTROLPLANE_LDFLAGS)'

$(CONTROLPLANE_LINKS): $(CONTROLPLANE)/%: $(NEWEST)/%
	@mkdir -p $(@D)
	@ln -sf ../$(K8S_NEWEST)/$* $@

ifneq ($(K8S_VERSION),$(K8S_NEWEST))
$(NEWEST)/%:
	@$(MAKE) --no-print-directory controlplane K8S_VERSION=$(K8S_NEWEST)
endif
