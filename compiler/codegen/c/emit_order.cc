#include <string>

#include "compiler/codegen/c/emit_common.h"
#include "compiler/codegen/c/emitters.h"

namespace edgekiln::compiler {
namespace {

// Lines along an axis: loops o and i, then `count` elements from `first` on
// that are `step` apart.
struct Lines {
  int64_t count, step, outer;

  Lines(absl::Span<const int64_t> shape, int32_t axis)
      : count(shape[axis]),
        step(Product(shape.subspan(axis + 1))),
        outer(Product(shape.first(axis))) {}

  void Open(CodeWriter& code) const {
    code.OpenLoop("o", outer);
    code.OpenLoop("i", step);
    code.Line("const int32_t first = o * ", count * step, " + i;");
  }
};

// NaN counts as larger than every number.
std::string LessThan(v1::ElementType type, const std::string& a,
                     const std::string& b) {
  if (!IsFloat(type)) return absl::StrCat("(", a, " < ", b, ")");
  return absl::StrCat("(", a, " == ", a, " && (", b, " != ", b, " || ", a,
                      " < ", b, "))");
}

void EmitArgReduce(StepWriter& w) {
  const v1::ArgReduce& op = w.op().arg_reduce();
  const Lines lines(w.In(0).shape, op.axis());
  const v1::ElementType type = w.In(0).type;
  const bool largest = op.function() == v1::ArgReduce::MAX;
  CodeWriter& code = w.code();
  lines.Open(code);
  code.Line("int32_t best = 0;");
  code.Line("int32_t k;");
  code.Open("for (k = 1; k < ", lines.count, "; ++k)");
  code.Line("const ", CTypeOf(type), " next = ", w.X(0), "[first + k * ",
            lines.step, "];");
  code.Line("const ", CTypeOf(type), " held = ", w.X(0), "[first + best * ",
            lines.step, "];");
  const std::string better =
      largest ? LessThan(type, "held", "next") : LessThan(type, "next", "held");
  const std::string worse =
      largest ? LessThan(type, "next", "held") : LessThan(type, "held", "next");
  if (op.select_last()) {
    code.Line("if (", better, " || !", worse, ") best = k;");
  } else {
    code.Line("if (", better, ") best = k;");
  }
  code.Close();
  code.Line(w.Y(0), "[o * ", lines.step, " + i] = best;");
  CloseLoops(code, 2);
}

// Picks the best of what is left, k times: the order of ops/order.cc, in which
// equal values go by index.
void EmitTopK(StepWriter& w) {
  const v1::TopK& op = w.op().top_k();
  const Lines lines(w.In(0).shape, op.axis());
  const v1::ElementType type = w.In(0).type;
  const std::string taken = w.Scratch(v1::UINT8, lines.count);
  CodeWriter& code = w.code();
  lines.Open(code);
  code.Line("int32_t k, n;");
  code.Line("for (n = 0; n < ", lines.count, "; ++n) ", taken, "[n] = 0;");
  code.Open("for (k = 0; k < ", op.k(), "; ++k)");
  code.Line("int32_t best = -1;");
  code.Open("for (n = 0; n < ", lines.count, "; ++n)");
  code.Line("if (", taken, "[n] != 0) continue;");
  code.Open("if (best < 0)");
  code.Line("best = n;");
  code.Close(" else {");
  const std::string next =
      absl::StrCat(w.X(0), "[first + n * ", lines.step, "]");
  const std::string held =
      absl::StrCat(w.X(0), "[first + best * ", lines.step, "]");
  code.Line("  const ", CTypeOf(type), " next = ", next, ";");
  code.Line("  const ", CTypeOf(type), " held = ", held, ";");
  code.Line("  if (",
            op.smallest() ? LessThan(type, "next", "held")
                          : LessThan(type, "held", "next"),
            ") best = n;");
  code.Line("}");
  code.Close();
  code.Line(taken, "[best] = 1;");
  const std::string to =
      absl::StrCat("[(o * ", op.k(), " + k) * ", lines.step, " + i]");
  code.Line(w.Y(0), to, " = ", w.X(0), "[first + best * ", lines.step, "];");
  if (w.outputs() > 1) code.Line(w.Y(1), to, " = best;");
  code.Close();
  CloseLoops(code, 2);
}

void EmitCumSum(StepWriter& w) {
  const v1::CumSum& op = w.op().cum_sum();
  const Lines lines(w.In(0).shape, op.axis());
  const v1::ElementType type = w.In(0).type;
  const std::string acc = IsFloat(type) ? "double" : "uint64_t";
  CodeWriter& code = w.code();
  lines.Open(code);
  code.Line(acc, " sum = 0;");
  code.OpenLoop("n", lines.count);
  const std::string n =
      op.reverse() ? absl::StrCat("(", lines.count - 1, " - n)") : "n";
  code.Line("const int32_t at = first + ", n, " * ", lines.step, ";");
  code.Line("const ", acc, " next = sum + (", acc, ")", w.X(0), "[at];");
  code.Line(w.Y(0), "[at] = (", CTypeOf(type), ")",
            op.exclusive() ? "sum" : "next", ";");
  code.Line("sum = next;");
  w.MayOverwrite(0);
  CloseLoops(code, 3);
}

}  // namespace

absl::Status EmitOrder(StepWriter& w) {
  if (w.op().has_arg_reduce()) {
    EmitArgReduce(w);
  } else if (w.op().has_top_k()) {
    EmitTopK(w);
  } else {
    EmitCumSum(w);
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::compiler
