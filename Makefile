# `make smoke`, `make sweep` and `make test` install what they need first.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c

PYTHON ?= python3
VENV ?= .venv
XLA_VENV ?= .venv-xla
TENSORFLOW_VENV ?= .venv-tensorflow
COMPILE_VENV ?= .venv-tpu-compile
LIGHT_VENV ?= .venv-light
XLA ?= 1
SWEEP ?= tpu_vs_gpu

# An empty name leaves torch_xla out, also where its environment exists.
export ORCHESTRATOR_XLA_PYTHON := $(if $(filter 1,$(XLA)),$(XLA_VENV)/bin/python)

# Commands keep their compiled modules, where images of containers forbid that: without them the imports of a command
# take half as long again (2.0 CPU s for 1.3), and the tests start hundreds.
export PYTHONDONTWRITEBYTECODE :=

# TensorFlow's build for GPUs has an environment of its own, because its CUDA libraries and torch's are the same files.
TENSORFLOW_PYTHON := $(wildcard $(TENSORFLOW_VENV)/bin/python)
ifneq ($(TENSORFLOW_PYTHON),)
export ORCHESTRATOR_TENSORFLOW_PYTHON := $(TENSORFLOW_PYTHON)
endif

ENVIRONMENTS := $(VENV)/.installed $(if $(filter 1,$(XLA)),$(XLA_VENV)/.installed)

# Versions that the tests ran with, for the Python that they ran under; others take what pyproject.toml allows.
PINNED := constraints.txt
CONSTRAINTS := $(shell $(PYTHON) -c 'import sys; sys.version_info[:2] == (3, 11) and print("--constraint $(PINNED)")')

.PHONY: install xla gpu tpu tpu-compile sweep smoke test test-more test-clusters test-slow test-all fuzz chaos hardware-test check check-types check-units audit constraints fix notebook docs docs-serve docs-links docs-pictures

# Side by side: pip has one core at most, and waits for the network.
install:
	@$(MAKE) --no-print-directory --jobs 2 $(ENVIRONMENTS)

xla: $(XLA_VENV)/.installed

# A host with NVIDIA GPUs: torch from the package index, which is its CUDA build, and TensorFlow's build for GPUs.
gpu: $(VENV)/.installed $(TENSORFLOW_VENV)/.installed
	ORCHESTRATOR_TENSORFLOW_PYTHON=$(TENSORFLOW_VENV)/bin/python $(VENV)/bin/python -m orchestrator doctor

# A TPU VM: torch_xla with libtpu.
tpu: install $(XLA_VENV)/.libtpu
	$(VENV)/bin/python -m orchestrator doctor

# Google's TPU compiler, which needs no TPU: tells whether a training step fits one.
tpu-compile: $(COMPILE_VENV)/.installed

OLD_PYTHON := Python 3.11 or later is needed, and $(PYTHON) is older or absent. \
On Ubuntu, as on images of TPU VMs: sudo apt install python3.11-venv, then add PYTHON=python3.11 to the command

.PHONY: python
python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "$(OLD_PYTHON)" >&2; exit 2; }

# Of an installation a line is shown; what is printed besides is in a file, whose end is shown where it fails.
LOGGED = >> $(@D)/install.log 2>&1 || { tail -n 20 $(@D)/install.log >&2; exit 2; }
comma := ,
define begin
@echo "installing $(@D): $(1) (log: $(@D)/install.log)"
@$(PYTHON) -m venv $(@D)
endef

$(VENV)/.installed: pyproject.toml $(PINNED) | python
	$(call begin,Ray$(comma) MLflow$(comma) TensorFlow and PyTorch)
	@tools/install.sh $(VENV) $(CONSTRAINTS) --editable '.[torch,tensorflow,dev]' $(LOGGED)
	@TF_CPP_MIN_LOG_LEVEL=3 $(VENV)/bin/python -c 'import mlflow, ray.tune, tensorflow, torch' $(LOGGED)
	@touch $@

# An environment of a framework has the packages of its extra only: no Ray, no MLflow, and our own code comes by path.
# torch_xla pins another torch than the main environment has.
REQUIREMENTS := import sys, tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"][sys.argv[1]], sep="\n")
define install_extra
@$(PYTHON) -c '$(REQUIREMENTS)' $(1) > $(@D)/requirements.txt
@tools/install.sh $(@D) --requirement $(@D)/requirements.txt $(LOGGED)
endef

$(XLA_VENV)/.installed: pyproject.toml | python
	$(call begin,PyTorch/XLA)
	$(call install_extra,xla)
	@touch $@

$(XLA_VENV)/.libtpu: $(XLA_VENV)/.installed
	@echo "installing libtpu into $(@D) (log: $(@D)/install.log)"
	$(call install_extra,xla-tpu)
	@touch $@

# One framework, without Ray and MLflow.
LIGHT := import tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
print(*(name for name in project["dependencies"] if not name.startswith(("ray", "mlflow"))), *project["optional-dependencies"]["torch"], sep="\n")

