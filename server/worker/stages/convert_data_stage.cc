#include <optional>

#include "base/status_macros.h"
#include "compiler/dataset/convert.h"
#include "server/worker/stages/data_io.h"
#include "server/worker/stages/stages.h"

namespace edgekiln::server {

absl::StatusOr<StageOutput> RunConvertData(
    const v1::ConvertDataOptions& options, const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(const compiler::ModelInputs model, ModelInputsOf(inputs));
  EK_ASSIGN_OR_RETURN(const auto files, inputs.All("data"));
  EK_ASSIGN_OR_RETURN(
      const compiler::ConvertedData data,
      compiler::ConvertDataSet(options, files, model,
                               [&](std::optional<int64_t> bytes) {
                                 return CheckSampleBytes(inputs, bytes);
                               }));
  StageOutput output;
  AddChunks(data.chunks, output);
  output.warnings = data.warnings;
  if (data.labels) output.Add("labels", *data.labels);
  v1::StageSummary::Data& summary = *output.summary.mutable_data();
  summary.set_samples(data.samples);
  summary.set_labelled(data.labelled);
  summary.set_sequential(AreSequential(data.chunks));
  return output;
}

}  // namespace edgekiln::server
