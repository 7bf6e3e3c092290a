# Stage versions: what a stage computes is decided by the sources it is built
# from, so a hash of them is part of the name of its results in the cache.

# edgekiln_stage_versions(<name> STAGE <stage> <library> ... [STAGE ...])
# A header-only library with "<folder>/<name>.h": kStageVersions, a table of
# {stage, version} in the namespace of the folder. The version is the SHA-256 over path and contents of the sources of
# the stage's libraries and of all libraries of ours that they link, schemas
# and other DATA included. Nothing else enters: no absolute path, no time.
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
      edgekiln_version_files_(${argument} files)
      foreach(file IN LISTS files)
        file(RELATIVE_PATH relative "${PROJECT_SOURCE_DIR}" "${file}")
        list(APPEND manifest "${stage}|${relative}")
        list(APPEND all_files "${file}")
      endforeach()
    endif()
  endforeach()
  list(REMOVE_DUPLICATES manifest)
  list(REMOVE_DUPLICATES all_files)
  list(SORT manifest)
  list(JOIN manifest "\n" text)
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

# The files of our own that `library` and all it links are built from.
function(edgekiln_version_files_ library out)
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
endfunction()
