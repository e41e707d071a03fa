# The version stands in pyproject.toml; everything else takes it from there.
#   PMEMSIM_VERSION          as it stands there; recordings name it
#   PMEMSIM_VERSION_NUMBERS  without what CMake's project() doesn't take, the rc1 of 1.2.0rc1
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS pyproject.toml)
file(STRINGS pyproject.toml PMEMSIM_VERSION REGEX "^version = ")
string(REGEX REPLACE "version = \"(.*)\"" "\\1" PMEMSIM_VERSION "${PMEMSIM_VERSION}")
string(REGEX MATCH "^[0-9]+(\\.[0-9]+)*" PMEMSIM_VERSION_NUMBERS "${PMEMSIM_VERSION}")
