#ifndef EK_SERVER_STAGE_VERSION_TABLE_H_
#define EK_SERVER_STAGE_VERSION_TABLE_H_

// The table behind StageVersion().

namespace edgekiln::server {

struct StageVersionEntry {
  const char* stage;
  const char* version;
};

inline constexpr StageVersionEntry kStageVersions[] = {
    {"import", "1"},
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_STAGE_VERSION_TABLE_H_
