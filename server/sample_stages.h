#ifndef EK_SERVER_SAMPLE_STAGES_H_
#define EK_SERVER_SAMPLE_STAGES_H_

// What a job does with its samples: on a chip, or on the reference alone.

#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "edgekiln/v1/jobs.pb.h"
#include "edgekiln/v1/stage.pb.h"
#include "server/firmware_stages.h"
#include "server/job_context.h"
#include "server/model_stages.h"
#include "server/target_stages.h"
#include "server/task.h"

namespace edgekiln::server {

// What the compiler made for a target.
struct TargetBinary {
  v1::BlobRef program = {};
  // Of firmware, its ELF file: absent without a compiler.
  std::optional<v1::BlobRef> constants = {};
  v1::BlobRef machine = {};
  std::optional<Firmware> firmware = {};
  bool is_simulated = true;
  std::shared_ptr<PendingStage> emitting = {};  // Is over.
};

// What RunSamples() starts first, for a chain that also makes the program of
// `binary` (server/stage_chain.h): nothing unless the samples are there
// already, and are one chunk of a BATCH job of one target that neither
// validates nor runs. StageRunner leaves it out of chains unless it is short.
std::optional<StageCall> OnlySimulation(const TargetBinary& binary,
                                        const v1::CreateJobRequest& request,
                                        const TargetRun& run);

// Simulates all samples, or, where nothing simulates the target, computes what
// its integers come to; then what the goals ask of the values: bit-exactness,
// accuracy, outputs. Ends at the first stage that fails, with its error. The
// arguments must outlive the task.
Task<absl::Status> RunSamples(const TargetBinary& binary,
                              const v1::CreateJobRequest& request,
                              const ModelStages& model, JobContext& context,
                              TargetRun& run);

// RUN without a target: the interpreter's outputs, of the model as it came.
Task<absl::Status> RunOnReference(const v1::CreateJobRequest& request,
                                  const ModelStages& model, JobContext& context,
                                  TargetRun& run);

}  // namespace edgekiln::server

#endif  // EK_SERVER_SAMPLE_STAGES_H_
