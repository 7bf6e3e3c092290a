#ifndef EK_SERVER_FIRMWARE_STAGES_H_
#define EK_SERVER_FIRMWARE_STAGES_H_

// What a job does for a target whose host runs the network as C code.

#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "edgekiln/v1/jobs.pb.h"
#include "edgekiln/v1/stage.pb.h"
#include "server/job_context.h"
#include "server/target_stages.h"
#include "server/task.h"

namespace edgekiln::server {

struct Firmware {
  v1::BlobRef program = {};
  v1::BlobRef emitted = {};  // The program before it was built.
  v1::BlobRef c_sources = {};
  std::optional<v1::BlobRef> elf = {};  // Absent: no compiler was asked for.
  bool is_simulated = false;            // There is one, and a simulator of it.
  int64_t io_conversion_cycles = 0;     // Estimated.
  // Whose summary tells of the result; is over.
  std::shared_ptr<PendingStage> emitting = {};
};

inline bool HasFirmware(const v1::StageSummary::Target& target) {
  return target.processor() != v1::PROCESSOR_UNSPECIFIED;
}

// INVALID_ARGUMENT with reason HOT_SPOTS_UNAVAILABLE if the request asks for
// hot spots and nothing simulates the target's host, or it runs no C code.
absl::Status CheckHotSpots(const v1::CreateJobRequest& request,
                           const v1::StageSummary::Target& target);

// C code of run.deployed, and what the compiler that the request asks for makes
// of it. Also notes the compiler in the report. `machine` and `recipe` are
// those of `target`. Arguments must outlive the task.
Task<absl::StatusOr<Firmware>> MakeFirmware(
    const v1::CreateJobRequest& request, const v1::StageSummary::Target& target,
    const v1::BlobRef& machine, const v1::CRecipe& recipe, JobContext& context,
    TargetRun& run);

// `firmware`, which MakeFirmware() made for the same arguments and which is
// simulated, with line tables: other bytes, the same instructions. Only
// `program` and `elf` are others. Arguments must outlive the task.
Task<absl::StatusOr<Firmware>> WithLineTables(
    const v1::CreateJobRequest& request, const v1::StageSummary::Target& target,
    const v1::BlobRef& machine, const Firmware& firmware, JobContext& context,
    TargetRun& run);

}  // namespace edgekiln::server

#endif  // EK_SERVER_FIRMWARE_STAGES_H_
