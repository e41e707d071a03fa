# make setup | demo | quick | test | test-long | lint | bench | docs | machine-pages: each starts from a bare checkout
# and installs what is missing. A second run does only what has changed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := build/stamps
BEGIN := $(shell date +%s)
# How long it took since then.
TOOK = @seconds=$$(($$(date +%s) - $(BEGIN))); \
	printf 'make %s took %d min %02d s\n' $@ $$((seconds / 60)) $$((seconds % 60))

WORKLOADS := array_swap queue hashmap rbtree btree
CXX_FILES = $(shell find src bindings include frontend library workloads tests python \
	-name '*.cpp' -o -name '*.hpp' -o -name '*.c' -o -name '*.h')
# Lists what clang-tidy checks, with the headers that it includes: all of src, bindings, library and
# frontend/runtime, eight files as one, since most of its time goes into headers.
TIDY_FILES = sed -n 's/^  "file": "\(.*\)"$$/\1/p' build/lint/compile_commands.json | \
	grep -v -e '/pmemsim-pass\.dir/' -e '/nanobind-static\.dir/' | sort -u
# What the installed package is made of.
SOURCES := $(shell find CMakeLists.txt cmake src bindings include frontend library workloads \
	docs experiments python -type f -not -name '*.pyc' 2>/dev/null)

# GoogleTest's cases that `make quick` runs: those of components, but not of whole crashes and checkers.
QUICK := -*Crash*:*DesignImages*:Guaranteed*.*:*GuaranteeClasses*:GroupValues*:*DefinitionTest*:*SideEffects*:*SealedImages*:*Programs*:*HostMemory*:*Races*
PYTEST := $(BIN)/python -m pytest --numprocesses $$(($$(nproc) + 1)) --dist worksteal

# Runs the C++ tests that a preset has built, and names the slowest cases.
CTEST = rm -rf build/$(1)/test-times; ctest --preset $(1) --no-tests=error --parallel $$(($$(nproc) + 1)) $(2); status=$$?; \
	$(PYTHON) tools/slowest_tests.py build/$(1)/test-times || status=1; exit $$status

# Builds the C++ tests, linked with the simulator that `make setup` has built.
define BUILD_TESTS
cmake --preset tests >build/tests.log || { cat build/tests.log; exit 1; }
cmake --build --preset tests --target cxx_tests
endef

.PHONY: help setup demo quick test test-cxx test-python test-long test-long-cxx test-long-python update-pins bench lint docs wheel site machine-pages clean

help:
	@echo "Use"
	@echo "  make setup             install what is missing, and pmemsim into $(VENV)"
	@echo "  make demo              record five workloads, compare four designs, draw a plot"
	@echo "Check a change"
	@echo "  make quick             run the most telling tests of every module, in 90 s"
	@echo "  make test              run tests of every kind, in 7 minutes"
	@echo "  make test-cxx          ... those in C++"
	@echo "  make test-python       ... those in Python"
	@echo "  make lint              check style, types, words, the order of modules, clang-tidy"
	@echo "  make test-long         run all tests, in C++ with sanitizers, in 24 minutes"
	@echo "  make bench             measure the simulator's own speed and memory"
	@echo "Write what is generated"
	@echo "  make docs              the tables and the picture of the documentation"
	@echo "  make machine-pages     simulated beside published and measured values of existing machines"
	@echo "  make update-pins       the pinned numbers and texts of tests/pins, tests/snapshots, benchmarks/results"
	@echo "Publish"
	@echo "  make wheel             a wheel in dist/ that other computers install without a compiler"
	@echo "  make site              the documentation as a site in build/site, with a page for each design"
	@echo "Clean up"
	@echo "  make clean             remove $(VENV) and build/"

setup: $(STAMPS)/package

demo: setup
	mkdir -p build/demo
	$(BIN)/pmemsim compare $(WORKLOADS) --designs np,sw-undo,hw-undo,asap --machine asap --threads 4 \
		--json build/demo/comparison.json --plot build/demo/comparison.png

quick: setup
	cmake --preset tests >build/tests.log || { cat build/tests.log; exit 1; }
	cmake --build --preset tests --target unit_tests validation_tests
	GTEST_FILTER='$(QUICK)'; export GTEST_FILTER; $(call CTEST,tests,-R '^(unit|validation)\.')
	$(PYTEST) -m "quick and not long"
	$(TOOK)

