#ifndef EK_COMPILER_CODEGEN_HOST_FORM_H_
#define EK_COMPILER_CODEGEN_HOST_FORM_H_

#include <vector>

#include "compiler/ir/graph.h"
#include "edgekiln/v1/graph.pb.h"

namespace edgekiln::compiler {

// An op of the host as it is computed on the bytes of its first input and its
// output where these do not lie in the order of their shapes.
struct HostForm {
  v1::OpAttributes attributes;
  std::vector<Tensor> inputs;  // Constants with their values.
  Tensor output;
};

// Of a tensor whose channels have one scale, or one each, all equal.
void KeepOneScale(Tensor& tensor);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_HOST_FORM_H_
