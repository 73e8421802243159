# Each target makes the virtual environment it needs. `make` alone lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Tests start hundreds of processes. Each would compile every module anew where Python may not keep what it compiled.
unexport PYTHONDONTWRITEBYTECODE

# pip would compile all of 14,000 modules, which takes half a minute, and the tests import a fifth of them. Python compiles
# and keeps what it imports.
export PIP_NO_COMPILE = 1
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.DEFAULT_GOAL := help
.PHONY: help demo everything test fuzz mutants lint figures check bench frameworks servers reference docs package screenshots browser java clean

help: ## List the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 20

demo: $(VENV)/.installed ## Run the built-in example
	@$(BIN)/rightcall demo

# Tests often wait: for processes that they start, for a browser, for Spark and Ray, which one worker each is busy with.
# With half as many more workers than cores, a fifth of two cores was idle.
TESTERS = $(shell echo $$(( $$(getconf _NPROCESSORS_ONLN) * 2 )))

test: $(VENV)/.tested browser java ## Run the tests
	$(BIN)/python -m pytest -n $(TESTERS) --dist loadfile

fuzz: $(VENV)/.tested ## Search for what breaks the property tests: fresh seeds, FUZZ_SECONDS (1800) long, FUZZ_EXAMPLES (1000) a test
	$(BIN)/python -m tests.fuzzing

mutants: $(VENV)/.tested ## Make mistakes in the judging core, each of which a test has to notice; MUTANTS="--seed 7"
	$(BIN)/python -m tests.mutants $(MUTANTS)

lint: $(VENV)/.checked ## Check format, style, types and layers
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

figures: $(VENV)/.installed ## Print the size of the source tree, its imports and its names
	@$(BIN)/python tools/figures.py

check: lint test ## Everything that has to be right before a change is proposed

bench: $(VENV)/.tested ## Measure against other tools, in environments of their own under .bench/
	$(BIN)/python -m benchmarks --write

frameworks: $(VENV)/.tested ## Try real agent frameworks, in environments of their own under .bench/
	$(BIN)/python -m tests.frameworks
	$(BIN)/python -m tests.frameworks.results

servers: $(VENV)/.tested ## Send recordings to a real Phoenix and a real MLflow on loopback, and read them back
	$(BIN)/python -m tests.servers

reference: $(VENV)/.tested ## Rewrite the generated parts of the documentation: evaluators, options of commands, colours of screens
	$(BIN)/python -m tools.evaluator_pages
	$(BIN)/python -m tools.command_pages
	$(BIN)/python -m tests.docs.colours

docs: $(VENV)/.documented ## Build the documentation into site/, dead links being errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

package: $(VENV)/.packaged ## Build the wheel and the source archive into dist/, and check what an index would show
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist . >/dev/null
	$(BIN)/twine check --strict dist/*

screenshots: $(VENV)/.tested browser ## Retake the pictures of the documentation, into docs/images/
	$(BIN)/python -m tests.browser.screenshots docs/images

browser: | $(BIN)/pip
	@sh tests/browser/provide.sh $(VENV)/axe

java:
	@sh tests/scale/provide.sh

clean: ## Remove what the other targets made
	rm -rf $(VENV) .bench dist site

$(BIN)/pip:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade 'pip>=25.1'

# One resolution instead of four, for those who run all targets.
everything: $(VENV)/.installed
	$(BIN)/pip install --quiet --group check --group docs --group package
	@touch $(VENV)/.tested $(VENV)/.checked $(VENV)/.documented $(VENV)/.packaged

$(VENV)/.installed: pyproject.toml | $(BIN)/pip
	$(BIN)/pip install --quiet --editable '.[all]'
	@touch $@

$(VENV)/.tested: $(VENV)/.installed
	$(BIN)/pip install --quiet --group test
	@touch $@

$(VENV)/.checked: $(VENV)/.installed
	$(BIN)/pip install --quiet --group check
	@touch $@

$(VENV)/.documented: $(VENV)/.installed
	$(BIN)/pip install --quiet --group docs
	@touch $@

$(VENV)/.packaged: $(VENV)/.installed
	$(BIN)/pip install --quiet --group package
	@touch $@