test: test-cxx test-python
	$(TOOK)

# All tests: more of what differs in amount only, and the C++ tests with sanitizers.
test-long: test-long-cxx test-long-python
	$(TOOK)

# The suites of validation, which has no sanitizers, and of all files that have long amounts. Other
# cases differ in nothing from those with sanitizers.
LONG_SUITES = sed -nE 's/^TEST(_F|_P)?\((\w+),.*/*\2.*/p' tests/validation/*.cpp \
	$$(grep -rlE 'long_tests\(\)|(amount|seeds)\(' tests --include=*.cpp) | sort -u | paste -sd:

# With sanitizers, the amounts are the least ones, since sanitizers make tests several times slower.
test-long-cxx: setup
	cmake --preset sanitize >build/sanitize.log || { cat build/sanitize.log; exit 1; }
	cmake --build --preset sanitize --target cxx_tests
	$(call CTEST,sanitize)
	$(BUILD_TESTS)
	PMEMSIM_LONG_TESTS=1; GTEST_FILTER=$$($(LONG_SUITES)); export PMEMSIM_LONG_TESTS GTEST_FILTER; \
		$(call CTEST,tests,-E '^fuzz')

test-long-python: setup
	PMEMSIM_LONG_TESTS=1 $(PYTEST) --durations 10

test-cxx: setup
	$(BUILD_TESTS)
	$(call CTEST,tests)

test-python: setup
	$(PYTEST) -m "not long" --durations 10

update-pins: setup
	PYTHONPATH=tests/python $(BIN)/python -m pins
	PYTHONPATH=tests/python $(BIN)/python tests/python/snapshots.py
	PYTHONPATH=tests/python $(BIN)/python tests/python/host_instructions.py

bench: setup
	mkdir -p build/bench
	$(BIN)/pmemsim bench --json build/bench/bench.json
	$(BIN)/python benchmarks/checks.py --json build/bench/checks.json

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@echo "clang-format-19 of $(words $(CXX_FILES)) files"
	@clang-format-19 --dry-run -Werror $(CXX_FILES)
	$(BIN)/python tools/check_modules.py
	$(BIN)/python tools/check_words.py
	PYTHONPATH=python $(BIN)/lint-imports --no-cache
	$(BIN)/python tools/generate_docs.py --check
	cmake --preset lint -DPython_EXECUTABLE=$(abspath $(BIN)/python) \
		-Dnanobind_DIR=$$($(BIN)/python -m nanobind --cmake_dir) >build/lint.log || \
		{ cat build/lint.log; exit 1; }
	@echo "clang-tidy-19 of $$($(TIDY_FILES) | wc -l) batches of files"
	@$(TIDY_FILES) | xargs -P $$(nproc) -n 1 sh -c \
		'found=$$(clang-tidy-19 --quiet -p build/lint "$$0" 2>&1) || { echo "$$found"; exit 1; }'
	$(TOOK)

docs: setup
	$(BIN)/python tools/generate_docs.py
	$(BIN)/python tools/notebook.py

# The first command fails if a published value is missed; the pages show which.
machine-pages: setup
	-$(BIN)/python benchmarks/real_machines.py --json benchmarks/results/published.json --plots docs/figures
	for machine in xeon-2023 amd-epyc; do \
		$(BIN)/pmemsim calibrate --from benchmarks/measurements/$$machine.json \
			--json benchmarks/results/$$machine.json || exit; \
	done
	$(BIN)/python tools/generate_docs.py

# For the C library and the Python that it is built with, and newer ones: auditwheel copies the other
# libraries into it. Debug information would make it five times as large.
wheel: setup
	$(BIN)/python -m pip install --quiet --group wheel
	rm -rf build/unrepaired
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir build/unrepaired \
		--config-settings=install.strip=true .
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist build/unrepaired/*.whl
	@ls -sh dist

# MkDocs fails at a warning, such as a link to a missing page or heading.
site: setup
	$(BIN)/python -m pip install --quiet --group site
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build
	@echo "the site: build/site/index.html"

clean:
	rm -rf build $(VENV) compile_commands.json

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
	ln -sf build/wheel/compile_commands.json compile_commands.json  # where editors look for it
	touch $@
