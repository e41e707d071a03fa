# What the folders' test programs have in common.

# Where every run leaves the times of its cases, for tools/slowest_tests.py.
set(PMEMSIM_TEST_TIMES ${CMAKE_BINARY_DIR}/test-times)
set(PMEMSIM_LONGEST unit contract)  # the names of those that take longest, the longest last
cmake_host_system_information(RESULT PMEMSIM_CORES QUERY NUMBER_OF_LOGICAL_CORES)
# `ctest` runs what is built; `cmake --build --target cxx_tests` builds it.
add_custom_target(cxx_tests)

# Compiles a program's test files without optimisation, and those of the preset `tests` without debug
# information (the preset `debug` has it). What follows are the headers that most of them read besides
# the usual ones; programs of one SET have the same.
function(pmemsim_test_files set program)
  target_compile_options(${program} PRIVATE -O0 $<$<BOOL:${PMEMSIM_BUILT}>:-g0>)
  pmemsim_precompile_headers(${set} ${program}
    <gtest/gtest.h> <algorithm> <filesystem> <fstream> <functional> <map> <memory> <optional>
    <random> <set> <string> <thread> <vector> ${ARGN})
endfunction()

# Runs a GoogleTest program as one test of ctest for each core, named NAME and a number, each with
# every n-th case. A process for each case would start the program two thousand times. The programs
# that take longest start first, so that all cores are busy until the end.
function(pmemsim_test_shards program name)
  add_dependencies(cxx_tests ${program})
  math(EXPR last "${PMEMSIM_CORES} - 1")
  list(FIND PMEMSIM_LONGEST ${name} cost)
  math(EXPR cost "100 * (${cost} + 1)")
  foreach(shard RANGE ${last})
    add_test(NAME ${name}.${shard}
             COMMAND ${program} --gtest_brief=1
                     --gtest_output=json:${PMEMSIM_TEST_TIMES}/${name}.${shard}.json)
    set_tests_properties(${name}.${shard} PROPERTIES TIMEOUT 1800 COST ${cost}
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${PMEMSIM_CORES};GTEST_SHARD_INDEX=${shard}")
  endforeach()
endfunction()
