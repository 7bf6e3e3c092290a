# Stage versions: what a stage computes is decided by the sources it is built
# from, so a hash of them is part of the name of its results in the cache.

# edgekiln_stage_versions(<name> STAGE <stage> <library> ... [STAGE ...])
# A header-only library with "<folder>/<name>.h": kStageVersions, a table of
# {stage, part, version} in the namespace of the folder. A version is the
# SHA-256 over path and contents of the sources of the stage's libraries and of
# all libraries of ours that they link, schemas and other DATA included. Nothing
# else enters: no absolute path, no time. Part "" is what concerns every target;
# the others are below. <binary folder>/generated/<name>.libraries says which
# libraries each stage has.
function(edgekiln_stage_versions name)
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}"
    "${CMAKE_CURRENT_SOURCE_DIR}")
  add_library(${name} INTERFACE)
  target_include_directories(${name} SYSTEM INTERFACE
    "${PROJECT_BINARY_DIR}/generated")
  set_property(GLOBAL APPEND PROPERTY EK_STAGE_VERSIONS ${name})
  set_property(GLOBAL PROPERTY EK_STAGE_VERSIONS_${name} "${ARGN}")
  set_property(GLOBAL PROPERTY EK_STAGE_VERSIONS_HEADER_${name}
    "${PROJECT_BINARY_DIR}/generated/${folder}/${name}.h")
  set_property(GLOBAL PROPERTY EK_STAGE_VERSIONS_FOLDER_${name} "${folder}")
endfunction()

# The part of a stage's sources that a file belongs to: "engine/<name>" for one
# engine's, "chip/<name>" for a descriptor that comes with the program. A stage
# that runs for one target depends on the parts which that target uses.
function(edgekiln_version_part_ path out)
  set(part "")
  if(path MATCHES "^(compiler/engines|simfarm/simulators)/([^/]+)/")
    set(part "engine/${CMAKE_MATCH_2}")
  elseif(path MATCHES "^target/models/([^/.]+)[./]")
    set(part "engine/${CMAKE_MATCH_1}")
  elseif(path MATCHES "^proto/edgekiln/v1/engines/([^/.]+)\\.")
    set(part "engine/${CMAKE_MATCH_1}")
  elseif(path MATCHES "^target/data/([^/.]+)\\.")
    set(part "chip/${CMAKE_MATCH_1}")
  endif()
  set(${out} "${part}" PARENT_SCOPE)
endfunction()

# Called from the root when all targets are known: a stage's libraries link what
# later folders define.
function(edgekiln_finish_stage_versions)
  get_property(names GLOBAL PROPERTY EK_STAGE_VERSIONS)
  foreach(name IN LISTS names)
    edgekiln_finish_stage_version_(${name})
  endforeach()
endfunction()

function(edgekiln_finish_stage_version_ name)
  get_property(arguments GLOBAL PROPERTY EK_STAGE_VERSIONS_${name})
  get_property(header GLOBAL PROPERTY EK_STAGE_VERSIONS_HEADER_${name})
  get_property(folder GLOBAL PROPERTY EK_STAGE_VERSIONS_FOLDER_${name})
  set(manifest "")
  set(all_files "")
  set(libraries "")
  set(stage "")
  set(expect_stage OFF)
  foreach(argument IN LISTS arguments)
    if(argument STREQUAL "STAGE")
      set(expect_stage ON)
    elseif(expect_stage)
      set(stage "${argument}")
      set(expect_stage OFF)
    elseif(NOT stage)
      message(FATAL_ERROR "${name}: ${argument} belongs to no STAGE")
    else()
      edgekiln_version_files_(${argument} files linked)
      edgekiln_manifest_of_(${stage} "${files}" lines)
      list(APPEND manifest ${lines})
      list(APPEND all_files ${files})
      foreach(library IN LISTS linked)
        list(APPEND libraries "${stage}|${library}")
      endforeach()
    endif()
  endforeach()
  list(REMOVE_DUPLICATES manifest)
  list(REMOVE_DUPLICATES all_files)
  list(SORT manifest)
  list(JOIN manifest "\n" text)
  list(REMOVE_DUPLICATES libraries)
  list(SORT libraries)
  list(JOIN libraries "\n" libraries_text)
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/${name}.libraries"
    CONTENT "${libraries_text}\n" @ONLY)
  # Written only when it changes, and an input of the command below.
  set(list_file "${PROJECT_BINARY_DIR}/generated/${name}.manifest")
  file(CONFIGURE OUTPUT "${list_file}" CONTENT "${text}\n" @ONLY)
  set(script "${PROJECT_SOURCE_DIR}/cmake/HashStages.cmake")
  add_custom_command(OUTPUT "${header}"
    COMMAND "${CMAKE_COMMAND}" "-DMANIFEST=${list_file}" "-DHEADER=${header}"
      "-DFOLDER=${folder}" "-DROOT=${PROJECT_SOURCE_DIR}" -P "${script}"
    DEPENDS ${all_files} "${list_file}" "${script}"
    COMMENT "Stage versions" VERBATIM)
  add_custom_target(${name}_header DEPENDS "${header}")
  add_dependencies(${name} ${name}_header)
endfunction()

# Lines "stage|part|path". Messages of an engine that a stage links without its
# code decide nothing there.
function(edgekiln_manifest_of_ stage files out)
  set(lines "")
  set(parts_with_code "")
  foreach(file IN LISTS files)
    file(RELATIVE_PATH path "${PROJECT_SOURCE_DIR}" "${file}")
    edgekiln_version_part_("${path}" part)
    if(part AND NOT path MATCHES "^proto/")
      list(APPEND parts_with_code "${part}")
    endif()
    list(APPEND lines "${stage}|${part}|${path}")
  endforeach()
  set(kept "")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "^[^|]+\\|([^|]*)\\|" unused "${line}")
    if(NOT CMAKE_MATCH_1 OR CMAKE_MATCH_1 IN_LIST parts_with_code)
      list(APPEND kept "${line}")
    endif()
  endforeach()
  set(${out} "${kept}" PARENT_SCOPE)
endfunction()

# The files of our own that `library` and all it links are built from, and which
# libraries these are.
function(edgekiln_version_files_ library out out_libraries)
  set(open ${library})
  set(seen "")
  set(files "")
  while(open)
    list(POP_FRONT open next)
    if(next IN_LIST seen)
      continue()
    endif()
    if(NOT TARGET ${next})
      message(WARNING "stage versions: ${next} is not a target")
      continue()
    endif()
    list(APPEND seen ${next})
    edgekiln_links_of_(${next} links)
    list(APPEND open ${links})
    get_target_property(source_dir ${next} SOURCE_DIR)
    foreach(property SOURCES HEADER_SET EK_VERSION_FILES)
      get_target_property(listed ${next} ${property})
      foreach(file IN LISTS listed)
        if(NOT file OR file MATCHES "\\$<")
          continue()
        endif()
        get_filename_component(file "${file}" ABSOLUTE BASE_DIR "${source_dir}")
        cmake_path(IS_PREFIX PROJECT_BINARY_DIR "${file}" generated)
        if(NOT generated)
          list(APPEND files "${file}")
        endif()
      endforeach()
    endforeach()
  endwhile()
  list(REMOVE_DUPLICATES files)
  set(${out} "${files}" PARENT_SCOPE)
  set(${out_libraries} "${seen}" PARENT_SCOPE)
endfunction()
