#include <cstring>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "compiler/codegen/c/emit_common.h"
#include "compiler/codegen/c/emitters.h"
#include "compiler/codegen/c/unary_expression.h"
#include "ops/approximated_unary.h"
#include "ops/evaluate.h"
#include "ops/quantized_parameters.h"

namespace edgekiln::compiler {
namespace {

using U = v1::Unary;

// What the op makes of each of `count` values from `lowest` on, in the order of
// their bits: computed by the op itself.
template <typename T>
absl::StatusOr<std::vector<T>> TableOf(StepWriter& w, int64_t count) {
  std::vector<T> x(static_cast<size_t>(count));
  std::vector<T> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i);
  const int64_t shape[] = {count};
  const ops::TensorView in{w.In(0).type, shape, x.data(), w.InQuantization(0)};
  const ops::MutableTensorView out{w.Out(0).type, shape, y.data(),
                                   w.OutQuantization(0)};
  EK_RETURN_IF_ERROR(ops::Evaluate(w.op(), {&in, 1}, {&out, 1}));
  return y;
}

absl::Status EmitByTable(StepWriter& w) {
  std::string table;
  const bool wide = ElementBytes(w.In(0).type) == 2;
  if (wide) {
    EK_ASSIGN_OR_RETURN(const std::vector<int16_t> values,
                        TableOf<int16_t>(w, 65536));
    table = w.Array(v1::INT16, values);
  } else {
    EK_ASSIGN_OR_RETURN(const std::vector<uint8_t> values,
                        TableOf<uint8_t>(w, 256));
    table = w.Array(w.Out(0).type, values);
  }
  EmitElementwise(w, 1, [&](const OperandNames& x) {
    return absl::StrCat(table, "[(", wide ? "uint16_t)" : "uint8_t)", x[0],
                        "]");
  });
  return absl::OkStatus();
}

// int16 whose results are those of the real function, rounded.
void EmitReal16(StepWriter& w) {
  const ops::QuantizationView in = w.InQuantization(0);
  const ops::QuantizationView out = w.OutQuantization(0);
  const ops::QuantizedRange range = ops::RangeOf(w.Out(0).type);
  const bool even = w.op().rounding() == v1::HALF_EVEN;
  EmitElementwise(w, 1, [&](const OperandNames& a) {
    CodeWriter& code = w.code();
    const std::string steps =
        absl::StrCat(CDouble(double{in.scale[0]}), " * (double)(", a[0], " - (",
                     in.zero_point[0], "))");
    std::string ratio;
    if (even) {
      code.Line("const double x = (double)(float)(", steps, ");");
      code.Line("const float real = (float)(",
                UnaryExpression(w, w.op().unary(), "x"), ");");
      code.Line("const float ratio = real / ", CFloat(out.scale[0]), ";");
    } else {
      code.Line("const double x = ", steps, ";");
      code.Line("const double real = ", UnaryExpression(w, w.op().unary(), "x"),
                ";");
      code.Line("const double ratio = real / ", CDouble(double{out.scale[0]}),
                ";");
    }
    return absl::StrCat(w.Use("limited"), "(",
                        w.Use(even ? "nearbyint" : "round"),
                        "((double)ratio) + ", out.zero_point[0], ", ",
                        CInteger(range.min), ", ", CInteger(range.max), ")");
  });
}

// LEAKY_RELU, ABS and NEG of int16 (docs/numerics.md, 3.12).
void EmitTwoSlopes16(StepWriter& w, float below, float above) {
  const ops::QuantizationView in = w.InQuantization(0);
  const ops::QuantizationView out = w.OutQuantization(0);
  const ops::QuantizedRange range = ops::RangeOf(w.Out(0).type);
  const auto side = [&](float slope) {
    const float magnitude = slope < 0 ? -slope : slope;
    const float real = in.scale[0] * magnitude / out.scale[0];
    return FinishCall(w, slope < 0 ? "-v" : "v",
                      ops::QuantizeMultiplier(double{real}), out.zero_point[0],
                      range);
  };
  EmitElementwise(w, 1, [&](const OperandNames& a) {
    w.code().Line("const int32_t v = ", a[0], " - (", in.zero_point[0], ");");
    return absl::StrCat("v < 0 ? ", side(below), " : ", side(above));
  });
}

absl::Status EmitQuantized16(StepWriter& w) {
  const U& op = w.op().unary();
  if (w.op().rounding() == v1::HALF_EVEN) {
    EmitReal16(w);
    return absl::OkStatus();
  }
  const ops::MutableTensorView out{w.Out(0).type, w.Out(0).shape, nullptr,
                                   w.OutQuantization(0)};
  if (ops::ApproximatedUnary(op, w.InView(0), out)) return EmitByTable(w);
  switch (op.function()) {
    case U::LEAKY_RELU:
      EmitTwoSlopes16(w, op.alpha(), 1);
      break;
    case U::ABS:
      EmitTwoSlopes16(w, -1, 1);
      break;
    case U::NEG:
      EmitTwoSlopes16(w, -1, -1);
      break;
    default:
      EmitReal16(w);
  }
  return absl::OkStatus();
}

void EmitFloat(StepWriter& w) {
  EmitElementwise(w, 1, [&](const OperandNames& a) {
    w.code().Line("const double x = (double)", a[0], ";");
    return UnaryExpression(w, w.op().unary(), "x");
  });
}

void EmitInteger(StepWriter& w) {
  const int64_t bytes = ElementBytes(w.Out(0).type);
  const std::string wide = bytes == 8 ? "(uint64_t)" : "(uint32_t)";
  const v1::ElementType type = w.Out(0).type;
  const bool is_signed = type == v1::INT8 || type == v1::INT16 ||
                         type == v1::INT32 || type == v1::INT64;
  EmitElementwise(w, 1, [&](const OperandNames& x) -> std::string {
    const std::string a = x[0];
    const std::string negated = absl::StrCat("(0 - ", wide, a, ")");
    switch (w.op().unary().function()) {
      case U::ABS:
        return is_signed ? absl::StrCat(a, " < 0 ? (", CTypeOf(type), ")",
                                        negated, " : ", a)
                         : a;
      case U::NEG:
        return negated;
      case U::SQUARE:
        return absl::StrCat(wide, a, " * ", wide, a);
      case U::BITWISE_NOT:
        return absl::StrCat("~", a);
      default:
        return is_signed ? absl::StrCat(a, " > 0 ? 1 : ", a, " < 0 ? -1 : 0")
                         : absl::StrCat(a, " > 0 ? 1 : 0");
    }
  });
}

void EmitClassification(StepWriter& w) {
  const U& op = w.op().unary();
  EmitElementwise(w, 1, [&](const OperandNames& a) -> std::string {
    w.code().Line("const double x = (double)", a[0], ";");
    if (op.function() == U::IS_NAN) return "x != x";
    return absl::StrCat(w.Use("isinf"), "(x) && (x > 0 ? ",
                        op.alpha() != 0 ? 1 : 0, " : ", op.beta() != 0 ? 1 : 0,
                        ")");
  });
}

}  // namespace

