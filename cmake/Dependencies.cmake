# Everything we take from Debian 12. Order matters: Protobuf as a MODULE before
# gRPC and ONNX, whose config files would otherwise look for one that Debian
# does not ship.

find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(Protobuf MODULE REQUIRED)
find_package(absl CONFIG REQUIRED)
find_package(gRPC CONFIG REQUIRED)
find_package(ONNX CONFIG REQUIRED)
find_package(CLI11 CONFIG REQUIRED)

# libseccomp comes without a CMake package.
find_path(EK_SECCOMP_INCLUDE_DIR seccomp.h REQUIRED)
find_library(EK_SECCOMP_LIBRARY seccomp REQUIRED)
mark_as_advanced(EK_SECCOMP_INCLUDE_DIR EK_SECCOMP_LIBRARY)
add_library(seccomp::seccomp UNKNOWN IMPORTED)
set_target_properties(seccomp::seccomp PROPERTIES
  IMPORTED_LOCATION "${EK_SECCOMP_LIBRARY}"
  INTERFACE_INCLUDE_DIRECTORIES "${EK_SECCOMP_INCLUDE_DIR}")

# Neither do libdw and libelf.
find_path(EK_DW_INCLUDE_DIR elfutils/libdw.h REQUIRED)
find_library(EK_DW_LIBRARY dw REQUIRED)
find_library(EK_ELF_LIBRARY elf REQUIRED)
mark_as_advanced(EK_DW_INCLUDE_DIR EK_DW_LIBRARY EK_ELF_LIBRARY)
add_library(elfutils::dw UNKNOWN IMPORTED)
set_target_properties(elfutils::dw PROPERTIES
  IMPORTED_LOCATION "${EK_DW_LIBRARY}"
  INTERFACE_LINK_LIBRARIES "${EK_ELF_LIBRARY}"
  INTERFACE_INCLUDE_DIRECTORIES "${EK_DW_INCLUDE_DIR}")

# Nor libmicrohttpd.
find_path(EK_MICROHTTPD_INCLUDE_DIR microhttpd.h REQUIRED)
find_library(EK_MICROHTTPD_LIBRARY microhttpd REQUIRED)
mark_as_advanced(EK_MICROHTTPD_INCLUDE_DIR EK_MICROHTTPD_LIBRARY)
add_library(microhttpd::microhttpd UNKNOWN IMPORTED)
set_target_properties(microhttpd::microhttpd PROPERTIES
  IMPORTED_LOCATION "${EK_MICROHTTPD_LIBRARY}"
  INTERFACE_INCLUDE_DIRECTORIES "${EK_MICROHTTPD_INCLUDE_DIR}")

# FlatBuffers: the generated headers need only the include folder.
find_program(EK_FLATC flatc REQUIRED)
find_path(EK_FLATBUFFERS_INCLUDE_DIR flatbuffers/flatbuffers.h REQUIRED)
mark_as_advanced(EK_FLATC EK_FLATBUFFERS_INCLUDE_DIR)

if(EK_BUILD_TESTS OR EK_BUILD_FUZZERS)
  find_package(GTest REQUIRED)
  find_package(nlohmann_json CONFIG REQUIRED)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
endif()
