# make demo | test | bench | lint | docs | setup: each starts from a bare checkout and installs what is
# missing. A second run does only what has changed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := build/stamps
BEGIN := $(shell date +%s)
# How long it took since then.
TOOK = @seconds=$$(($$(date +%s) - $(BEGIN))); \
	printf 'make %s took %d min %02d s\n' $@ $$((seconds / 60)) $$((seconds % 60))

WORKLOADS := array_swap queue hashmap rbtree btree
CXX_FILES = $(shell find src bindings include frontend library workloads tests \
	-name '*.cpp' -o -name '*.hpp' -o -name '*.c' -o -name '*.h')
# Lists what clang-tidy checks, with the headers that it includes: all of src, bindings, library and
# frontend/runtime, eight files as one, since most of its time goes into headers.
TIDY_FILES = sed -n 's/^  "file": "\(.*\)"$$/\1/p' build/lint/compile_commands.json | \
	grep -v -e '/pmemsim-pass\.dir/' -e '/nanobind-static\.dir/' | sort -u
# What the installed package is made of.
SOURCES := $(shell find CMakeLists.txt cmake src bindings include frontend library workloads \
	experiments python -type f -not -name '*.pyc' 2>/dev/null)

.PHONY: help setup demo test test-long test-cxx test-python bench lint docs clean

help:
	@echo "make setup   install what is missing, and pmemsim into $(VENV)"
	@echo "make demo    record five workloads, compare two designs, draw a plot"
	@echo "make test    run all tests"
	@echo "make test-long  run all tests with more random numbers, as before a release"
	@echo "make bench   measure the simulator's own speed and memory"
	@echo "make lint    check style, types and what clang-tidy knows"
	@echo "make docs    write the generated tables of the documentation anew"
	@echo "make clean   remove $(VENV) and build/"

setup: $(STAMPS)/package

demo: setup
	mkdir -p build/demo
	$(BIN)/pmemsim compare $(WORKLOADS) --designs np,sw-undo --machine asap --threads 4 \
		--json build/demo/comparison.json --plot build/demo/comparison.png

test: test-cxx test-python
	$(TOOK)

# More of what differs only in its random numbers.
test-long:
	PMEMSIM_LONG_TESTS=1 $(MAKE) test

test-cxx: $(STAMPS)/system
	cmake --preset sanitize
	cmake --build --preset sanitize
	rm -rf build/sanitize/test-times
	ctest --preset sanitize --parallel $$(nproc); status=$$?; \
		$(PYTHON) tools/slowest_tests.py build/sanitize/test-times; exit $$status

test-python: setup
	$(BIN)/python -m pytest --numprocesses $$(($$(nproc) + 1)) --dist worksteal \
		--durations 10

bench: setup
	mkdir -p build/bench
	$(BIN)/pmemsim bench --json build/bench/bench.json
	$(BIN)/python benchmarks/checks.py --json build/bench/checks.json

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	clang-format-19 --dry-run -Werror $(CXX_FILES)
	$(BIN)/python tools/check_rooms.py
	cmake --preset lint -DPython_EXECUTABLE=$(abspath $(BIN)/python) \
		-Dnanobind_DIR=$$($(BIN)/python -m nanobind --cmake_dir) >build/lint.log || \
		{ cat build/lint.log; exit 1; }
	@echo "clang-tidy-19 of $$($(TIDY_FILES) | wc -l) batches of files"
	@$(TIDY_FILES) | xargs -P $$(nproc) -n 1 sh -c \
		'found=$$(clang-tidy-19 --quiet -p build/lint "$$0" 2>&1) || { echo "$$found"; exit 1; }'
	$(TOOK)

docs: setup
	$(BIN)/python tools/generate_docs.py

clean:
	rm -rf build $(VENV)

$(STAMPS)/system: tools/install_packages.sh
	PYTHON=$(PYTHON) tools/install_packages.sh
	mkdir -p $(STAMPS)
	touch $@

$(STAMPS)/venv: pyproject.toml $(STAMPS)/system
	@echo "pmemsim: installing Python packages into $(VENV)"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --group build --group dev
	touch $@

$(STAMPS)/package: $(STAMPS)/venv $(SOURCES) pyproject.toml
	@echo "pmemsim: building and installing pmemsim, which takes some minutes"
	$(BIN)/python -m pip install --quiet --no-build-isolation \
		--config-settings=cmake.define.CMAKE_COMPILE_WARNING_AS_ERROR=ON .
	touch $@
