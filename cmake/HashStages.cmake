# Writes the table of stage versions. Run by the build:
#   cmake -DMANIFEST=.. -DHEADER=.. -DFOLDER=.. -DROOT=.. -P HashStages.cmake
# HEADER belongs to FOLDER, whose namespace it gets. MANIFEST has sorted lines
# "stage|part|path below ROOT".
file(STRINGS "${MANIFEST}" lines)
set(keys "")
foreach(line IN LISTS lines)
  string(REGEX MATCH "^([^|]+\\|[^|]*)\\|(.+)$" unused "${line}")
  set(key "${CMAKE_MATCH_1}")
  set(path "${CMAKE_MATCH_2}")
  file(SHA256 "${ROOT}/${path}" hash)
  list(APPEND keys "${key}")
  string(APPEND "text_${key}" "${hash} ${path}\n")
endforeach()
list(REMOVE_DUPLICATES keys)

set(rows "")
foreach(key IN LISTS keys)
  string(SHA256 version "${text_${key}}")
  string(REPLACE "|" "\", \"" names "${key}")
  string(APPEND rows "    {\"${names}\",\n     \"${version}\"},\n")
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
  const char* part;     // "": what concerns every target.
  const char* version;  // SHA-256 of the sources, 64 hex digits.
};

// Sorted by stage.
inline constexpr StageVersionEntry kStageVersions[] = {
@rows@};

}  // namespace @namespace@

#endif  // @guard@
]])
