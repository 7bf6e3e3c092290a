#ifndef EK_COMPILER_CODEGEN_C_WEIGHT_ORDER_H_
#define EK_COMPILER_CODEGEN_C_WEIGHT_ORDER_H_

#include <cstdint>
#include <vector>

#include "compiler/codegen/c/step_writer.h"
#include "edgekiln/v1/kernel_library.pb.h"

namespace edgekiln::compiler {

// The constant weights of a convolution or fully connected layer, whose
// elements are bytes, in the order that a kernel reads.
std::vector<int8_t> WeightsInOrder(const StepWriter& w, v1::CWeightOrder order);
// The same, of indices of weights; -1 is a 0.
std::vector<int8_t> WeightsInOrder(const StepWriter& w,
                                   const std::vector<int32_t>& order);

// Of each output channel of such a layer, whatever its weights: their sum, if
// they are constant bytes, and its bias, if that is constant; else empty.
std::vector<int64_t> WeightSums(const StepWriter& w);
std::vector<int64_t> Biases(const StepWriter& w);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_WEIGHT_ORDER_H_
