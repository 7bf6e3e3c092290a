#include "server/stage_versions.h"

#include <algorithm>

#include "base/canonical_encoder.h"
#include "google/protobuf/descriptor.h"
#include "server/stage_version_table.h"

namespace edgekiln::server {
namespace {

// Every part that the stage has sources of.
std::vector<std::string> AllParts(
    const std::vector<StageVersions::Entry>& entries, absl::string_view stage) {
  std::vector<std::string> parts;
  for (const StageVersions::Entry& entry : entries) {
    if (entry.stage == stage) parts.push_back(entry.part);
  }
  return parts;
}

}  // namespace

absl::string_view StageName(Stage stage) {
  const google::protobuf::FieldDescriptor* field =
      v1::StageOptions::descriptor()->FindFieldByNumber(stage);
  if (field == nullptr) return "";
  return field->name();
}

StageVersions StageVersions::OfThisBuild() {
  std::vector<Entry> entries;
  for (const StageVersionEntry& entry : kStageVersions) {
    entries.push_back({entry.stage, entry.part, entry.version});
  }
  return StageVersions(std::move(entries));
}

std::string StageVersions::Of(Stage stage,
                              const std::vector<std::string>& parts) const {
  const absl::string_view name = StageName(stage);
  CanonicalEncoder encoder("edgekiln.stage_version");
  // It may read any target, and is told which only by the request.
  const bool all = stage == v1::StageOptions::kPlanSweep;
  bool found = false;
  for (const Entry& entry : entries_) {
    if (entry.stage != name) continue;
    if (!all && !entry.part.empty() &&
        std::find(parts.begin(), parts.end(), entry.part) == parts.end()) {
      continue;
    }
    encoder.Add(entry.part);
    encoder.Add(entry.version);
    found = true;
  }
  return found ? encoder.digest().hash : "";
}

std::string StageVersions::Read(Stage stage,
                                const v1::StageResult& result) const {
  if (stage != v1::StageOptions::kResolveTarget) return "";
  // What was read before an error is not told: it may have been anything.
  if (!result.summary().has_target()) {
    return Of(stage, AllParts(entries_, StageName(stage)));
  }
  const auto& parts = result.summary().target().parts();
  return Of(stage, {parts.begin(), parts.end()});
}

std::string BuildDigest() {
  CanonicalEncoder encoder("edgekiln.build");
  for (const StageVersionEntry& entry : kStageVersions) {
    encoder.Add(entry.stage);
    encoder.Add(entry.part);
    encoder.Add(entry.version);
  }
  return encoder.digest().hash;
}

}  // namespace edgekiln::server
