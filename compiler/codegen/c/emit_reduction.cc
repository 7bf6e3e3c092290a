#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "compiler/codegen/c/emit_common.h"
#include "compiler/codegen/c/emitters.h"
#include "ops/quantized_parameters.h"
#include "ops/reduce_over.h"
#include "ops/strided_copy.h"

namespace edgekiln::compiler {
namespace {

using R = v1::Reduce;

bool IsSigned(v1::ElementType type) {
  return type == v1::INT8 || type == v1::INT16 || type == v1::INT32 ||
         type == v1::INT64;
}

// What a reduction is made of, as C.
struct Folding {
  std::string type;    // Of the accumulator.
  std::string start;   // Its first value.
  std::string step;    // Statement over `acc` and the element `v`.
  std::string result;  // Expression over `acc`.
};

// Loops over kept axes, within them those over reduced ones, in the order of
// the input.
template <typename Axes>
void EmitFolding(StepWriter& w, const Axes& axes, const Folding& folding) {
  const std::vector<int64_t>& shape = w.In(0).shape;
  std::vector<int64_t> kept = shape;
  std::vector<int64_t> reduced(shape.size(), 1);
  for (const int32_t axis : axes) {
    kept[axis] = 1;
    reduced[axis] = shape[axis];
  }
  const std::vector<int64_t> steps = ops::RowMajorSteps(shape);
  const std::vector<int64_t> out = ops::RowMajorSteps(kept);
  CodeWriter& code = w.code();
  const int outer = OpenLoops(code, kept, "i");
  code.Line(folding.type, " acc = ", folding.start, ";");
  if (w.In(0).num_elements() > 0) {
    const int inner = OpenLoops(code, reduced, "k");
    code.Line("const ", CTypeOf(w.In(0).type), " v = ", w.X(0), "[",
              IndexOf(kept, steps, "i"), " + ", IndexOf(reduced, steps, "k"),
              "];");
    code.Line(folding.step);
    CloseLoops(code, inner);
  }
  code.Line(w.Y(0), "[", IndexOf(kept, out, "i"), "] = (",
            CTypeOf(w.Out(0).type), ")(", folding.result, ");");
  CloseLoops(code, outer);
}

// A change of scale that also divides: DividedBy() of ops/mean.cc.
ops::FixedPointMultiplier DividedBy(ops::FixedPointMultiplier factor,
                                    int64_t count) {
  const int log2 = std::bit_width(static_cast<uint64_t>(count)) - 1;
  const int left = std::min(log2, 31 + factor.shift);
  const int64_t widened = int64_t{factor.multiplier} << left;
  return {static_cast<int32_t>(widened / count), factor.shift - left,
          factor.rounding};
}

absl::Status EmitQuantizedSum(StepWriter& w, bool mean) {
  EK_ASSIGN_OR_RETURN(const ops::RescaleParameters p,
                      ops::ChangeOfScale({}, v1::HALF_UP, w.InQuantization(0),
                                         w.OutQuantization(0), w.Out(0).type));
  const auto emit = [&](const auto& axes) {
    const int64_t count = ops::ReducedCount(axes, w.In(0).shape);
    const ops::FixedPointMultiplier factor =
        mean ? DividedBy(p.multiplier, count) : p.multiplier;
    EmitFolding(
        w, axes,
        {"int32_t", "0", "acc += v;",
         FinishCall(w, absl::StrCat("acc - (", count * p.input_zero_point, ")"),
                    factor, p.output_zero_point, p.clamp)});
  };
  if (mean) {
    if (ops::ReducedCount(w.op().reduce_mean().axes(), w.In(0).shape) == 0) {
      return w.Unsupported("mean of nothing");
    }
    emit(w.op().reduce_mean().axes());
  } else {
    emit(w.op().reduce().axes());
  }
  return absl::OkStatus();
}

absl::Status EmitPlainMean(StepWriter& w) {
  const auto& axes = w.op().reduce_mean().axes();
  const v1::ElementType type = w.In(0).type;
  const int64_t count = ops::ReducedCount(axes, w.In(0).shape);
  if (IsFloat(type)) {
    EmitFolding(w, axes,
                {"double", "0", "acc += (double)v;",
                 absl::StrCat("acc / ", CDouble(static_cast<double>(count)))});
    return absl::OkStatus();
  }
  if (count == 0) return w.Unsupported("mean of no integers");
  const std::string result = IsSigned(type)
                                 ? absl::StrCat("(int64_t)acc / ", count)
                                 : absl::StrCat("acc / ", count, "u");
  EmitFolding(w, axes, {"uint64_t", "0", "acc += (uint64_t)v;", result});
  return absl::OkStatus();
}

std::string Bound(StepWriter& w, v1::ElementType type, bool lowest) {
  const std::string sign = lowest ? "-" : "";
  if (IsFloat(type)) {
    return absl::StrCat("(", CTypeOf(type), ")", sign, w.Use("infinity"), "()");
  }
  switch (type) {
    case v1::INT64:
      return lowest ? "-9223372036854775807 - 1" : "9223372036854775807";
    case v1::UINT64:
      return lowest ? "0" : "18446744073709551615u";
    case v1::UINT32:
      return lowest ? "0" : "4294967295u";
    default:
      return CInteger(lowest ? ops::RangeOf(type).min : ops::RangeOf(type).max);
  }
}

Folding ExtremeOf(StepWriter& w, v1::ElementType type, bool largest) {
  const std::string compare = largest ? ">" : "<";
  const std::string nan = IsFloat(type) ? " || v != v" : "";
  return {std::string(CTypeOf(type)), Bound(w, type, largest),
          absl::StrCat("if (v ", compare, " acc", nan, ") acc = v;"), "acc"};
}

Folding PlainFolding(StepWriter& w, R::Function function,
                     v1::ElementType type) {
  const bool real = IsFloat(type);
  // Integers wrap around: the low bits do not depend on the sign.
  const std::string acc = real ? "double" : "uint64_t";
  const std::string cast = absl::StrCat("(", acc, ")");
  switch (function) {
    case R::SUM:
      return {acc, "0", absl::StrCat("acc += ", cast, "v;"), "acc"};
    case R::PRODUCT:
      return {acc, "1", absl::StrCat("acc *= ", cast, "v;"), "acc"};
    case R::L1:
      if (real) {
        return {acc, "0",
                absl::StrCat("acc += ", w.Use("fabs"), "((double)v);"), "acc"};
      }
      return {acc, "0",
              IsSigned(type) ? "acc += v < 0 ? 0 - (uint64_t)v : (uint64_t)v;"
                             : "acc += v;",
              "acc"};
    case R::L2:
      return {"double", "0", "acc += (double)v * (double)v;",
              absl::StrCat(w.Use("sqrt"), "(acc)")};
    case R::MAX:
      return ExtremeOf(w, type, true);
    default:
      return ExtremeOf(w, type, false);
  }
}

}  // namespace

absl::Status EmitReduction(StepWriter& w) {
  const v1::ElementType type = w.In(0).type;
  const bool quantized = w.Out(0).quantization.has_value();
  if (w.op().has_reduce_mean()) {
    return quantized ? EmitQuantizedSum(w, true) : EmitPlainMean(w);
  }
  const R& op = w.op().reduce();
  if (type == v1::BOOL) {
    const bool any = op.function() == R::ANY || op.function() == R::MAX;
    EmitFolding(w, op.axes(),
                {"uint8_t", any ? "0" : "1",
                 any ? "acc = (uint8_t)(acc | (v != 0));"
                     : "acc = (uint8_t)(acc & (v != 0));",
                 "acc"});
    return absl::OkStatus();
  }
  if (quantized && op.function() == R::SUM) return EmitQuantizedSum(w, false);
  Folding folding = PlainFolding(w, op.function(), type);
  if (op.function() == R::L2 && !IsFloat(type)) {
    folding.step = "acc += (double)v * (double)v;";
    // The root, limited to the type, in a variable of its own.
    folding.result = w.With(absl::StrCat("$sqrt(acc)"));
    const std::string root = folding.result;
    folding.result = SaturatingCast(type, root);
  }
  EmitFolding(w, op.axes(), folding);
  return absl::OkStatus();
}

}  // namespace edgekiln::compiler
