#ifndef EK_COMPILER_PASSES_INTEGER_ROUNDING_H_
#define EK_COMPILER_PASSES_INTEGER_ROUNDING_H_

#include <vector>

#include "compiler/ir/graph.h"
#include "ops/tensor_view.h"

// What becomes of ONNX's rounding, half to even, when an op moves into the
// integers; docs/numerics.md section 7.
namespace edgekiln::compiler {

// HALF_UP where no result can lie in the middle between two steps, so that an
// op has one form only and engines of one rounding run it; else HALF_EVEN.
// ops::CheckOp() has accepted the op; views of constants hold data.
v1::Rounding IntegerRounding(const v1::OpAttributes& op,
                             const std::vector<ops::TensorView>& inputs,
                             const ops::TensorView& output);

// Whether all windows of the pool hold the same number of values.
bool CountsAll(const v1::AveragePool2d& pool);

// Whether a mean of integers in the pool can lie in the middle between two.
bool AverageMayTie(const v1::AveragePool2d& pool);

// An average of integers is exact where that of the floats is: its ties are
// decided by how floats of any scale happen to round.
enum class AverageForm {
  kFloat,     // More than one value in 200 might differ.
  kInteger,   // Of the scale of its input.
  kWeighted,  // A depthwise convolution, which changes the scale.
};
AverageForm AverageFormOf(const v1::AveragePool2d& pool, const Tensor& input,
                          const Tensor& output);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PASSES_INTEGER_ROUNDING_H_