absl::Status EmitUnary(StepWriter& w) {
  const U& op = w.op().unary();
  if (w.Out(0).quantization.has_value()) {
    return ElementBytes(w.Out(0).type) == 1 ? EmitByTable(w)
                                            : EmitQuantized16(w);
  }
  if (op.function() == U::IS_NAN || op.function() == U::IS_INF) {
    EmitClassification(w);
  } else if (op.function() == U::NOT) {
    EmitElementwise(w, 1, [](const OperandNames& a) {
      return absl::StrCat(a[0], " == 0");
    });
  } else if (IsFloat(w.Out(0).type)) {
    EmitFloat(w);
  } else {
    EmitInteger(w);
  }
  return absl::OkStatus();
}

absl::Status EmitClip(StepWriter& w) {
  const v1::Clamp& clamp = w.op().clip().clamp();
  if (w.Out(0).quantization.has_value()) {
    EK_ASSIGN_OR_RETURN(
        const ops::RescaleParameters p,
        ops::ChangeOfScale(clamp, w.op().rounding(), w.InQuantization(0),
                           w.OutQuantization(0), w.Out(0).type));
    EmitElementwise(w, 1, [&](const OperandNames& x) {
      if (p.identity) {
        return absl::StrCat(w.Use("clamp"), "(", x[0], ", ",
                            CInteger(p.clamp.min), ", ", CInteger(p.clamp.max),
                            ")");
      }
      return FinishCall(w, absl::StrCat(x[0], " - (", p.input_zero_point, ")"),
                        p.multiplier, p.output_zero_point, p.clamp);
    });
    return absl::OkStatus();
  }
  EmitElementwise(w, 1, [&](const OperandNames& x) -> std::string {
    if (!IsFloat(w.Out(0).type)) return x[0];
    w.code().Line(CTypeOf(w.Out(0).type), " v = ", x[0], ";");
    EmitRealClamp(w, w.Out(0).type, clamp, "v");
    return "v";
  });
  return absl::OkStatus();
}

}  // namespace edgekiln::compiler
