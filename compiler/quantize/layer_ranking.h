#ifndef EK_COMPILER_QUANTIZE_LAYER_RANKING_H_
#define EK_COMPILER_QUANTIZE_LAYER_RANKING_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "compiler/ir/graph.h"
#include "compiler/quantize/calibration_samples.h"
#include "edgekiln/v1/quantization.pb.h"
#include "ops/cpu_path.h"

namespace edgekiln::compiler {

// Fills in output_sqnr_db of `report` from that of the layer that makes the
// network's first output.
void SetOutputRatio(const Graph& float_graph, v1::QuantizationReport& report);

// Fills in network_sqnr_db of the layers in `report`, one for each op of
// `float_graph`: that of the network's first output if this layer alone is
// quantized. The float network runs with the layer's weights and bias replaced
// by what its integers stand for, and its result rounded to the integers'
// steps. Layers that only pass integers on cost nothing of their own and are
// left out, as are those that change no output.
//
// Ops of both graphs belong together by their ids. Takes the first samples,
// fewer where there are many layers: the work is bounded. Where not even one
// sample fits that bound, nothing is ranked and a note says so.
absl::Status RankLayers(const Graph& float_graph, const Graph& quantized,
                        CalibrationSamples samples, ops::CpuPath cpu_path,
                        const std::function<void(int64_t done)>& progress,
                        v1::QuantizationReport& report);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_LAYER_RANKING_H_
