# Start with `make run` to chat, `make test` to test. Longer recipes are in scripts/.
.DEFAULT_GOAL := help
.PHONY: help run cluster test check fmt generate web bench ci

help: ## Show this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

run: ## Build what is missing and serve on http://127.0.0.1:8080 (ARGS="--listen ADDR:PORT --data-dir DIR")
	@scripts/run.sh $(ARGS)

cluster: ## Two nodes over a Postgres and a NATS of their own, on http://127.0.0.1:8080 (PORT=8080); Ctrl-C ends all
	@scripts/cluster.sh

test: ## Install what the tests need, run every test, stop what was started
	@scripts/test.sh

check: ## Formatting, lints, docs, generated files
	@scripts/check.sh

fmt: ## Format the sources
	cargo fmt --all

generate: ## Write the files that are generated from the protocol crate
	@scripts/generate.sh

web: ## Build the browser page
	@scripts/install.sh node
	@scripts/web.sh

bench: ## Measure: the load suite on a release build (ARGS="--quick" for a minute of it)
	@scripts/bench.sh $(ARGS)

ci: ## What CI runs
	@.ci/run
