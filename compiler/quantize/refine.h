#ifndef EK_COMPILER_QUANTIZE_REFINE_H_
#define EK_COMPILER_QUANTIZE_REFINE_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "compiler/ir/graph.h"
#include "compiler/quantize/calibration_samples.h"
#include "edgekiln/v1/quantization.pb.h"
#include "edgekiln/v1/stage.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "ops/cpu_path.h"

namespace edgekiln::compiler {

struct RefineOptions {
  // By op of the float graph.
  std::vector<v1::LayerScheme> schemes;
  v1::QuantizationNeeds needs;  // Have the limits of converters.
  bool bias_correction = true;
  bool power_of_two = false;
  // Results of layers with weights are rounded down: their biases hold half a
  // step more.
  bool rounds_down = false;
  ops::CpuPath cpu_path = ops::CpuPath::kAuto;
};

RefineOptions RefineOptionsOf(const v1::QuantizeOptions& options,
                              std::vector<v1::LayerScheme> schemes,
                              ops::CpuPath cpu_path);

// Whether the integer op has weights that are fitted to samples.
bool IsFitted(const Graph& quantized, const Op& op);

// Gives layers that correct their bias, or round by it, one of 0.
void AddMissingBiases(const RefineOptions& options, Graph& quantized);

// Walks from layer to layer through a float graph and the quantized graph made
// of it, both on the same samples, and chooses each layer's integers by what
// the layers before it really give:
//
// - weights by FitWeights() over the moments of the quantized inputs;
// - biases by BiasCorrection; converters, in place of biases, by ConverterFit.
//
// Ops of both graphs belong together by their ids. `quantized` keeps its ops,
// but for biases that layers get. Fills in `report.layers`, one for each op of
// the float graph, which are there with their ids.
absl::Status Refine(const Graph& float_graph, const CalibrationSamples& samples,
                    const RefineOptions& options, Graph& quantized,
                    v1::QuantizationReport& report,
                    const std::function<void(int64_t done)>& progress);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_REFINE_H_
