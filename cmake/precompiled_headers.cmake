# Headers that most files of some targets read, compiled in advance, once for them all; after a
# change in one of them, those files are all compiled again.
#
# Only what is built for the tests has any: so the package's build finds files that don't name what
# they use. Nothing finds that of test files.

# The targets of one SET must have the same compile options; HEADERS are those of the first one.
function(pmemsim_precompile_headers set target)
  get_property(first GLOBAL PROPERTY pmemsim_headers_${set})
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    set_property(GLOBAL PROPERTY pmemsim_headers_${set} ${target})
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
  # Else ccache would never find them again in a new build folder.
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
endfunction()
