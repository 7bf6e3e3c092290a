#ifndef EK_COMPILER_QUANTIZE_EQUALIZED_NETWORK_H_
#define EK_COMPILER_QUANTIZE_EQUALIZED_NETWORK_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/ir/graph.h"
#include "compiler/quantize/calibration_samples.h"
#include "edgekiln/v1/data.pb.h"
#include "edgekiln/v1/graph.pb.h"
#include "edgekiln/v1/quantization.pb.h"
#include "edgekiln/v1/stage.pb.h"
#include "ops/cpu_path.h"

namespace edgekiln::compiler {

// A float network whose channels were equalized, and its calibration.
struct EqualizedNetwork {
  Graph graph;
  v1::CalibrationStatistics statistics;
};

// Of a network before that.
struct GivenStatistics {
  const v1::CalibrationStatistics& statistics;
  bool measured = true;  // By Calibrate(); false: changed since then.
};

// Fits upper limits to scales (limits.h). With `samples`, then equalizes
// weights that share a scale (equalize.h), and activations by some of the
// samples (equalize_activations.h), after which the network is calibrated by
// all `chunks`. `schemes`: by op; `given`: of the graph and the same chunks.
// Nothing if the network stays as it is, or options.config.equalization is OFF.
absl::StatusOr<std::optional<EqualizedNetwork>> EqualizeNetwork(
    const Graph& graph, const GivenStatistics& given,
    const v1::QuantizeOptions& options,
    const std::vector<v1::LayerScheme>& schemes,
    const CalibrationSamples& samples, absl::Span<const v1::Chunk> chunks,
    ops::CpuPath cpu_path);

// What the former does to the attributes of ops without samples. Reads no
// weights.
void SetFittedLimits(const v1::QuantizeOptions& options, Graph& graph);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_EQUALIZED_NETWORK_H_
