# The functions every folder declares its targets with.
include(GoogleTest)

# Adds the named subfolders in order.
function(edgekiln_add_folders)
  foreach(folder IN LISTS ARGN)
    add_subdirectory(${folder})
  endforeach()
endfunction()

# Warnings are errors in our own code; generated code never comes here. Not so
# under sanitizers and clang, which warn of things that are none.
function(edgekiln_strict_ target)
  target_compile_options(${target} PRIVATE -Wall -Wextra)
  if(EK_WARNINGS_ARE_ERRORS)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

# edgekiln_cc_library(<name> [TESTONLY] [SRCS ...] [HDRS ...]
#                     [DEPS ...] [PRIVATE_DEPS ...] [DATA ...])
# DATA names further files that decide what the library computes (schemas,
# tables); they enter the stage version. TESTONLY libraries may see tests/support
# and exist for tests only. Without tests nothing is built that no program needs.
#
# Every header compiles by itself: x.cc includes x.h before anything else
# (tools/check_includes.py), and all_verify_interface_header_sets compiles the
# headers that have no such file. Both show in the preset "alone".
function(edgekiln_cc_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TESTONLY" ""
    "SRCS;HDRS;DEPS;PRIVATE_DEPS;DATA")
  edgekiln_no_stray_arguments_(${name} "${arg_UNPARSED_ARGUMENTS}")
  if(arg_TESTONLY AND NOT EK_BUILD_TESTS AND NOT EK_BUILD_FUZZERS)
    return()
  endif()
  if(arg_SRCS)
    add_library(${name} STATIC ${arg_SRCS})
    set(scope PUBLIC)
    edgekiln_strict_(${name})
    target_link_libraries(${name} PRIVATE ${arg_PRIVATE_DEPS})
    if(TARGET edgekiln_precompiled)
      edgekiln_precompiled_options_(${name})
      target_precompile_headers(${name} REUSE_FROM edgekiln_precompiled)
    endif()
  else()
    add_library(${name} INTERFACE)
    set(scope INTERFACE)
    target_link_libraries(${name} INTERFACE ${arg_PRIVATE_DEPS})
  endif()
  add_library(edgekiln::${name} ALIAS ${name})
  target_sources(${name} ${scope}
    FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}" FILES ${arg_HDRS})
  set(alone "")
  foreach(header IN LISTS arg_HDRS)
    string(REGEX REPLACE "\\.h$" ".cc" source "${header}")
    if(NOT source IN_LIST arg_SRCS)
      list(APPEND alone "${header}")
    endif()
  endforeach()
  target_sources(${name} ${scope} FILE_SET alone TYPE HEADERS
    BASE_DIRS "${PROJECT_SOURCE_DIR}" FILES ${alone})
  target_include_directories(${name} ${scope} "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} ${scope} ${arg_DEPS})
  list(TRANSFORM arg_DATA PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/"
    REGEX "^[^/]")
  set_target_properties(${name} PROPERTIES
    INTERFACE_HEADER_SETS_TO_VERIFY alone
    EK_TESTONLY "${arg_TESTONLY}"
    EK_VERSION_FILES "${arg_DATA}")
  if(NOT EK_BUILD_TESTS)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

# edgekiln_cc_binary(<name> [TOOL] [ARCHIVES] [OUTPUT_NAME name]
#                    SRCS ... DEPS ...)
# A program in bin/. A TOOL is for developers and not part of `release`.
# ARCHIVES: starts fast, because it is linked with archives (link_archives.sh);
# sanitizers want their libraries shared.
function(edgekiln_cc_binary name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TOOL;ARCHIVES" "OUTPUT_NAME"
    "SRCS;DEPS")
  edgekiln_no_stray_arguments_(${name} "${arg_UNPARSED_ARGUMENTS}")
  add_executable(${name} ${arg_SRCS})
  edgekiln_strict_(${name})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ${arg_DEPS})
  if(arg_OUTPUT_NAME)
    set_target_properties(${name} PROPERTIES OUTPUT_NAME ${arg_OUTPUT_NAME})
  endif()
  if(arg_ARCHIVES AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    set(launcher "${PROJECT_SOURCE_DIR}/cmake/link_archives.sh")
    set_target_properties(${name} PROPERTIES
      RULE_LAUNCH_LINK "${launcher}"
      LINK_DEPENDS "${launcher}")
  endif()
  if((arg_TOOL AND NOT EK_BUILD_TESTS) OR EK_BUILD_FUZZERS)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

# edgekiln_cc_test(<name> [WHOLE | SHARDS n] [TIMEOUT seconds] SRCS ... DEPS ...)
# A GoogleTest program; tests/support/test_main.cc is its main(). Every case is one
# ctest test, labelled with the folder; WHOLE runs the program as one test, for
# programs with thousands of cheap cases or costly shared set-up, SHARDS as n
# tests, which share the cases.
function(edgekiln_cc_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "WHOLE" "TIMEOUT;SHARDS" "SRCS;DEPS")
  edgekiln_no_stray_arguments_(${name} "${arg_UNPARSED_ARGUMENTS}")
  if(NOT EK_BUILD_TESTS)
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${name} ${arg_SRCS})
  edgekiln_strict_(${name})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ${arg_DEPS} tests_main Threads::Threads)
  set_target_properties(${name} PROPERTIES EK_TESTONLY ON)
  edgekiln_test_options_(${name})
  if(TARGET tests_precompiled)
    edgekiln_precompiled_options_(${name})
    target_precompile_headers(${name} REUSE_FROM tests_precompiled)
  endif()
  file(RELATIVE_PATH label "${PROJECT_SOURCE_DIR}"
    "${CMAKE_CURRENT_SOURCE_DIR}")
  if(arg_WHOLE)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES
      LABELS "${label}" TIMEOUT ${arg_TIMEOUT})
  elseif(arg_SHARDS)
    foreach(number RANGE 1 ${arg_SHARDS})
      math(EXPR index "${number} - 1")
      add_test(NAME ${name}.${number} COMMAND ${name})
      set_tests_properties(${name}.${number} PROPERTIES
        LABELS "${label}" TIMEOUT ${arg_TIMEOUT} ENVIRONMENT
        "GTEST_TOTAL_SHARDS=${arg_SHARDS};GTEST_SHARD_INDEX=${index}")
    endforeach()
  else()
    # PRE_TEST: listing cases waits for ctest, so building runs nothing.
    gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST
      TEST_PREFIX "${name}." PROPERTIES
      LABELS "${label}" TIMEOUT ${arg_TIMEOUT})
  endif()
