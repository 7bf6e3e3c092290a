# Most of the time to compile a file goes to the headers it includes, so the
# sources of a target are compiled several at a time (cmake/group_sources.py
# says which may be); not without EK_GROUP_SOURCES, nor without Python.

# Called from the root when all targets are known.
function(edgekiln_group_sources dir)
  edgekiln_targets_below_(${dir} targets)
  edgekiln_leave_special_sources_alone_("${targets}" ordinary)
  find_package(Python3 QUIET COMPONENTS Interpreter)
  if(NOT EK_GROUP_SOURCES OR NOT Python3_Interpreter_FOUND)
    return()
  endif()
  set(list "${PROJECT_BINARY_DIR}/generated/sources.txt")
  list(JOIN ordinary "\n" text)
  file(WRITE "${list}" "${text}\n")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
    "${PROJECT_SOURCE_DIR}/cmake/group_sources.py")
  execute_process(
    COMMAND "${Python3_EXECUTABLE}"
      "${PROJECT_SOURCE_DIR}/cmake/group_sources.py" "${list}"
    OUTPUT_VARIABLE grouped COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" grouped "${grouped}")
  foreach(line IN LISTS grouped)
    string(REPLACE "|" ";" fields "${line}")
    list(GET fields 0 target)
    list(GET fields 1 number)
    list(GET fields 2 source)
    set_source_files_properties("${source}" TARGET_DIRECTORY ${target}
      PROPERTIES UNITY_GROUP ${number})
    set_target_properties(${target} PROPERTIES
      UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    # gcc means the main file: types of anonymous namespaces are as private here.
    target_compile_options(${target} PRIVATE
      $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endforeach()
endfunction()

# The lines "target|path" of what may be grouped: not what has options of its own
# (which is compiled without precompiled headers, too), what waits for other
# files, or SKIP_UNITY_BUILD_INCLUSION.
function(edgekiln_leave_special_sources_alone_ targets out)
  set(lines "")
  set(seen "")
  set(shared "")
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "INTERFACE_LIBRARY")
      continue()
    endif()
    get_target_property(sources ${target} SOURCES)
    get_target_property(folder ${target} SOURCE_DIR)
    foreach(source IN LISTS sources)
      if(NOT source MATCHES "\\.cc$" OR source MATCHES "\\$<")
        continue()
      endif()
      get_filename_component(path "${source}" ABSOLUTE BASE_DIR "${folder}")
      cmake_path(IS_PREFIX PROJECT_BINARY_DIR "${path}" NORMALIZE generated)
      if(generated)
        continue()
      endif()
      get_source_file_property(options "${path}" TARGET_DIRECTORY ${target}
        COMPILE_OPTIONS)
      get_source_file_property(depends "${path}" TARGET_DIRECTORY ${target}
        OBJECT_DEPENDS)
      get_source_file_property(alone "${path}" TARGET_DIRECTORY ${target}
        SKIP_UNITY_BUILD_INCLUSION)
      if(options)
        set_source_files_properties("${path}" TARGET_DIRECTORY ${target}
          PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
      endif()
      if(options OR depends OR alone)
        continue()
      endif()
      if(path IN_LIST seen)
        list(APPEND shared "${path}")
      endif()
      list(APPEND seen "${path}")
      list(APPEND lines "${target}|${path}")
    endforeach()
  endforeach()
  # Properties belong to files, so one of two targets could not be in two groups.
  set(single "")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^[^|]*\\|" "" path "${line}")
    if(NOT path IN_LIST shared)
      list(APPEND single "${line}")
    endif()
  endforeach()
  set(${out} "${single}" PARENT_SCOPE)
endfunction()
