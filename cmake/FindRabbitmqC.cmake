# rabbitmq-c 0.11 in Debian brings a CMake package that depends on how it was built; this gives RabbitmqC::rabbitmq.
find_path(RABBITMQ_C_INCLUDE_DIR amqp.h)
find_library(RABBITMQ_C_LIBRARY rabbitmq)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(RabbitmqC REQUIRED_VARS RABBITMQ_C_LIBRARY RABBITMQ_C_INCLUDE_DIR)
if(RabbitmqC_FOUND AND NOT TARGET RabbitmqC::rabbitmq)
  add_library(RabbitmqC::rabbitmq UNKNOWN IMPORTED)
  set_target_properties(RabbitmqC::rabbitmq PROPERTIES
    IMPORTED_LOCATION "${RABBITMQ_C_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${RABBITMQ_C_INCLUDE_DIR}")
endif()
mark_as_advanced(RABBITMQ_C_INCLUDE_DIR RABBITMQ_C_LIBRARY)
