# Who may see whom. Reading this table is reading the architecture; it is read
# by the configure-time check below and by tools/check_includes.py.
#
# Each row is a folder with everything below it, except what a longer row
# covers; `*` stands for one folder name. Folders that match the same `*` row
# are layers apart: compiler/engines/a and compiler/engines/b never see each
# other. Behind the arrow are the rows that may be seen; `**` is all of them.
# Tests (*_test.cc, *_fuzz.cc, TESTONLY targets) also see tests/support.
set(EK_LAYERS
  "base                 -> "
  "proto                -> base"
  "ops                  -> base proto"
  "target               -> base proto"
  "cache                -> base proto"
  "web                  -> "
  "reports              -> base proto web"
  "client               -> base proto reports web"
  "compiler             -> base proto ops target compiler/engines/*"
  "compiler/engines/*   -> base proto ops target compiler"
  "simfarm              -> base proto target simfarm/simulators/* simfarm/host simfarm/session"
  "simfarm/simulators/* -> base proto target simfarm"
  "simfarm/host         -> base proto ops target simfarm"
  "simfarm/session      -> base proto ops target simfarm simfarm/simulators/* simfarm/host"
  "server               -> base proto ops target cache compiler compiler/engines/* simfarm simfarm/simulators/* simfarm/host simfarm/session server/daemon"
  "server/daemon        -> base proto target cache reports server web"
  "testing              -> **"
  "testing/*/compiler   -> base proto ops target compiler testing"
  "testing/*/simulator  -> base proto target simfarm testing"
  "tests                -> **"
  "cmake                -> proto"
  "tests/support        -> base proto"
)

# What a folder (with everything below it) must not reach even through others:
# not by links, not by includes.
set(EK_NEVER_REACHES
  "simfarm/simulators/* -> ops simfarm/host simfarm/session"
  "testing/*/simulator  -> ops compiler simfarm/host simfarm/session testing/*/compiler"
  "testing/*/compiler   -> simfarm testing/*/simulator"
  "simfarm              -> compiler cache server client"
  "compiler             -> simfarm cache server client"
  "server/daemon        -> compiler simfarm client"
  "client               -> ops target cache compiler simfarm server"
  "reports              -> ops target cache compiler simfarm server client"
)

# Fails the configuration if a target breaks the tables. Called once, last, from
# the root: it inspects real targets, so no wrapper can be bypassed.
function(edgekiln_check_layers dir)
  edgekiln_targets_below_(${dir} targets)
  foreach(target IN LISTS targets)
    edgekiln_folders_of_(${target} folders)
    edgekiln_links_of_(${target} links)
    set(EK_LINKS_${target} "${links}")
    set(EK_FOLDERS_${target} "${folders}")
    edgekiln_check_include_dirs_(${target})
  endforeach()
  foreach(target IN LISTS targets)
    edgekiln_check_direct_(${target})
    edgekiln_check_reach_(${target})
  endforeach()
endfunction()

# All targets of our own below `dir` that are compiled or linked.
function(edgekiln_targets_below_ dir out)
  get_property(targets DIRECTORY ${dir} PROPERTY BUILDSYSTEM_TARGETS)
  set(found "")
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(NOT type STREQUAL "UTILITY")
      list(APPEND found ${target})
    endif()
  endforeach()
  get_property(subdirs DIRECTORY ${dir} PROPERTY SUBDIRECTORIES)
  foreach(subdir IN LISTS subdirs)
    edgekiln_targets_below_(${subdir} below)
    list(APPEND found ${below})
  endforeach()
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

# The folders, relative to the root, that define `target`: the one with its list
# file and those of its sources, wherever they are taken from.
function(edgekiln_folders_of_ target out)
  get_target_property(source_dir ${target} SOURCE_DIR)
  get_target_property(sources ${target} SOURCES)
  get_target_property(headers ${target} HEADER_SET)
  file(RELATIVE_PATH folders "${PROJECT_SOURCE_DIR}" "${source_dir}")
  foreach(file IN LISTS sources headers)
    if(NOT file OR file MATCHES "\\$<")
      continue()
    endif()
    get_filename_component(file "${file}" ABSOLUTE BASE_DIR "${source_dir}")
    cmake_path(IS_PREFIX PROJECT_BINARY_DIR "${file}" generated)
    if(NOT generated)
      get_filename_component(folder "${file}" DIRECTORY)
      file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${folder}")
      list(APPEND folders "${folder}")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES folders)
  set(${out} "${folders}" PARENT_SCOPE)
endfunction()

# The targets of our own that `target` links or takes objects from. Names are
# taken out of generator expressions whatever their condition.
function(edgekiln_links_of_ target out)
  get_target_property(links ${target} LINK_LIBRARIES)
  get_target_property(exports ${target} INTERFACE_LINK_LIBRARIES)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\$<")
  string(REGEX MATCHALL "[A-Za-z0-9_.+-]+(::[A-Za-z0-9_.+-]+)*" names
    "${links};${exports};${sources}")
  set(found "")
  foreach(name IN LISTS names)
    if(TARGET ${name})
      get_target_property(aliased ${name} ALIASED_TARGET)
      if(aliased)
        set(name ${aliased})
      endif()
      get_target_property(imported ${name} IMPORTED)
      if(NOT imported)
        list(APPEND found ${name})
      endif()
    endif()
  endforeach()
  list(REMOVE_DUPLICATES found)
  list(REMOVE_ITEM found ${target})
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

