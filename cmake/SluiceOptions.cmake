# Interface targets that carry every flag of the project. Nothing edits CMAKE_CXX_FLAGS.
option(SLUICE_WARNINGS_AS_ERRORS "Warnings are errors" OFF)
set(SLUICE_SANITIZERS "address,undefined" "thread" "fuzzer-no-link,address,undefined")
list(JOIN SLUICE_SANITIZERS "', '" quoted)
set(SLUICE_SANITIZE "" CACHE STRING "Sanitizers: empty, or one of '${quoted}'")
set_property(CACHE SLUICE_SANITIZE PROPERTY STRINGS "" ${SLUICE_SANITIZERS})
if(SLUICE_SANITIZE AND NOT SLUICE_SANITIZE IN_LIST SLUICE_SANITIZERS)
  message(FATAL_ERROR "SLUICE_SANITIZE=${SLUICE_SANITIZE}: leave it empty, or use one of '${quoted}'")
endif()
if(SLUICE_SANITIZE MATCHES "fuzzer" AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "SLUICE_SANITIZE=${SLUICE_SANITIZE}: libFuzzer comes with clang; use the preset fuzz")
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")

add_library(sluice_options INTERFACE)
target_compile_options(sluice_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
  -Woverloaded-virtual -Wold-style-cast -Wformat=2 -Wimplicit-fallthrough
  # g++ 12 sees overlaps in std::string's operator+ that are not there (gcc bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<BOOL:${SLUICE_WARNINGS_AS_ERRORS}>:-Werror>)
target_compile_definitions(sluice_options INTERFACE
  SLUICE_VERSION="${PROJECT_VERSION}" SLUICE_SANITIZE="${SLUICE_SANITIZE}")
find_package(Threads REQUIRED)
target_link_libraries(sluice_options INTERFACE Threads::Threads)
if(SLUICE_SANITIZE)
  target_compile_options(sluice_options INTERFACE
    -fsanitize=${SLUICE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1 -O1)
  target_link_options(sluice_options INTERFACE -fsanitize=${SLUICE_SANITIZE})
endif()
find_program(SLUICE_CCACHE ccache)
if(SLUICE_CCACHE)
  # Paths relative to the source tree, so that two checkouts share what they compile.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1 "${SLUICE_CCACHE}")
endif()
