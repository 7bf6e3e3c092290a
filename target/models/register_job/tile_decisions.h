#ifndef EK_TARGET_MODELS_REGISTER_JOB_TILE_DECISIONS_H_
#define EK_TARGET_MODELS_REGISTER_JOB_TILE_DECISIONS_H_

#include "absl/status/statusor.h"
#include "edgekiln/v1/engines/register_job.pb.h"
#include "google/protobuf/any.pb.h"
#include "target/expression.h"

// What recipes decide for engines of model REGISTER_JOB.
namespace edgekiln::target {

inline constexpr int kMaxTileAttempts = 16;
inline constexpr int kMaxInputChannelsMultiple = 256;

// The message in its one form. INVALID_ARGUMENT if it is another one, or wrong.
absl::StatusOr<google::protobuf::Any> RepackTileDecisions(
    const google::protobuf::Any& decisions);

// The objective of checked decisions, over all JobVariables; 0 without one.
absl::StatusOr<Expression> ObjectiveOf(
    const v1::register_job::TileDecisions& decisions);

}  // namespace edgekiln::target

#endif  // EK_TARGET_MODELS_REGISTER_JOB_TILE_DECISIONS_H_
