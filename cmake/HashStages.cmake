# Writes the table of stage versions. Run by the build:
#   cmake -DMANIFEST=.. -DHEADER=.. -DROOT=.. -P HashStages.cmake
# MANIFEST has sorted lines "stage|path below ROOT".
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
list(LENGTH stages count)
get_filename_component(name "${HEADER}" NAME)
string(REGEX REPLACE "[^A-Za-z0-9]" "_" guard "EK_${name}_")
string(TOUPPER "${guard}" guard)
file(CONFIGURE OUTPUT "${HEADER}" @ONLY CONTENT [[
#ifndef @guard@
#define @guard@

// Made by cmake/HashStages.cmake.

#include <array>

namespace edgekiln {

struct StageVersion {
  const char* stage;
  const char* version;  // SHA-256 of the sources, 64 hex digits.
};

// Sorted by stage.
inline constexpr std::array<StageVersion, @count@> kStageVersions = {{
@rows@}};

// The version of `stage`; null if there is no such stage.
constexpr const char* FindStageVersion(const char* stage) {
  for (const StageVersion& row : kStageVersions) {
    const char* a = row.stage;
    const char* b = stage;
    while (*a != '\0' && *a == *b) ++a, ++b;
    if (*a == *b) return row.version;
  }
  return nullptr;
}

}  // namespace edgekiln

#endif  // @guard@
]])
