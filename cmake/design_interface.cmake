# What designs of one's own are built against: the headers of include/pmemsim/design/, all headers of
# src/ that these include, and the sources that belong to them, whose functions libpmemsim.so exports.
#   PMEMSIM_DESIGN_HEADERS  relative to PMEMSIM_DESIGN_FOLDERS, as an #include names them
#   PMEMSIM_DESIGN_SOURCES  with their whole paths
#   PMEMSIM_DESIGN_VERSION  another text for each contents of the headers
set(PMEMSIM_DESIGN_FOLDERS ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
file(GLOB unread RELATIVE ${PROJECT_SOURCE_DIR}/include CONFIGURE_DEPENDS
     ${PROJECT_SOURCE_DIR}/include/pmemsim/design/*.hpp)
set(PMEMSIM_DESIGN_HEADERS)
set(PMEMSIM_DESIGN_SOURCES)
set(hashes)
while(unread)
  list(POP_FRONT unread header)
  list(APPEND PMEMSIM_DESIGN_HEADERS ${header})
  find_file(path ${header} PATHS ${PMEMSIM_DESIGN_FOLDERS} NO_DEFAULT_PATH NO_CACHE REQUIRED)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
  file(SHA256 ${path} hash)
  string(APPEND hashes ${hash})
  file(STRINGS ${path} includes REGEX "^#include \"pmemsim/")
  string(REGEX REPLACE ".hpp$" ".cpp" source ${path})
  if(EXISTS ${source})
    list(APPEND PMEMSIM_DESIGN_SOURCES ${source})
  endif()
  unset(path)
  foreach(include ${includes})
    string(REGEX REPLACE "^#include \"(.*)\".*" "\\1" include ${include})
    if(NOT include IN_LIST PMEMSIM_DESIGN_HEADERS AND NOT include IN_LIST unread AND
       NOT include STREQUAL pmemsim/design/version.hpp)
      list(APPEND unread ${include})
    endif()
  endforeach()
endwhile()
string(SHA256 hash "${hashes}")
string(SUBSTRING ${hash} 0 16 hash)
set(PMEMSIM_DESIGN_VERSION "pmemsim-design-version=${hash}")
configure_file(${PROJECT_SOURCE_DIR}/include/pmemsim/design/version.hpp.in
               ${PROJECT_BINARY_DIR}/generated/pmemsim/design/version.hpp @ONLY)
