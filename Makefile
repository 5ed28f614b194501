# Everything that a newcomer, a developer and CI need. Each target does its own set-up, once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-slow lint perf wheel clean

demo: $(READY)
	@$(BIN)/gpudeck demo

test: $(READY)
	$(BIN)/python -m pytest -m "not slow" -n 2 --dist loadfile $(ARGS)

test-slow: $(READY)
	$(BIN)/python -m pytest -m slow -n 2 --dist loadfile $(ARGS)

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

perf: $(READY)
	$(BIN)/python -m tests.perf

wheel: $(READY)
	$(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip -q
	$(BIN)/python -m pip wheel -q --no-deps -w dist .

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