$(LIGHT_VENV)/.installed: pyproject.toml $(PINNED) | python
	$(call begin,PyTorch)
	@$(PYTHON) -c '$(LIGHT)' > $(@D)/requirements.txt
	@tools/install.sh $(LIGHT_VENV) $(CONSTRAINTS) --requirement $(@D)/requirements.txt $(LOGGED)
	@$(LIGHT_VENV)/bin/python -c 'import torch' $(LOGGED)
	@touch $@

$(TENSORFLOW_VENV)/.installed: pyproject.toml | python
	$(call begin,TensorFlow for GPUs)
	$(call install_extra,tensorflow-gpu)
	@touch $@

$(COMPILE_VENV)/.installed: pyproject.toml | python
	$(call begin,Google's TPU compiler)
	$(call install_extra,tpu-compile)
	@touch $@

sweep: install
	$(VENV)/bin/python -m orchestrator +sweep=$(SWEEP)

# The first answer, from one framework; `make sweep SWEEP=smoke` has all of them, Ray and MLflow.
smoke: $(LIGHT_VENV)/.installed
	$(LIGHT_VENV)/bin/python -m orchestrator +sweep=smoke trainer=torch_ddp precision=fp32,bf16 \
		sweep.include=[] executor=inline tracking=none data.source=synthetic

PYTEST := $(VENV)/bin/python -m pytest -n 2 --dist loadfile
TESTS := tests/integration tests/contract tests/equivalence tests/cli tests/data tests/golden tests/prediction

# One test of each behaviour, where several show it (docs/findings/tests.md). A third process makes it no faster on two
# cores. Files are taken in the order of their collection, as the longest are in the first folder.
test: install $(COMPILE_VENV)/.installed check
	$(PYTEST) --no-loadscope-reorder --durations=20 -m "not more and not slow" $(TESTS)

# The rest of what is tested before a change lands: tests with the mark `more`, and bad input, whose longest tests are in
# two files.
test-more: install $(COMPILE_VENV)/.installed
	$(PYTEST) --no-loadscope-reorder --durations=40 -m "more and not slow" $(TESTS)
	$(PYTEST) --dist load tests/fuzz

# Nodes that come, go and die, each a process of this machine or a namespace of it.
test-clusters: install
	$(PYTEST) tests/cluster

# Tests with the mark `slow`: for the night.
test-slow: install
	$(PYTEST) -m slow $(TESTS)

test-all: test test-more test-clusters test-slow

# A hundred times as much bad input as CI has time for, and other examples every time: for the night.
fuzz: $(VENV)/.installed
	$(PYTEST) --hypothesis-profile nightly tests/fuzz

# Strike a sweep at every step of its way, type the command again, and count what that cost; about a quarter of an hour.
chaos: $(VENV)/.installed
	$(VENV)/bin/python tools/chaos.py

# What continuous integration cannot run: on a machine with an accelerator. hardware-test/page.md is for docs/reference/support.md.
hardware-test: $(VENV)/.installed
	$(VENV)/bin/python tools/hardware_test.py $(if $(DEVICE),--device $(DEVICE))

check: $(VENV)/.installed audit
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/lint-imports
	$(VENV)/bin/python tools/structure.py
	@$(MAKE) --no-print-directory --jobs 2 --output-sync check-types check-units

# Side by side: the type checker has one core.
check-types:
	$(VENV)/bin/mypy
	MYPYPATH=tools $(VENV)/bin/mypy --strict tools/fit_bundled_models.py tools/condense_profiles.py tools/profet_tables.py
	MYPYPATH=tools $(VENV)/bin/mypy --strict tools/docsite tools/docsite_hooks.py
	$(MAKE) docs

check-units:
	$(PYTEST) tests/unit

# Known vulnerabilities of the pinned versions. Exit code 3 says that no server of advisories could be asked: skipped.
audit: $(VENV)/.installed
	$(VENV)/bin/python tools/audit.py $(PINNED) || { [ $$? = 3 ] && echo "audit: skipped"; }

# Write down the versions that are installed, of any build. Run the tests, then commit.
constraints: $(VENV)/.installed
	{ sed -n '/^\#/p' $(PINNED); $(VENV)/bin/pip freeze --exclude orchestrator --exclude uv --exclude-editable | sed 's/+.*//'; } > $(PINNED).new
	mv $(PINNED).new $(PINNED)

fix: $(VENV)/.installed
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

# Run docs/notebook.ipynb, and keep what its cells show.
notebook: install
	$(VENV)/bin/python tools/run_notebook.py

# The documentation as a site in site/, without a network; a warning is an error.
docs: $(VENV)/.installed
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/python -m mkdocs build --strict --quiet

docs-serve: $(VENV)/.installed
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/python -m mkdocs serve

# Links that lead out of the site: asks their servers.
docs-links: docs
	$(VENV)/bin/python tools/docs_links.py site

# Screenshots, the sample report and the terminal recording, from a real sweep on this machine; takes minutes.
docs-pictures: install
	$(VENV)/bin/python tools/docs_pictures.py
