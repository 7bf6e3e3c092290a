# Writes the table of stage versions. Run by the build:
#   cmake -DMANIFEST=.. -DHEADER=.. -DFOLDER=.. -DROOT=.. -P HashStages.cmake
# HEADER belongs to FOLDER, whose namespace it gets. MANIFEST has sorted lines
# "stage|path below ROOT".
file(STRINGS "${MANIFEST}" lines)
set(stages "")
foreach(line IN LISTS lines)
  string(REGEX MATCH "^([^|]+)\\|(.+)$" unused "${line}")
  set(stage "${CMAKE_MATCH_1}")
  set(path "${CMAKE_MATCH_2}")
  file(SHA256 "${ROOT}/${path}" hash)
  list(APPEND stages "${stage}")
  string(APPEND text_${stage} "${hash} ${path}\n")
endforeach()
list(REMOVE_DUPLICATES stages)

set(rows "")
foreach(stage IN LISTS stages)
  string(SHA256 version "${text_${stage}}")
  string(APPEND rows "    {\"${stage}\",\n     \"${version}\"},\n")
endforeach()
get_filename_component(name "${HEADER}" NAME)
string(TOUPPER "EK_${FOLDER}_${name}_" guard)
string(REGEX REPLACE "[^A-Z0-9]" "_" guard "${guard}")
string(REPLACE "/" "::" namespace "edgekiln/${FOLDER}")
file(CONFIGURE OUTPUT "${HEADER}" @ONLY CONTENT [[
#ifndef @guard@
#define @guard@

// Made by cmake/HashStages.cmake.

namespace @namespace@ {

struct StageVersionEntry {
  const char* stage;
  const char* version;  // SHA-256 of the sources, 64 hex digits.
};

// Sorted by stage.
inline constexpr StageVersionEntry kStageVersions[] = {
@rows@};

}  // namespace @namespace@

#endif  // @guard@
]])
