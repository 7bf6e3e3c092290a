#include <optional>

#include "base/status_macros.h"
#include "compiler/dataset/convert.h"
#include "server/worker/stages/data_io.h"
#include "server/worker/stages/stages.h"

namespace edgekiln::server {
namespace {

// Inputs of real values: of the model's form, names and layouts are left.
void MakeReal(compiler::ModelInputs& model) {
  for (v1::TensorType& type : model.types) {
    type.set_element_type(v1::FLOAT32);
    type.clear_quantization();
  }
  model.grids.clear();
  model.conversions.clear();
}

void AddRange(const v1::Labels& labels, v1::StageSummary::Data& summary) {
  bool first = true;
  for (const int32_t label : labels.label()) {
    if (label < 0) continue;
    if (first || label < summary.smallest_label()) {
      summary.set_smallest_label(label);
    }
    if (first || label > summary.largest_label()) {
      summary.set_largest_label(label);
    }
    first = false;
  }
}

}  // namespace

absl::StatusOr<StageOutput> RunConvertData(
    const v1::ConvertDataOptions& options, const StageInputs& inputs) {
  EK_ASSIGN_OR_RETURN(compiler::ModelInputs model, ModelInputsOf(inputs));
  if (options.real()) MakeReal(model);
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
  for (const v1::Chunk& chunk : data.chunks) {
    summary.add_chunk_samples(chunk.samples());
  }
  if (data.labels) AddRange(*data.labels, summary);
  EK_RETURN_IF_ERROR(AddFormTo(inputs, summary));
  return output;
}

}  // namespace edgekiln::server
