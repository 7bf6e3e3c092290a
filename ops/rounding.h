#ifndef EK_OPS_ROUNDING_H_
#define EK_OPS_ROUNDING_H_

#include "absl/status/status.h"
#include "edgekiln/v1/graph.pb.h"
#include "ops/kernels.h"
#include "ops/rules.h"

// How ops round half to even and down, docs/numerics.md sections 2 and 3.19.
//
// Thread-safe: pure functions.
namespace edgekiln::ops {

enum class HalfEvenForm {
  kNone,       // The op has no HALF_EVEN.
  kOwnKernel,  // The op's kernel is told.
  kFloats,     // As the float op between Dequantize and Quantize.
};

HalfEvenForm HalfEvenFormOf(const v1::OpAttributes& op);

// INVALID_ARGUMENT for HALF_EVEN or FLOOR of an op that has none, or of results
// without a scale; for HALF_EVEN of tensors that would be too large as floats;
// and for a rounding that does not exist.
absl::Status CheckRounding(const v1::OpAttributes& op, Views inputs,
                           Views outputs);

// The compute() of kFloats.
absl::Status ComputeThroughFloats(const v1::OpAttributes& op, Inputs inputs,
                                  Outputs outputs, CpuPath path);

}  // namespace edgekiln::ops

#endif  // EK_OPS_ROUNDING_H_
