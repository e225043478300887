# Two commands matter: `make run` sets everything up and opens a conversation; `make test` sets up and passes the tests.
PYTHON ?= python3
UV := .tools/bin/uv
BIN := .venv/bin
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
# Containers often forbid it to have smaller layers; here every process would compile our code and the tests anew.
export PYTHONDONTWRITEBYTECODE :=
SYNC := UV_PYTHON_DOWNLOADS=never $(UV) sync --quiet --locked --inexact --python $(PYTHON)
INSTALL := $(SYNC) --compile-bytecode

ROUNDS ?= 20
EXPLORE ?= 50
MINUTES ?= 60
DEADLY := $(wildcard tests/promise/test_crash_suite.py tests/promise/test_prefix_law.py tests/promise/test_resume.py \
  tests/store/test_crash.py tests/store/test_lease.py tests/store/test_behind.py tests/testing/test_crash.py \
  tests/chats/test_gateway_crashes.py tests/chats/test_gateway_killed.py tests/chats/test_*storms.py \
  tests/sandboxes/test_deaths.py tests/sandboxes/test_left_behind.py tests/sandboxes/test_companion.py \
  tests/sandboxes/test_trouble.py tests/service/test_inbox.py tests/service/test_copies.py tests/tools/test_shell.py \
  tests/acp/test_background.py tests/acp/test_trouble.py tests/hearing/test_recordings.py \
  tests/mcp/test_connections.py tests/mcp/test_real_servers.py)

.PHONY: run test quick soak check bench docs site setup setup-dev add clean wheel release image-check

run: setup
	@if $(BIN)/angelia models --which | grep -q '^local:'; then \
	  echo "No key and no local model server was found: setting up the small embedded model, once."; \
	  $(INSTALL) --no-dev --extra documents --extra web --extra gateway --extra local && $(BIN)/angelia models get; fi
	@$(BIN)/angelia chat

test: setup-dev  # a file stays on one process, with what it starts once for all of its tests
	@$(BIN)/pytest --collect-only -qq >/dev/null 2>&1 & $(MAKE) --no-print-directory check; checked=$$?; wait; exit $$checked  # compiled once, not by each process
	$(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder

quick: setup-dev  # what is pure or in this process
	$(BIN)/pytest -q -n 2 --dist worksteal -m "not slow and not real" tests/core tests/context tests/policy tests/engine tests/docs

soak: setup-dev  # what kills processes, again and again; an hour of faults; properties on new examples; rules taken out
	@for round in $$(seq $(ROUNDS)); do echo "round $$round of $(ROUNDS)"; $(BIN)/pytest -q -x $(DEADLY) || exit 1; done
	$(BIN)/python -m tests.soak --minutes $(MINUTES)
	ANGELIA_TESTS_EXPLORE=1 $(BIN)/pytest -q -n auto --dist loadfile --timeout 3600 -m soak
	ANGELIA_TESTS_EXPLORE=$(EXPLORE) $(BIN)/pytest -q -n auto --timeout 3600 tests/schedule/test_clockwork.py \
	  tests/notes/test_notes_side_by_side.py tests/delegation/test_child_crashes.py tests/web/page \
	  tests/batches/test_batches_killed.py tests/chats/test_inbound_storms.py tests/chats/test_gateway_killed.py tests/chats/test_delivery_storms.py \
	  tests/chats/test_voice_answers.py tests/escape tests/sandboxes tests/models/test_local_for_real.py tests/acp/test_trouble.py tests/store/test_cluster_network.py \
	  tests/faces/test_backup.py tests/faces/test_long_output.py tests/speaking/test_speakers.py \
	  tests/chats/test_reception.py tests/long/test_pictures.py tests/long/test_summaries.py tests/context/test_view.py \
	  tests/promise/test_prefix_law.py tests/promise/test_crash_suite.py tests/chats/test_gateway_crashes.py \
	  tests/web/test_streams.py tests/engine/test_silence_is_impossible.py \
	  $$(grep -rl 'import.*given' --include='test_*.py' tests)
	$(BIN)/python -m tests.mutants

check: setup-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --num-workers 2
	$(BIN)/lint-imports
	$(BIN)/deptry src

bench: $(UV)  # PEERS=1: other agents that are installed, beside ours
	@$(SYNC) --all-extras --group bench
	$(BIN)/python -m bench $(if $(PEERS),--peers) $(BENCH)

wheel: $(UV)
	@$(UV) build --quiet --wheel --out-dir dist
	@ls dist/*.whl

image-check: setup-dev  # builds the container image and runs it; needs root, docker.io and mmdebstrap
	DOCKER_BUILDKIT=0 $(BIN)/pytest -q tests/installing/image.py

release: setup-dev  # all but the upload, in dist/: packages, a note, a bill of materials, checksums; and the tag
	@test -z "$$(git status --porcelain)" || { echo "Commit first: what is released is what the tag names."; exit 1; }
	rm -rf dist && mkdir dist
	$(BIN)/python -m docs.release note dist
	$(UV) build --quiet --out-dir dist
	$(UV) export --quiet --locked --all-extras --no-dev --format cyclonedx1.5 --output-file dist/angelia-$(VERSION).cdx.json
	ANGELIA_TESTS_EXPLORE=1 $(BIN)/pytest -q tests/installing tests/docs/test_site.py
	$(BIN)/python -m docs.release sums dist
	git tag --annotate v$(VERSION) --file dist/angelia-$(VERSION).md
	@echo "Ready in dist/. Now: git push origin v$(VERSION), and $(UV) publish dist/*.whl dist/*.tar.gz"

docs: setup-dev
	$(BIN)/python -m docs.print_reference

site: setup-dev  # in site/VERSION, beside others: searchable, works from disk; a link that leads nowhere ends it
	$(BIN)/python -m docs.site site
	@echo "Open site/index.html"

setup: $(UV)
	@$(INSTALL) --no-dev --extra documents --extra web --extra gateway
	@$(BIN)/python -m compileall -q src  # a start that compiles takes three times as long

add: $(UV)  # an optional part: make add PART=discord
	@$(INSTALL) --no-dev --extra $(PART)

setup-dev: $(UV)  # of all that tests have installed a quarter is imported, and compiled then
	@$(SYNC) --all-extras
	@$(BIN)/python -m compileall -q src

$(UV):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Angelia needs Python 3.11 or newer; set PYTHON=…"; exit 1; }
	@$(PYTHON) -m venv .tools && .tools/bin/pip install --quiet --disable-pip-version-check uv==0.13.9

clean:
	rm -rf .venv .tools .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
