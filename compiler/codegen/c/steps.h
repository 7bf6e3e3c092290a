#ifndef EK_COMPILER_CODEGEN_C_STEPS_H_
#define EK_COMPILER_CODEGEN_C_STEPS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"

// Ops as the steps that C computes them in. Most ops are one step. Those that
// ops/ computes by way of other types are several, with tensors between them:
//
//   half floats     Cast to FLOAT32, the op, Cast back
//   HALF_EVEN       Dequantize, the op on floats, Quantize to even
//   a converter     the sums as INT32, then the converter (Requantize)
namespace edgekiln::compiler {

struct CStep {
  v1::OpAttributes attributes;
  std::vector<TensorId> inputs;  // kNoTensor: absent.
  std::vector<TensorId> outputs;
};

// The steps of `op`; tensors between them are added to `graph`.
std::vector<CStep> StepsOf(const Op& op, Graph& graph);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_STEPS_H_
