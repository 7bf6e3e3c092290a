#include "compiler/codegen/c/emit_common.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_join.h"
#include "ops/broadcast.h"

namespace edgekiln::compiler {
namespace {

constexpr size_t kMostOperands = 3;
constexpr const char* kOperands[kMostOperands] = {"a", "b", "c"};

// Loops over the output, joined where all operands allow it; outermost first.
struct BroadcastLoops {
  std::vector<int64_t> extents;
  std::array<std::vector<int64_t>, kMostOperands> steps;
};

BroadcastLoops LoopsOf(StepWriter& w, size_t count) {
  // Operands beyond `count` walk along with the output.
  std::array<absl::Span<const int64_t>, kMostOperands> shapes;
  const Tensor& out = w.Out(0);
  for (size_t i = 0; i < kMostOperands; ++i) {
    shapes[i] = i < count ? w.In(i).shape : out.shape;
  }
  const auto joined = ops::JoinLoops<kMostOperands>(shapes, out.shape);
  BroadcastLoops loops;
  for (size_t l = joined.size(); l-- > 0;) {
    loops.extents.push_back(joined[l].extent);
    for (size_t i = 0; i < kMostOperands; ++i) {
      loops.steps[i].push_back(joined[l].step[i]);
    }
  }
  return loops;
}

std::vector<int64_t> RowMajor(const std::vector<int64_t>& extents) {
  std::vector<int64_t> steps(extents.size(), 1);
  for (size_t i = extents.size(); i-- > 1;) {
    steps[i - 1] = steps[i] * extents[i];
  }
  return steps;
}

}  // namespace

bool IsFloat(v1::ElementType type) {
  return type == v1::FLOAT32 || type == v1::FLOAT64;
}

std::string CReal(v1::ElementType type, double value) {
  return type == v1::FLOAT64 ? CDouble(value)
                             : CFloat(static_cast<float>(value));
}

std::string FinishName(v1::Rounding rounding) {
  return rounding == v1::HALF_EVEN ? "finish_even"
         : rounding == v1::FLOOR   ? "finish_floor"
                                   : "finish_up";
}

std::string FinishCall(StepWriter& w, const std::string& value,
                       const ops::FixedPointMultiplier& factor, int64_t zero,
                       const ops::QuantizedRange& range) {
  return absl::StrCat(w.Use(FinishName(factor.rounding)), "(", value, ", ",
                      factor.multiplier, ", ", 31 - factor.shift, ", ", zero,
                      ", ", CInteger(range.min), ", ", CInteger(range.max),
                      ")");
}

std::string RescaleCall(StepWriter& w, const std::string& value,
                        const ops::FixedPointMultiplier& factor) {
  const std::string round = factor.rounding == v1::HALF_EVEN ? "round_even"
                            : factor.rounding == v1::FLOOR   ? "round_floor"
                                                             : "round_up";
  return absl::StrCat("(int32_t)", w.Use(round), "((int64_t)(", value, ") * ",
                      factor.multiplier, ", ", 31 - factor.shift, ")");
}

void EmitRealClamp(StepWriter& w, v1::ElementType type, const v1::Clamp& clamp,
                   const std::string& value) {
  if (clamp.has_min()) {
    const std::string bound = CReal(type, double{clamp.min()});
    w.code().Line("if (", value, " < ", bound, ") ", value, " = ", bound, ";");
  }
  if (clamp.has_max()) {
    const std::string bound = CReal(type, double{clamp.max()});
    w.code().Line("if (", value, " > ", bound, ") ", value, " = ", bound, ";");
  }
}

void EmitElementwise(
    StepWriter& w, size_t count,
    const std::function<std::string(const OperandNames&)>& expression) {
  const BroadcastLoops loops = LoopsOf(w, count);
  CodeWriter& code = w.code();
  const int opened = OpenLoops(code, loops.extents);
  OperandNames names;
  for (size_t i = 0; i < count; ++i) {
    names.push_back(kOperands[i]);
    code.Line("const ", CTypeOf(w.In(i).type), " ", kOperands[i], " = ", w.X(i),
              "[", IndexOf(loops.extents, loops.steps[i]), "];");
    const bool whole = w.In(i).num_elements() == w.Out(0).num_elements();
    const bool alike = CTypeOf(w.In(i).type) == CTypeOf(w.Out(0).type);
    if (whole && alike) w.MayOverwrite(i);
  }
  const std::string value = expression(names);
  // An expression need not use all operands.
  for (size_t i = 1; i < count; ++i) code.Line("(void)", kOperands[i], ";");
  code.Line(w.Y(0), "[", IndexOf(loops.extents, RowMajor(loops.extents)),
            "] = (", CTypeOf(w.Out(0).type), ")(", value, ");");
  CloseLoops(code, opened);
}

int OpenLoops(CodeWriter& code, const std::vector<int64_t>& extents,
              const std::string& name) {
  int opened = 0;
  for (size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] == 1) continue;
    code.OpenLoop(absl::StrCat(name, i), extents[i]);
    ++opened;
  }
  if (opened == 0) {
    code.OpenBlock();
    ++opened;
  }
  return opened;
}

void CloseLoops(CodeWriter& code, int count) {
  for (int i = 0; i < count; ++i) code.Close();
}

std::string IndexOf(const std::vector<int64_t>& extents,
                    const std::vector<int64_t>& steps,
                    const std::string& name) {
  std::vector<std::string> terms;
  for (size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] == 1 || steps[i] == 0) continue;
    terms.push_back(steps[i] == 1 ? absl::StrCat(name, i)
                                  : absl::StrCat(name, i, " * ", steps[i]));
  }
  return terms.empty() ? "0" : absl::StrJoin(terms, " + ");
}

ops::WindowGeometry DotGeometry(const StepWriter& w) {
  const auto weights = absl::MakeConstSpan(w.In(1).shape);
  if (w.op().has_fully_connected()) {
    ops::WindowGeometry g;
    g.in_c = weights[1];
    g.out_c = weights[0];
    g.batch = w.Out(0).num_elements() / g.out_c;
    return g;
  }
  return ops::GeometryOf(w.op().has_conv2d()
                             ? w.op().conv2d().window()
                             : w.op().depthwise_conv2d().window(),
                         w.In(0).shape, weights.subspan(1, 2), w.Out(0).shape);
}

int64_t Product(absl::Span<const int64_t> values) {
  int64_t product = 1;
  for (const int64_t value : values) product *= value;
  return product;
}

}  // namespace edgekiln::compiler
