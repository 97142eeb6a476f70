# The two commands of the README are `make demo` and `make test`.
# Each builds .venv from requirements.lock first, once.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PEERS := .venv-peers
SPARK := .venv-spark
UV ?= uv
# What an image installs is what the tests ran with.
LOCK_IMAGE = $(UV) pip compile --universal --fork-strategy fewest --python-version 3.11 \
	--generate-hashes --no-emit-index-url --constraint requirements.lock --no-annotate \
	--custom-compile-command "make lock" --quiet
# Their grammars of web addresses are built wherever Altair is imported, for seconds;
# jsonschema does without them.
WITHOUT_GRAMMARS = --no-emit-package rfc3987-syntax --no-emit-package lark
CODE := forecaster pipelines dashboard migrations tests deploy/spark

export JAX_PLATFORMS ?= cpu
# Where it is set, every process of the tests compiles its modules again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test check lint types venv lock clean speed \
	faults lab soak install deploy-check sbom spark

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) \
		| awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

demo: venv ## Invent a fleet, forecast it, and serve the dashboard on this machine
	@"$(BIN)/harbor" demo

# Files come in the order of their folders: those of few tests take longest, and would come last.
test: venv ## Run every test, the database tests on the embedded Postgres included
	@"$(BIN)/python" -m pytest -n logical --maxprocesses 4 --dist loadfile \
		--max-worker-restart 0 --no-loadscope-reorder --durations=10

check: venv lint types test ## Lint, format, types, tests and migrations: all that CI runs
	@"$(BIN)/harbor" db check

lint: venv
	@"$(BIN)/ruff" check $(CODE)
	@"$(BIN)/ruff" format --check $(CODE)

types: venv
	@"$(BIN)/mypy"

venv: $(STAMP) ## Build .venv from the lock

$(STAMP): requirements.lock pyproject.toml
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "$(PYTHON) is older than Python 3.11. Install a newer one and say" \
		"'make PYTHON=python3.12 $(MAKECMDGOALS)'." >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "$(PYTHON) cannot make virtual environments. On Debian and Ubuntu:" \
		"apt-get install python3-venv" >&2; exit 1; }
	@echo "Building .venv from requirements.lock (once, one to three minutes)"
	@rm -rf "$(VENV)"
	@"$(PYTHON)" -m venv "$(VENV)"
	@"$(BIN)/python" -m pip install --quiet --disable-pip-version-check \
		--require-hashes --no-deps -r requirements.lock
	@"$(BIN)/python" -m pip install --quiet --disable-pip-version-check \
		--no-build-isolation --no-deps --editable .
	@touch "$(STAMP)"

faults: venv ## Run the whole matrix of faults (minutes; mounts small disks where it may)
	@"$(BIN)/python" -m pytest -v -m "faults or db" tests/pipelines/faults/test_faults.py

install: ## Install for a server, without what only tests need: make install PREFIX=/opt/harbor
	@test -n "$(PREFIX)" || { echo "Say where: make install PREFIX=/opt/harbor" >&2; exit 2; }
	@"$(PYTHON)" -m venv "$(PREFIX)"
	@awk '/^[^ ]/ {keep = /^setuptools==/} keep' requirements.lock > "$(PREFIX)/build.lock"
	@for lock in "$(PREFIX)/build.lock" deploy/train.lock deploy/dashboard.lock; do \
		"$(PREFIX)/bin/python" -m pip install --quiet --disable-pip-version-check \
			--require-hashes --no-deps -r "$$lock" || exit 1; done
	@rm -rf build
	@"$(PREFIX)/bin/python" -m pip install --quiet --disable-pip-version-check \
		--no-build-isolation --no-deps --force-reinstall .
	@rm -rf build

wheel: venv ## Build the wheel in dist/, for pipx and uvx
	@rm -rf build
	@"$(BIN)/python" -m build --no-isolation --outdir dist .
	@rm -rf build

soak: venv ## Run a month of nights in minutes
	@"$(BIN)/python" -m pytest -v -m soak -o faulthandler_timeout=3600 tests/soak

