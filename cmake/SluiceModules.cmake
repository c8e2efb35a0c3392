# One function for each kind of module. Unknown arguments are refused.
function(sluice_check_arguments function)
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${function}: unknown arguments ${ARG_UNPARSED_ARGUMENTS}")
  endif()
endfunction()

# sluice_plugin(NAME queue_x SOURCES a.cpp ... [LINK lib ...])
# Builds <name>_objects (for unit tests, linked statically) and the module plugins/<name>.so, which exports one symbol.
function(sluice_plugin)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;LINK" ${ARGN})
  sluice_check_arguments(sluice_plugin)
  add_library(${ARG_NAME}_objects OBJECT ${ARG_SOURCES})
  target_link_libraries(${ARG_NAME}_objects PUBLIC sluice::core sluice_options ${ARG_LINK})
  target_include_directories(${ARG_NAME}_objects PUBLIC "${CMAKE_CURRENT_SOURCE_DIR}")
  set_target_properties(${ARG_NAME}_objects PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  add_library(${ARG_NAME} MODULE $<TARGET_OBJECTS:${ARG_NAME}_objects>)
  target_link_libraries(${ARG_NAME} PRIVATE ${ARG_NAME}_objects)
  target_link_options(${ARG_NAME} PRIVATE
    -Wl,-z,now "-Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/plugin_exports.map")
  if(NOT SLUICE_SANITIZE)  # clang leaves the sanitizer runtime to the executable
    target_link_options(${ARG_NAME} PRIVATE -Wl,-z,defs)
  endif()
  set_target_properties(${ARG_NAME} PROPERTIES PREFIX ""
    LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/plugins" INSTALL_RPATH "$ORIGIN/../lib")
  set_property(GLOBAL APPEND PROPERTY SLUICE_PLUGINS ${ARG_NAME})
endfunction()

set(SLUICE_TEST_TIMEOUT_FACTOR 1 CACHE STRING "Tests may take so many times as long; scripts/campaign raises it")

# sluice_test(NAME unit_x SOURCES a.cpp ... [LINK lib ...] [LABELS concurrent slow ...] [TIMEOUT seconds])
# One executable; ctest lists it as one test, and its own cases are printed by GoogleTest.
function(sluice_test)
  cmake_parse_arguments(ARG "" "NAME;TIMEOUT" "SOURCES;LINK;LABELS" ${ARGN})
  sluice_check_arguments(sluice_test)
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  target_link_libraries(${ARG_NAME} PRIVATE sluice::core sluice_options sluice_test_support GTest::gtest GTest::gmock
    GTest::gtest_main ${ARG_LINK})
  # Tests are compiled often and run shortly: -O1 halves their build.
  target_compile_options(${ARG_NAME} PRIVATE $<$<CONFIG:Release>:-O1>)
  set_target_properties(${ARG_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  add_test(NAME ${ARG_NAME} COMMAND ${ARG_NAME})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * ${SLUICE_TEST_TIMEOUT_FACTOR}")
  set_tests_properties(${ARG_NAME} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT})
  if("concurrent" IN_LIST ARG_LABELS)
    set_property(GLOBAL APPEND PROPERTY SLUICE_CONCURRENT_TESTS ${ARG_NAME})
  endif()
endfunction()

# sluice_contract_test(CONTRACT queue PLUGIN stream NAME integration_x SOURCES ... as sluice_test)
# A test that shows contract cases of a plugin: its results go into the matrix that contract_matrix prints.
function(sluice_contract_test)
  cmake_parse_arguments(ARG "" "CONTRACT;PLUGIN;NAME" "" ${ARGN})
  sluice_test(NAME ${ARG_NAME} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${ARG_NAME} PRIVATE sluice_contract_matrix)
  set_tests_properties(${ARG_NAME} PROPERTIES FIXTURES_SETUP contracts
    ENVIRONMENT "SLUICETEST_MATRIX_FILE=${CMAKE_BINARY_DIR}/matrix/${ARG_CONTRACT}.${ARG_PLUGIN}.${ARG_NAME}.txt")
  set_property(GLOBAL APPEND PROPERTY SLUICE_CONTRACT_PLUGINS "${ARG_CONTRACT}:${ARG_PLUGIN}")
endfunction()
