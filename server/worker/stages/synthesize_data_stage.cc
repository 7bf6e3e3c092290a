#include <cstdint>
#include <optional>
#include <vector>

#include "base/status_macros.h"
#include "compiler/dataset/synthesize.h"
#include "server/worker/stages/data_io.h"
#include "server/worker/stages/stages.h"

namespace edgekiln::server {

absl::StatusOr<StageOutput> RunSynthesizeData(
    const v1::SynthesizeDataOptions& options, const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(const compiler::ModelInputs model, ModelInputsOf(inputs));
  EK_ASSIGN_OR_RETURN(const std::vector<v1::Chunk> chunks,
                      compiler::SynthesizeData(
                          options, model.types,
                          [&](std::optional<int64_t> bytes) {
                            return CheckSampleBytes(inputs, bytes);
                          },
                          model.is_state));
  StageOutput output;
  AddChunks(chunks, output);
  int64_t samples = 0;
  for (const v1::Chunk& chunk : chunks) samples += chunk.samples();
  output.summary.mutable_data()->set_samples(samples);
  output.summary.mutable_data()->set_sequential(AreSequential(chunks));
  return output;
}

}  // namespace edgekiln::server
