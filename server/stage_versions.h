#ifndef EK_SERVER_STAGE_VERSIONS_H_
#define EK_SERVER_STAGE_VERSIONS_H_

// Names and versions of the stages. A version is a hash of the sources that
// decide what a stage computes, made by the build: it is part of every stage
// key, so that a changed compiler never meets its old results
// (docs/design/0020-stage-versions.md).

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "edgekiln/v1/stage.pb.h"

namespace edgekiln::server {

using Stage = v1::StageOptions::OptionsCase;

// The field name in StageOptions: "import", "resolve_target", ... Empty for
// OPTIONS_NOT_SET.
absl::string_view StageName(Stage stage);

// Immutable.
class StageVersions {
 public:
  // Sources of a stage: those that concern every target (part ""), or one
  // engine ("engine/NAME") or one descriptor that comes with the program
  // ("chip/NAME").
  struct Entry {
    std::string stage;
    std::string part;
    std::string version;  // Hex digits.
  };

  explicit StageVersions(std::vector<Entry> entries)
      : entries_(std::move(entries)) {}
  static StageVersions OfThisBuild();

  // What a key contains of a stage that runs for a target which uses `parts`,
  // in any order; none for stages of no target. Parts that the stage has no
  // sources of add nothing. Hex digits; empty for OPTIONS_NOT_SET.
  std::string Of(Stage stage, const std::vector<std::string>& parts) const;

  // For a stage that finds out itself which parts it uses, as resolving a
  // target does: their version, to be stored with the result, which holds only
  // while this stays the same. Empty for all other stages.
  std::string Read(Stage stage, const v1::StageResult& result) const;

  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

// SHA-256 over all versions of this build, as hex digits. A daemon gives leases
// only to workers that have the same: they would compute the same results.
std::string BuildDigest();

}  // namespace edgekiln::server

#endif  // EK_SERVER_STAGE_VERSIONS_H_
