# For designs of one's own, built by CMake:
#   find_package(pmemsim REQUIRED)               with -Dpmemsim_DIR="$(pmemsim plugin cmake-dir)"
#   pmemsim_add_plugin(NAME SOURCE...)           builds NAME.so beside the CMakeLists.txt
get_filename_component(pmemsim_ROOT ${CMAKE_CURRENT_LIST_DIR}/../../.. ABSOLUTE)

if(NOT TARGET pmemsim::pmemsim)
  add_library(pmemsim::pmemsim SHARED IMPORTED)
  set_target_properties(pmemsim::pmemsim PROPERTIES
    IMPORTED_LOCATION ${pmemsim_ROOT}/lib/libpmemsim.so
    IMPORTED_NO_SONAME OFF
    INTERFACE_INCLUDE_DIRECTORIES ${pmemsim_ROOT}/include
    INTERFACE_COMPILE_FEATURES cxx_std_20)
endif()

# Builds a plug-in, NAME.so, beside the CMakeLists.txt that calls this.
function(pmemsim_add_plugin name)
  add_library(${name} MODULE ${ARGN})
  target_link_libraries(${name} PRIVATE pmemsim::pmemsim)
  # Line tables, for debuggers and profilers.
  target_compile_options(${name} PRIVATE -g1 -Wall -Wextra)
  target_link_options(${name} PRIVATE -Wl,--no-undefined)
  set_target_properties(${name} PROPERTIES
    PREFIX ""
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
    CXX_VISIBILITY_PRESET hidden
    SKIP_BUILD_RPATH ON)
endfunction()
