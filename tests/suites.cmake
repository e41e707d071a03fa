# What ctest reads to know the tests of a GoogleTest program: one test for each of its suites.
#
# A process for each case would start the program two thousand times, which under the sanitizers
# takes longer than the cases themselves. A failure names its case nevertheless, and every run
# leaves the times of its cases in `times` (tools/slowest_tests.py).
function(pmemsim_add_suites prefix program times)
  if(NOT EXISTS ${program})
    add_test(${prefix}not_built ${program})
    return()
  endif()
  execute_process(COMMAND ${program} --gtest_list_tests OUTPUT_VARIABLE listing
                  COMMAND_ERROR_IS_FATAL ANY)
  # A suite's line is its name and a dot, and perhaps a comment; those of its cases are indented.
  string(REGEX MATCHALL "\n[^ \n]+\\.[ \n]" lines "\n${listing}")
  foreach(line ${lines})
    string(REGEX REPLACE "[ \n]" "" suite ${line})
    string(REPLACE "/" "_" file ${prefix}${suite}json)
    string(REGEX REPLACE "\\.$" "" name ${prefix}${suite})
    add_test(${name} ${program} --gtest_filter=${suite}* --gtest_brief=1
             --gtest_output=json:${times}/${file})
    # The largest begin first: one that is left alone at the end would keep one core only busy.
    string(REGEX MATCH "\n${suite}[^\n]*(\n  [^\n]*)+" block "\n${listing}")
    string(REGEX MATCHALL "\n  " cases "${block}")
    list(LENGTH cases count)
    set_tests_properties(${name} PROPERTIES TIMEOUT 1800 COST ${count})
  endforeach()
endfunction()
