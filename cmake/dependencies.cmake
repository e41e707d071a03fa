# Finds the libraries that pmemsim builds on. What is missing is named in one sentence, all at once,
# with the command that installs it.
set(missing_packages)

find_package(Threads REQUIRED)

find_package(fmt QUIET)
if(NOT fmt_FOUND)
  list(APPEND missing_packages libfmt-dev)
endif()

find_package(nlohmann_json QUIET)
if(NOT nlohmann_json_FOUND)
  list(APPEND missing_packages nlohmann-json3-dev)
endif()

find_path(ZSTD_INCLUDE_DIR zstd.h)
find_library(ZSTD_LIBRARY zstd)
if(NOT ZSTD_INCLUDE_DIR OR NOT ZSTD_LIBRARY)
  list(APPEND missing_packages libzstd-dev)
else()
  add_library(pmemsim_zstd INTERFACE)
  target_include_directories(pmemsim_zstd SYSTEM INTERFACE ${ZSTD_INCLUDE_DIR})
  target_link_libraries(pmemsim_zstd INTERFACE ${ZSTD_LIBRARY})
endif()

find_path(XXHASH_INCLUDE_DIR xxhash.h)
if(NOT XXHASH_INCLUDE_DIR)
  list(APPEND missing_packages libxxhash-dev)
else()
  add_library(pmemsim_xxhash INTERFACE)
  target_include_directories(pmemsim_xxhash SYSTEM INTERFACE ${XXHASH_INCLUDE_DIR})
  target_compile_definitions(pmemsim_xxhash INTERFACE XXH_INLINE_ALL)
endif()

find_package(OpenSSL 3.0 QUIET COMPONENTS Crypto)
if(NOT OPENSSL_CRYPTO_LIBRARY)
  list(APPEND missing_packages libssl-dev)
endif()

if(PMEMSIM_TESTS)
  find_package(GTest QUIET)
  if(NOT GTest_FOUND)
    list(APPEND missing_packages libgtest-dev)
  endif()
endif()

if(missing_packages)
  list(JOIN missing_packages " " missing_packages)
  message(FATAL_ERROR "pmemsim needs libraries that are not installed; on Debian and Ubuntu: "
                      "sudo apt-get install ${missing_packages}")
endif()

# The front end is built when LLVM and clang 19 are there; simulating existing traces needs neither.
# (LLVM numbers its releases 19.1.x, and matches the minor number exactly.)
if(PMEMSIM_FRONTEND)
  find_package(LLVM 19.1 QUIET CONFIG HINTS /usr/lib/llvm-19)
  find_program(PMEMSIM_CLANG NAMES clang-19 HINTS /usr/lib/llvm-19/bin)
  if(NOT LLVM_FOUND OR NOT PMEMSIM_CLANG)
    set(PMEMSIM_FRONTEND OFF)
    message(STATUS "pmemsim: building without the front end (pmemsim-cc, pmemsim record); on "
                   "Debian and Ubuntu, to have it: sudo apt-get install clang-19 llvm-19-dev")
  endif()
endif()
