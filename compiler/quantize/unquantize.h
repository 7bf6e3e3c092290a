#ifndef EK_COMPILER_QUANTIZE_UNQUANTIZE_H_
#define EK_COMPILER_QUANTIZE_UNQUANTIZE_H_

#include <optional>

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/graph.pb.h"

namespace edgekiln::compiler {

// The float network that the integers of a quantized one stand for.
struct FloatForm {
  Graph graph;
  // The real values that the integers of each activation can hold, as if they
  // were all that calibration saw. Absent if some activation was float already
  // and its range does not follow from those of others.
  std::optional<v1::CalibrationStatistics> ranges;
};

// The float form of a simplified quantized graph: weights and biases become the
// real values that they stand for, activations FLOAT32, graph inputs and
// outputs included. Conversions between integers go, and so does rounding:
//
//   %x : int8[1,4] scale 0.5 zero -128 = input
//   %w : int8[2,4] scale 0.25 zero 0 = constant [..]
//   %y : int8[1,2] scale 1 zero -128 = fully_connected(%x, %w)
// becomes
//   %x : float32[1,4] = input
//   %w : float32[2,4] = constant [..]
//   %y : float32[1,2] = fully_connected(%x, %w) {clamp {min 0}}
//
// Where the integer that stands for 0 is the least one, saturation is a ReLU,
// which the float op then says. Other saturation is lost: it is a matter of
// ranges. Ops keep their ids, tensors their names; the result is simplified.
//
// UNIMPLEMENTED, naming the op, if one has no float form: converters, and cells
// whose integers have scales inside.
absl::StatusOr<FloatForm> Unquantize(const Graph& quantized);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_UNQUANTIZE_H_
