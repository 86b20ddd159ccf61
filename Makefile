# The demo needs Python 3.11+ and a package index; the checks need bash and a little
# more: see CONTRIBUTING.md. `.ci/run` is the list of checks; the targets below only
# pick from it.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help demo test lint docs bench bench-peers clean
help: ## Show this help
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/'

demo: .venv/.demo ## Fit a real example session and show what went, and why
	@$(BIN)/python examples/demo.py

test: ## Run every check that CI runs
	@PYTHON=$(PYTHON) .ci/run

lint: ## Style, spelling, types and architecture
	@PYTHON=$(PYTHON) .ci/run lint types

docs: ## Build the site into build/html and run its examples
	@PYTHON=$(PYTHON) .ci/run docs
	@echo "open build/html/index.html"

bench: ## Time the promised costs (prints a table)
	@PYTHON=$(PYTHON) .ci/run install
	@$(BIN)/python -m pytest benchmarks -q --benchmark-max-time=0.2 \
		--benchmark-min-rounds=3 --benchmark-columns=min,median,rounds

bench-peers: ## Time other libraries beside ours; writes docs/reference/benchmarks.md
	@test -x build/peers-venv/bin/python || $(PYTHON) -m venv build/peers-venv
	@build/peers-venv/bin/python -m pip install -qq -e . \
		-r benchmarks/peers/requirements.txt
	@build/peers-venv/bin/python benchmarks/peers/run.py

clean: ## Remove the virtual environment and everything built
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage*

# A demo needs the library and its command line, no tools: a few seconds.
.venv/.demo: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "turnkeep needs Python 3.11 or newer: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "Installing turnkeep and its command line into .venv (once; under a minute) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install -qq --upgrade pip
	@$(BIN)/python -m pip install -qq -e '.[cli,models,report]'
	@touch $@
	@echo "Installed. Fitting the example session ..."
