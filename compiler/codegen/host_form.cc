#include "compiler/codegen/host_form.h"

namespace edgekiln::compiler {

void KeepOneScale(Tensor& tensor) {
  if (!tensor.quantization) return;
  tensor.quantization->scale.resize(1);
  tensor.quantization->zero_point.resize(1);
}

}  // namespace edgekiln::compiler
