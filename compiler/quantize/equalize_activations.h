#ifndef EK_COMPILER_QUANTIZE_EQUALIZE_ACTIVATIONS_H_
#define EK_COMPILER_QUANTIZE_EQUALIZE_ACTIVATIONS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"
#include "compiler/quantize/calibration_samples.h"
#include "compiler/quantize/scales.h"
#include "edgekiln/v1/quantization.pb.h"
#include "ops/cpu_path.h"

namespace edgekiln::compiler {

// Equalizes the ranges of the channels of activations, which share one scale:
// each space of channels (channel_spaces.h) is divided by factors that come
// from the largest values of its channels. The network computes the same, up to
// the rounding of floats.
//
// Factors are chosen by what they do to the outputs of the network: each space
// is quantized alone, its weights too, with several sets of factors, and the
// rest of the float network is run on some of the samples. A space stays as it
// is unless that is better by some percent. Networks that would take too many
// runs are left alone.
//
// `schemes`: by op. Says whether anything was changed.
absl::StatusOr<bool> EqualizeActivations(
    const std::vector<v1::LayerScheme>& schemes, CalibrationSamples samples,
    ScaleRules rules, ops::CpuPath cpu_path, Graph& graph);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_EQUALIZE_ACTIVATIONS_H_
