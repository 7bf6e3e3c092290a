#include "server/stage_versions.h"

#include "base/canonical_encoder.h"
#include "google/protobuf/descriptor.h"
#include "server/stage_version_table.h"

namespace edgekiln::server {
namespace {

const google::protobuf::OneofDescriptor* Stages() {
  return v1::StageOptions::descriptor()->FindOneofByName("options");
}

}  // namespace

absl::string_view StageName(Stage stage) {
  const google::protobuf::FieldDescriptor* field =
      v1::StageOptions::descriptor()->FindFieldByNumber(stage);
  if (field == nullptr) return "";
  return field->name();
}

absl::string_view StageVersion(Stage stage) {
  const absl::string_view name = StageName(stage);
  for (const StageVersionEntry& entry : kStageVersions) {
    if (name == entry.stage) return entry.version;
  }
  return "";
}

std::string BuildDigest() {
  CanonicalEncoder encoder("edgekiln.build");
  for (int i = 0; i < Stages()->field_count(); ++i) {
    const auto stage = static_cast<Stage>(Stages()->field(i)->number());
    encoder.Add(StageName(stage));
    encoder.Add(StageVersion(stage));
  }
  return encoder.digest().hash;
}

}  // namespace edgekiln::server
