# An earlier version of the project, to upgrade from it and to roll back to it. There is no release yet.

EARLIER ?= 3a3231e
EARLIER_FOLDER = $(BIN)/skew/$(EARLIER)

##@ Upgrade

.PHONY: e2e-skew
e2e-skew: controlplane build ## Upgrade a fleet in use from an earlier version, and roll it back. Needs the history of the repository; skipped without.
	@if git cat-file -e '$(EARLIER)^{commit}' 2>/dev/null; then \
		$(MAKE) --no-print-directory e2e-skew-run; \
	else \
		echo "SKIPPED: nothing was upgraded, since this clone has no commit $(EARLIER)."; \
	fi

.PHONY: e2e-skew-run
e2e-skew-run: $(EARLIER_FOLDER)/bin/manager
	KUBEBUILDER_ASSETS=$(CONTROLPLANE) FEDQUOTA_EARLIER=$(EARLIER_FOLDER) $(GO) test $(RACE) -v -count=1 -tags skew -timeout 30m ./e2e/skew

$(EARLIER_FOLDER)/bin/manager:
	rm -rf $(EARLIER_FOLDER)
	mkdir -p $(EARLIER_FOLDER)
	git archive $(EARLIER) | tar -x -C $(EARLIER_FOLDER)
	$(GO) -C $(EARLIER_FOLDER) build -o bin/manager ./cmd/manager