# Sources are named from the root, so no other folder of the tree may be an
# include directory: it would hide from the include check what is included.
function(edgekiln_check_include_dirs_ target)
  get_target_property(own ${target} INCLUDE_DIRECTORIES)
  get_target_property(exports ${target} INTERFACE_INCLUDE_DIRECTORIES)
  get_target_property(options ${target} COMPILE_OPTIONS)
  get_target_property(public_options ${target} INTERFACE_COMPILE_OPTIONS)
  foreach(dir IN LISTS own exports)
    string(REGEX REPLACE "^\\$<[A-Z_]+:(.*)>$" "\\1" dir "${dir}")
    cmake_path(IS_PREFIX PROJECT_SOURCE_DIR "${dir}" NORMALIZE inside)
    cmake_path(IS_PREFIX PROJECT_BINARY_DIR "${dir}" NORMALIZE generated)
    cmake_path(COMPARE "${dir}" EQUAL "${PROJECT_SOURCE_DIR}" root)
    if(inside AND NOT generated AND NOT root)
      message(SEND_ERROR "layers: ${target} has the include directory ${dir}; "
        "only the root of the repository may be one")
    endif()
  endforeach()
  foreach(option IN LISTS options public_options)
    if(option MATCHES "^(SHELL:)?-(I|include|imacros|iquote|isystem|idirafter)")
      message(SEND_ERROR "layers: ${target} has the option ${option}; "
        "only the root of the repository may be an include directory")
    endif()
  endforeach()
endfunction()

function(edgekiln_check_direct_ target)
  get_target_property(testonly ${target} EK_TESTONLY)
  foreach(from IN LISTS EK_FOLDERS_${target})
    edgekiln_layer_of_("${from}" from_row from_layer allowed)
    if(NOT from_row)
      message(SEND_ERROR "layers: ${target}: ${from}/ has no row in "
        "cmake/Layers.cmake")
      continue()
    endif()
    foreach(dep IN LISTS EK_LINKS_${target})
      foreach(to IN LISTS EK_FOLDERS_${dep})
        edgekiln_layer_of_("${to}" to_row to_layer unused)
        if(NOT to_layer STREQUAL from_layer AND NOT "**" IN_LIST allowed
           AND NOT to_row IN_LIST allowed
           AND NOT (testonly AND to_row STREQUAL "tests/support"))
          message(SEND_ERROR "layers: ${from}/ must not link ${to}/: "
            "${target} -> ${dep}")
        endif()
      endforeach()
    endforeach()
  endforeach()
endfunction()

function(edgekiln_check_reach_ target)
  foreach(row IN LISTS EK_NEVER_REACHES)
    edgekiln_split_row_("${row}" from forbidden)
    edgekiln_covers_("${from}" "${EK_FOLDERS_${target}}" covered)
    if(NOT covered)
      continue()
    endif()
    edgekiln_reached_from_(${target} reached)
    foreach(dep IN LISTS reached)
      foreach(pattern IN LISTS forbidden)
        edgekiln_covers_("${pattern}" "${EK_FOLDERS_${dep}}" covered)
        if(covered)
          message(SEND_ERROR "layers: ${from} must not reach ${pattern}: "
            "${target} -> .. -> ${dep}")
        endif()
      endforeach()
    endforeach()
  endforeach()
endfunction()

# All targets that `target` links, through whatever.
function(edgekiln_reached_from_ target out)
  set(reached "")
  set(open ${EK_LINKS_${target}})
  while(open)
    list(POP_FRONT open next)
    if(NOT next IN_LIST reached)
      list(APPEND reached ${next})
      list(APPEND open ${EK_LINKS_${next}})
    endif()
  endwhile()
  set(${out} "${reached}" PARENT_SCOPE)
endfunction()

# "a -> b c" to "a" and "b;c".
function(edgekiln_split_row_ row from allowed)
  string(REGEX MATCH "^([^ ]+) *-> *(.*)$" unused "${row}")
  set(${from} "${CMAKE_MATCH_1}" PARENT_SCOPE)
  string(REPLACE " " ";" list "${CMAKE_MATCH_2}")
  set(${allowed} "${list}" PARENT_SCOPE)
endfunction()

# Whether one of `folders` is `pattern` or below it.
function(edgekiln_covers_ pattern folders out)
  string(REPLACE "*" "[^/]+" regex "${pattern}")
  set(${out} OFF PARENT_SCOPE)
  foreach(folder IN LISTS folders)
    if(folder MATCHES "^${regex}(/|$)")
      set(${out} ON PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# The longest row that covers `folder`, the folder it stands for there, and what
# it may see. All empty if there is none.
function(edgekiln_layer_of_ folder out_row out_layer out_allowed)
  set(best 0)
  foreach(name out_row out_layer out_allowed)
    set(${${name}} "" PARENT_SCOPE)
  endforeach()
  foreach(row IN LISTS EK_LAYERS)
    edgekiln_split_row_("${row}" pattern allowed)
    string(REPLACE "*" "[^/]+" regex "${pattern}")
    string(REPLACE "/" ";" parts "${pattern}")
    list(LENGTH parts length)
    if(length GREATER best AND folder MATCHES "^(${regex})(/|$)")
      set(best ${length})
      set(${out_row} "${pattern}" PARENT_SCOPE)
      set(${out_layer} "${CMAKE_MATCH_1}" PARENT_SCOPE)
      set(${out_allowed} "${allowed}" PARENT_SCOPE)
    endif()
  endforeach()
endfunction()
