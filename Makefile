# Everything that a newcomer, a developer and CI need. Each target does its own set-up, once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DIST := dist

.PHONY: demo test test-slow lint perf reliability keys screenshots wheel clean

demo: $(READY)
	@$(BIN)/gpudeck demo

test: $(READY)
	$(BIN)/python -m pytest -m "not slow" -n 2 --dist loadfile $(ARGS)

# One after the other: a server that one test starts is a stranger's server on the box of another.
test-slow: $(READY)
	$(BIN)/python -m pytest -m slow $(ARGS)

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

perf: $(READY)
	$(BIN)/python -m tests.perf

reliability: $(READY)
	$(BIN)/python -m tests.faults

keys: $(READY)
	$(BIN)/python -m tests.support.keys_page

# From one recording, so that the pictures change with the screens alone: in the midst of its benchmark, and at its end.
PICTURES := XDG_CONFIG_HOME=/nonexistent $(BIN)/gpudeck --replay tests/recordings/demo_deploy.jsonl.gz
screenshots: $(READY)
	rm -rf build/screens
	$(PICTURES) --until 120 --svg build/screens
	@mkdir -p docs/images
	cd build/screens && cp overview.svg server.svg ../../docs/images/
	$(PICTURES) --svg build/screens
	cd build/screens && cp plan.svg hub.svg bench.svg ../../docs/images/

wheel: $(READY)
	$(BIN)/python -m hatchling build -t wheel -d $(DIST)

# uv is used when it is there; it compiles bytecode only when told to, pip always does.
$(READY): pyproject.toml constraints.txt
	@if command -v uv >/dev/null 2>&1; then \
		{ [ -d $(VENV) ] || uv venv -q --python "$$(command -v $(PYTHON))" $(VENV); } && \
		uv pip install -q --python $(BIN)/python --compile-bytecode -c constraints.txt -e '.[test]'; \
	else \
		{ [ -d $(VENV) ] || $(PYTHON) -m venv $(VENV); } && \
		$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[test]'; \
	fi
	@$(BIN)/python -m compileall -q console widgets
	@touch $@

clean:
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
