#include "compiler/codegen/c/emitters.h"

namespace edgekiln::compiler {

absl::Status EmitIntegerLstm(StepWriter& w) {
  return w.Unsupported("integer LSTM");
}

}  // namespace edgekiln::compiler
