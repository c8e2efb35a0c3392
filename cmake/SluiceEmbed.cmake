# sluice_embed(FUNCTION name OUTPUT file.cpp FILES a.lua ...) At build time writes the files' texts into a
# C++ source that defines `std::string_view sluice::<name>(std::string_view file)`: it answers the text of
# a.lua for "a", and an empty one for a name it does not have. Run as a script (cmake -P) this file is the
# build step itself.
if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  set(source "// Generated from text files, see sluice_embed() in cmake/.\n#include <string_view>\n\nnamespace sluice {\n\n")
  string(APPEND source "std::string_view ${FUNCTION}(std::string_view file);\n\n")
  string(APPEND source "std::string_view ${FUNCTION}(std::string_view file) {\n")
  foreach(path ${FILES})
    get_filename_component(name "${path}" NAME_WE)
    file(READ "${path}" text)
    string(APPEND source "  if (file == \"${name}\") return R\"embedded(${text})embedded\";\n")
  endforeach()
  string(APPEND source "  return {};\n}\n\n}  // namespace sluice\n")
  file(WRITE "${OUTPUT}" "${source}")
  return()
endif()

function(sluice_embed)
  cmake_parse_arguments(ARG "" "FUNCTION;OUTPUT" "FILES" ${ARGN})
  sluice_check_arguments(sluice_embed)
  # Relative to the caller's folder, unless absolute.
  list(TRANSFORM ARG_FILES REPLACE "^([^/].*)$" "${CMAKE_CURRENT_SOURCE_DIR}/\\1")
  add_custom_command(OUTPUT "${ARG_OUTPUT}"
    COMMAND "${CMAKE_COMMAND}" "-DFUNCTION=${ARG_FUNCTION}" "-DOUTPUT=${ARG_OUTPUT}" "-DFILES=${ARG_FILES}" -P "${CMAKE_CURRENT_FUNCTION_LIST_FILE}"
    DEPENDS ${ARG_FILES} "${CMAKE_CURRENT_FUNCTION_LIST_FILE}" VERBATIM)
endfunction()
