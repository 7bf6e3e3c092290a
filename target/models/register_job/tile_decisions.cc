#include "target/models/register_job/tile_decisions.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "target/register_jobs.h"

namespace edgekiln::target {
namespace {

absl::Status Invalid(std::string what, std::string limit = "") {
  const std::string name =
      v1::register_job::TileDecisions::descriptor()->full_name();
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      {.reason = "TARGET_INVALID",
       .what = std::move(what),
       .where = "decisions",
       .limit = std::move(limit),
       .need = name,
       .fix = absl::StrCat("write decisions { [type.googleapis.com/", name,
                           "] { one_room: true } }")});
}

bool HasUnknown(const google::protobuf::Message& message) {
  return !message.GetReflection()->GetUnknownFields(message).empty();
}

}  // namespace

absl::StatusOr<Expression> ObjectiveOf(
    const v1::register_job::TileDecisions& decisions) {
  if (decisions.objective_expr().empty()) return Expression();
  std::vector<std::string> names;
  names.reserve(kNumJobVariables);
  for (int i = 0; i < kNumJobVariables; ++i) {
    names.emplace_back(JobVariableName(static_cast<JobVariable>(i)));
  }
  return Expression::Compile(decisions.objective_expr(), {}, names);
}

absl::StatusOr<google::protobuf::Any> RepackTileDecisions(
    const google::protobuf::Any& decisions) {
  v1::register_job::TileDecisions read;
  if (!decisions.Is<v1::register_job::TileDecisions>()) {
    return Invalid("the engine model cannot read the decisions");
  }
  if (!decisions.UnpackTo(&read) || HasUnknown(read)) {
    return Invalid("the decisions are not in the form of the message");
  }
  for (const auto& attempt : read.attempts()) {
    if (HasUnknown(attempt)) {
      return Invalid("an attempt is not in the form of the message");
    }
  }
  if (read.attempts_size() > kMaxTileAttempts) {
    return Invalid(absl::StrCat(read.attempts_size(), " attempts"),
                   absl::StrCat("up to ", kMaxTileAttempts));
  }
  if (read.attempts().empty() != read.objective_expr().empty()) {
    return Invalid("attempts without objective_expr, or the other way round");
  }
  const int32_t multiple = read.input_channels_multiple();
  if (multiple < 0 || multiple > kMaxInputChannelsMultiple) {
    return Invalid(absl::StrCat("input_channels_multiple is ", multiple),
                   absl::StrCat("0 to ", kMaxInputChannelsMultiple));
  }
  EK_RETURN_IF_ERROR(ObjectiveOf(read).status(), "objective_expr");
  google::protobuf::Any packed;
  packed.PackFrom(read);
  return packed;
}

}  // namespace edgekiln::target
