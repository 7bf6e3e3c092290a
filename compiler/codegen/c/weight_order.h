#ifndef EK_COMPILER_CODEGEN_C_WEIGHT_ORDER_H_
#define EK_COMPILER_CODEGEN_C_WEIGHT_ORDER_H_

#include <vector>

#include "compiler/codegen/c/step_writer.h"
#include "edgekiln/v1/kernel_library.pb.h"

namespace edgekiln::compiler {

// The constant weights of a convolution or fully connected layer, whose
// elements are bytes, in the order that a kernel reads.
std::vector<int8_t> WeightsInOrder(const StepWriter& w, v1::CWeightOrder order);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_WEIGHT_ORDER_H_
