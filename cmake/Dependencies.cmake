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
find_package(nlohmann_json CONFIG REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED)

# edgekiln_find_library_(<target> <prefix> <header> <library>): one that comes
# without a CMake package, as an imported target.
function(edgekiln_find_library_ target prefix header library)
  find_path(${prefix}_INCLUDE_DIR ${header} REQUIRED)
  find_library(${prefix}_LIBRARY ${library} REQUIRED)
  mark_as_advanced(${prefix}_INCLUDE_DIR ${prefix}_LIBRARY)
  add_library(${target} UNKNOWN IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES
    IMPORTED_LOCATION "${${prefix}_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${${prefix}_INCLUDE_DIR}")
endfunction()

edgekiln_find_library_(seccomp::seccomp EK_SECCOMP seccomp.h seccomp)
edgekiln_find_library_(microhttpd::microhttpd EK_MICROHTTPD microhttpd.h
  microhttpd)
edgekiln_find_library_(elfutils::elf EK_ELF libelf.h elf)
edgekiln_find_library_(elfutils::dw EK_DW elfutils/libdw.h dw)
target_link_libraries(elfutils::dw INTERFACE elfutils::elf)

# FlatBuffers: the generated headers need only the include folder.
find_program(EK_FLATC flatc REQUIRED)
find_path(EK_FLATBUFFERS_INCLUDE_DIR flatbuffers/flatbuffers.h REQUIRED)
mark_as_advanced(EK_FLATC EK_FLATBUFFERS_INCLUDE_DIR)

if(EK_BUILD_TESTS OR EK_BUILD_FUZZERS)
  find_package(GTest REQUIRED)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
endif()
