#include "compiler/codegen/c/cell_writer.h"

#include "absl/strings/str_cat.h"
#include "compiler/codegen/c/emit_common.h"
#include "compiler/codegen/c/unary_expression.h"

namespace edgekiln::compiler {

std::string ActivationOf(StepWriter& w, const v1::CellActivation& activation,
                         bool present, v1::Unary::Function absent,
                         const std::string& x) {
  v1::Unary unary = activation.function();
  if (!present || (!activation.relu() && !activation.identity() &&
                   unary.function() == v1::Unary::FUNCTION_UNSPECIFIED)) {
    unary.set_function(absent);
  }
  if (activation.identity()) return x;
  if (activation.relu()) return absl::StrCat(x, " > 0 ? ", x, " : 0");
  return UnaryExpression(w, unary, x);
}

void EmitBounded(StepWriter& w, v1::ElementType type, const std::string& value,
                 float bound) {
  if (!(bound > 0)) return;
  const std::string limit = CReal(type, double{bound});
  w.code().Line("if (", value, " < -", limit, ") ", value, " = -", limit, ";");
  w.code().Line("if (", value, " > ", limit, ") ", value, " = ", limit, ";");
}

void EmitCopy(CodeWriter& code, const std::string& from, const std::string& to,
              int64_t count) {
  code.OpenLoop("e", count);
  code.Line(to, "[e] = ", from, "[e];");
  code.Close();
}

void OpenSteps(StepWriter& w, int64_t steps, int64_t batch, bool reverse,
               size_t lengths) {
  CodeWriter& code = w.code();
  code.OpenLoop("step", steps);
  code.Line("const int32_t t = ",
            reverse ? absl::StrCat(steps - 1, " - step") : std::string("step"),
            ";");
  code.OpenLoop("n", batch);
  if (w.Has(lengths)) code.Line("if (t >= ", w.X(lengths), "[n]) continue;");
}

}  // namespace edgekiln::compiler
