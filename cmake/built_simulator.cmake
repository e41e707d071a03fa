# The simulator's libraries of another build folder (PMEMSIM_BUILT), as targets of the same names.
#
# The tests link the objects that `make setup` has compiled for the Python package. What users run is
# then what is tested, and nothing is compiled twice.
function(pmemsim_built_library target file)
  add_library(${target} STATIC IMPORTED)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${PMEMSIM_BUILT}/src/pmemsim/${file})
  target_include_directories(${target} INTERFACE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} INTERFACE ${ARGN})
endfunction()

pmemsim_built_library(pmemsim libpmemsim.a pmemsim_zstd fmt::fmt OpenSSL::Crypto)
pmemsim_built_library(pmemsim-checks libpmemsim-checks.a pmemsim)
add_executable(pmemsim-checker-host IMPORTED)
set_target_properties(pmemsim-checker-host PROPERTIES
  IMPORTED_LOCATION ${PMEMSIM_BUILT}/src/pmemsim/checks/checkers/host/pmemsim-checker-host)
