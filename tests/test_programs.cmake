# What the folders' test programs have in common.

# Where every run leaves the times of its cases, for tools/slowest_tests.py.
set(PMEMSIM_TEST_TIMES ${CMAKE_BINARY_DIR}/test-times)

# Compiles a program's test files without optimisation. What follows are the headers that most of
# them read besides the usual ones; programs of one SET have the same.
function(pmemsim_test_files set program)
  target_compile_options(${program} PRIVATE -O0)
  pmemsim_precompile_headers(${set} ${program}
    <gtest/gtest.h> <algorithm> <filesystem> <fstream> <functional> <map> <memory> <optional>
    <random> <set> <string> <thread> <vector> ${ARGN})
endfunction()

# Makes each suite of a GoogleTest program a test of ctest, named PREFIX and the suite's name.
function(pmemsim_test_suites program prefix)
  set(script ${CMAKE_CURRENT_BINARY_DIR}/${program}_suites.cmake)
  file(GENERATE OUTPUT ${script} CONTENT
"include(${PROJECT_SOURCE_DIR}/tests/suites.cmake)
pmemsim_add_suites(${prefix} $<TARGET_FILE:${program}> ${PMEMSIM_TEST_TIMES})
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${script})
endfunction()
