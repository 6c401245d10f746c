# The documentation as a static site, made of the same Markdown by the program in hack/site.

##@ Site

.PHONY: site
site: ## Build the documentation as a static site with search into bin/site, and check its links.
	$(GO) -C hack/site run . -root $(CURDIR) -to $(BIN)/site
	@echo "Open $(BIN)/site/index.html"
