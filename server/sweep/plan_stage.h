#ifndef EK_SERVER_SWEEP_PLAN_STAGE_H_
#define EK_SERVER_SWEEP_PLAN_STAGE_H_

// The stage that plans a sweep, and its blobs.

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "edgekiln/v1/sweep.pb.h"
#include "server/job_context.h"
#include "server/task.h"

namespace edgekiln::server {

// Where the blobs of a plan are. Thread-safe.
class SweepBlobs {
 public:
  virtual ~SweepBlobs() = default;
  virtual absl::StatusOr<v1::Digest> Store(absl::string_view bytes) = 0;
  virtual absl::StatusOr<std::string> Load(const v1::Digest& digest) = 0;
  // Whether the blob is there; false if that is no digest. Calls `told` once,
  // from within or later.
  virtual void AskHas(const v1::Digest& digest,
                      const std::function<void(bool)>& told) = 0;
};

// Of bytes that RunPlanStage() has stored.
absl::StatusOr<v1::SweepPlan> ParsePlan(const std::string& bytes);

// The plan of `request`, as a blob and as it is told. The arguments must
// outlive the task.
struct StoredPlan {
  v1::SweepPlan plan;
  v1::Digest digest;
};
Task<absl::StatusOr<StoredPlan>> RunPlanStage(const v1::SweepRequest& request,
                                              int64_t max_cells,
                                              SweepBlobs& blobs,
                                              JobContext& stages);

}  // namespace edgekiln::server

#endif  // EK_SERVER_SWEEP_PLAN_STAGE_H_
