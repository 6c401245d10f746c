# A hub and three members on this machine. What they do not run is not built: of the tools, KWOK alone.

DEMO := $(BIN)/demo/demo
DEMO_CONTROLPLANE := $(addprefix $(CONTROLPLANE)/,etcd kube-apiserver kube-controller-manager kube-scheduler kubectl) $(KWOK)

##@ Demo

.PHONY: demo
demo: export BUILD_PROGRAMS := $(notdir $(call missing,$(DEMO_CONTROLPLANE))) manager kubectl-fedquota demo
demo: demo-intro $(DEMO_CONTROLPLANE) manager plugin demo-program ## Start a hub and members on this machine, and show a budget follow what the clusters ask for.
	@echo
	@KUBEBUILDER_ASSETS=$(CONTROLPLANE) exec $(DEMO) up

.PHONY: demo-intro
demo-intro:
	@echo 'fedquota demo: a hub and three members on this machine, each a real Kubernetes control plane.'
	@$(if $(call missing,$(DEMO_CONTROLPLANE)),echo 'First all that they run is built from source. That happens once: 5 to 7 minutes on two idle cores.')
	@echo

# The program is built for each demo. What only looks at a demo, or stops it, takes the one that started it.
.PHONY: demo-program
$(DEMO) demo-program:
	@mkdir -p $(dir $(DEMO))
	@hack/build.sh $(DEMO) . ./hack/demo -trimpath -ldflags '-s -w'

DEMO_STARTED := $(wildcard $(BIN)/demo/fleet)

.PHONY: demo-status
demo-status: $(if $(DEMO_STARTED),$(DEMO)) ## Show what the demo's hub and members do.
	@$(if $(DEMO_STARTED),$(DEMO) status,echo 'No demo runs: make demo starts one.')

.PHONY: demo-down
demo-down: $(if $(DEMO_STARTED),$(DEMO)) ## Stop the demo.
	@$(if $(DEMO_STARTED),$(DEMO) down,echo 'No demo runs.')

.PHONY: demo-docs
demo-docs: ## Write what the demo has shown last into docs/demo.md.
	$(GO) run ./hack/bench/paste docs/demo.md $(BIN)/demo
