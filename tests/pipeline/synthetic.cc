#include "tests/pipeline/synthetic.h"

#include "base/status_macros.h"
#include "compiler/dataset/convert.h"
#include "compiler/dataset/synthesize.h"
#include "compiler/quantize/calibrate.h"
#include "compiler/quantize/quantize.h"

namespace edgekiln::tests {
namespace {

absl::StatusOr<std::vector<v1::Chunk>> OneSample(const compiler::Graph& graph) {
  v1::SynthesizeDataOptions options;
  options.set_seed(1);
  options.set_samples(1);
  options.set_chunk_samples(1);
  return compiler::SynthesizeData(
      options, compiler::InputsOf(compiler::GraphToProto(graph)).types);
}

}  // namespace

absl::StatusOr<std::vector<std::string>> SyntheticInputs(
    const compiler::Graph& graph) {
  EK_ASSIGN_OR_RETURN(const std::vector<v1::Chunk> chunks, OneSample(graph));
  std::vector<std::string> inputs;
  for (const v1::Chunk::Array& array : chunks.at(0).arrays()) {
    inputs.push_back(array.data());
  }
  return inputs;
}

absl::StatusOr<compiler::Graph> QuantizedBySample(
    const compiler::Graph& graph, const v1::QuantizationNeeds& needs) {
  EK_ASSIGN_OR_RETURN(const std::vector<v1::Chunk> chunks, OneSample(graph));
  v1::QuantizeOptions options;
  *options.mutable_needs() = needs;
  options.mutable_config()->mutable_ranges()->set_method(
      v1::CalibrateOptions::MIN_MAX);
  EK_ASSIGN_OR_RETURN(const v1::CalibrationStatistics statistics,
                      compiler::Calibrate(graph, chunks));
  EK_ASSIGN_OR_RETURN(
      compiler::QuantizedNetwork network,
      compiler::Quantize(graph, options, {.statistics = statistics}));
  return std::move(network.graph);
}

}  // namespace edgekiln::tests