endfunction()

# edgekiln_web_test(<name> <source>): what web/ computes, by node without a
# browser. Skipped where there is no node or no esbuild.
function(edgekiln_web_test name source)
  if(NOT EK_BUILD_TESTS)
    return()
  endif()
  cmake_path(ABSOLUTE_PATH source)
  add_test(NAME ${name}
    COMMAND /bin/sh -c
      "command -v node >/dev/null || { echo 'SKIPPED: no node'; exit 77; }; \
command -v \"$1\" >/dev/null || { echo 'SKIPPED: no esbuild'; exit 77; }; \
script=$(\"$1\" \"$0\" --bundle --platform=node --log-level=warning) && \
printf '%s' \"$script\" | node -"
      "${source}" "${EK_ESBUILD}")
  set_tests_properties(${name} PROPERTIES
    LABELS web TIMEOUT 60 SKIP_RETURN_CODE 77)
endfunction()

# Options of everything that uses precompiled headers: gcc forgets which of their
# code is a system header's, whose false warnings (gcc 12, PR 105329) it then
# prints.
function(edgekiln_precompiled_options_ target)
  target_compile_options(${target} PRIVATE
    -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow
    -Wno-stringop-overread)
endfunction()

# What the tests test is optimised as ever; they themselves take a fifth less to
# compile.
function(edgekiln_test_options_ target)
  if(CMAKE_CXX_FLAGS MATCHES "-O2" AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE
      -O1 --param=ggc-min-expand=400 --param=ggc-min-heapsize=1000000)
  endif()
endfunction()

# edgekiln_fuzz_target(<name> [SEEDS script] SRCS ... DEPS ...)
# A libFuzzer program, in the fuzz preset only; the ctest test is a short run.
# The script writes what it starts from into the folder it is given.
function(edgekiln_fuzz_target name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SEEDS" "SRCS;DEPS")
  edgekiln_no_stray_arguments_(${name} "${arg_UNPARSED_ARGUMENTS}")
  if(NOT EK_BUILD_FUZZERS)
    return()
  endif()
  add_executable(${name} ${arg_SRCS})
  edgekiln_strict_(${name})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ${arg_DEPS})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set_target_properties(${name} PROPERTIES EK_TESTONLY ON)
  # New inputs go to a scratch folder, so that a run leaves the tree alone.
  set(scratch "${CMAKE_CURRENT_BINARY_DIR}/${name}_corpus")
  file(MAKE_DIRECTORY "${scratch}")
  add_test(NAME ${name} COMMAND ${name} -runs=20000 -max_total_time=30
    -rss_limit_mb=2048 -malloc_limit_mb=64 -timeout=10 "${scratch}")
  set_tests_properties(${name} PROPERTIES LABELS fuzz TIMEOUT 120)
  if(arg_SEEDS)
    add_test(NAME ${name}_seeds COMMAND /usr/bin/python3 -B
      "${CMAKE_CURRENT_SOURCE_DIR}/${arg_SEEDS}" "${scratch}")
    set_tests_properties(${name}_seeds
      PROPERTIES LABELS fuzz FIXTURES_SETUP ${name}_seeds)
    set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED ${name}_seeds)
  endif()
endfunction()

# edgekiln_flatbuffer(<name> <schema.fbs>): a header-only library with
# "<folder>/<schema>_generated.h", made at build time.
function(edgekiln_flatbuffer name schema)
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}"
    "${CMAKE_CURRENT_SOURCE_DIR}")
  set(out_dir "${PROJECT_BINARY_DIR}/generated/${folder}")
  get_filename_component(stem "${schema}" NAME_WE)
  set(header "${out_dir}/${stem}_generated.h")
  add_custom_command(OUTPUT "${header}"
    COMMAND "${EK_FLATC}" --cpp --cpp-std c++17 --scoped-enums
      -o "${out_dir}" "${CMAKE_CURRENT_SOURCE_DIR}/${schema}"
    DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${schema}"
    COMMENT "flatc ${folder}/${schema}" VERBATIM)
  add_custom_target(${name}_header DEPENDS "${header}")
  add_library(${name} INTERFACE)
  add_dependencies(${name} ${name}_header)
  target_include_directories(${name} SYSTEM INTERFACE
    "${PROJECT_BINARY_DIR}/generated" "${EK_FLATBUFFERS_INCLUDE_DIR}")
  set_target_properties(${name} PROPERTIES
    EK_VERSION_FILES "${CMAKE_CURRENT_SOURCE_DIR}/${schema}")
endfunction()

function(edgekiln_no_stray_arguments_ name stray)
  if(stray)
    message(FATAL_ERROR "${name}: unknown arguments: ${stray}")
  endif()
endfunction()