deploy-check: venv ## Build the images without a Docker engine, and start them (root; minutes)
	@"$(BIN)/python" -m pytest -v -m image tests/deploy

lab: $(PEERS)/.installed ## Measure the forecast on many cut histories, a quarter of an hour: LAB="--whole" for hours
	@"$(PEERS)/bin/python" -m tests.benchmarks.cutoffs $(LAB)

speed: venv ## Measure training and serving
	@"$(BIN)/python" -m tests.benchmarks.speed

$(PEERS)/.installed: tests/benchmarks/peers.lock
	@echo "Building $(PEERS) from tests/benchmarks/peers.lock (once, several minutes)"
	@rm -rf "$(PEERS)"
	@"$(PYTHON)" -m venv "$(PEERS)"
	@"$(PEERS)/bin/python" -m pip install --quiet --disable-pip-version-check \
		--require-hashes --no-deps -r tests/benchmarks/peers.lock
	@touch "$@"

spark: $(SPARK)/.installed ## Build .venv-spark, for the test of deploy/spark (needs Java 17)

# PySpark comes as source: what builds it has its hash too.
$(SPARK)/.installed: deploy/spark/requirements.lock
	@echo "Building $(SPARK) from deploy/spark/requirements.lock (once, a minute)"
	@rm -rf "$(SPARK)"
	@"$(PYTHON)" -m venv "$(SPARK)"
	@awk '/^[^ ]/ {keep = /^setuptools==/} keep' deploy/spark/requirements.lock \
		> "$(SPARK)/build.lock"
	@for lock in "$(SPARK)/build.lock" deploy/spark/requirements.lock; do \
		"$(SPARK)/bin/python" -m pip install --quiet --disable-pip-version-check \
			--no-build-isolation --use-pep517 --require-hashes --no-deps \
			-r "$$lock" || exit 1; done
	@touch "$@"

lock: ## Resolve the locks again (needs uv)
	@$(UV) pip compile pyproject.toml --universal --fork-strategy fewest \
		--python-version 3.11 --generate-hashes --no-emit-index-url \
		--extra train --extra dashboard --extra dev \
		--custom-compile-command "make lock" --quiet -o requirements.lock
	@$(LOCK_IMAGE) pyproject.toml -o deploy/pipelines.lock
	@$(LOCK_IMAGE) pyproject.toml --extra dashboard -o deploy/dashboard.lock
	@$(LOCK_IMAGE) pyproject.toml --extra train -o deploy/train.lock
	@echo "jax[cuda13]" | $(LOCK_IMAGE) - -o deploy/gpu.lock
	@echo "jax[tpu]" | $(LOCK_IMAGE) - -o deploy/tpu.lock
	@printf 'kubernetes-validate\ncyclonedx-bom\n' | $(LOCK_IMAGE) $(WITHOUT_GRAMMARS) - \
		-o tests/deploy/tools.lock
	@$(UV) pip compile pyproject.toml --universal --fork-strategy fewest \
		--python-version 3.11 --generate-hashes --no-emit-index-url \
		--extra train --extra bench --constraint requirements.lock --no-annotate \
		--custom-compile-command "make lock" --quiet -o tests/benchmarks/peers.lock
	@printf 'pyspark>=4.0,<4.1\nsetuptools\n' | $(UV) pip compile - --universal \
		--fork-strategy fewest --python-version 3.11 --generate-hashes \
		--no-emit-index-url --no-annotate --custom-compile-command "make lock" --quiet \
		-o deploy/spark/requirements.lock

sbom: venv ## Write what requirements.lock brings to sbom.json, as CycloneDX
	@"$(BIN)/python" -m pip install --quiet --disable-pip-version-check \
		--require-hashes --no-deps -r tests/deploy/tools.lock
	@"$(BIN)/cyclonedx-py" requirements --pyproject pyproject.toml \
		--output-reproducible --output-file sbom.json requirements.lock

clean: ## Remove .venv and caches; never the data in var/
	@rm -rf "$(VENV)" .pytest_cache .ruff_cache .mypy_cache *.egg-info
