#include "compiler/codegen/c/quantized_binary.h"

#include <algorithm>
#include <string>

#include "base/status_macros.h"
#include "compiler/codegen/c/emit_common.h"
#include "ops/quantized_parameters.h"
#include "ops/requantize.h"

namespace edgekiln::compiler {
namespace {

using B = v1::Binary;
using ops::QuantizationView;
using ops::QuantizeMultiplier;

std::string Less(const std::string& value, int32_t zero) {
  return zero == 0 ? value : absl::StrCat("(", value, " - (", zero, "))");
}

absl::Status EmitAdd(StepWriter& w, const v1::Clamp& clamp, const char* sign) {
  EK_ASSIGN_OR_RETURN(
      const ops::QuantizedAddParameters p,
      ops::AddParameters(clamp, w.op().rounding(), w.InQuantization(0),
                         w.InQuantization(1), w.OutQuantization(0),
                         w.Out(0).type));
  EmitElementwise(w, 2, [&](const OperandNames& x) {
    const auto scaled = [&](int i) {
      return RescaleCall(
          w,
          absl::StrCat(Less(x[static_cast<size_t>(i)], p.zero_point[i]), " * ",
                       1 << p.left_shift),
          p.multiplier[i]);
    };
    w.code().Line("const int32_t p = ", scaled(0), ";");
    w.code().Line("const int32_t q = ", scaled(1), ";");
    return FinishCall(w, absl::StrCat("p ", sign, " q"), p.output_multiplier,
                      p.output_zero_point, p.clamp);
  });
  return absl::OkStatus();
}

absl::Status EmitMul(StepWriter& w) {
  EK_ASSIGN_OR_RETURN(
      const ops::QuantizedMulParameters p,
      ops::MulParameters(w.op().mul().clamp(), w.op().rounding(),
                         w.InQuantization(0), w.InQuantization(1),
                         w.OutQuantization(0), w.Out(0).type));
  EmitElementwise(w, 2, [&](const OperandNames& x) {
    return FinishCall(w,
                      absl::StrCat(Less(x[0], p.zero_point[0]), " * ",
                                   Less(x[1], p.zero_point[1])),
                      p.multiplier, p.output_zero_point, p.clamp);
  });
  return absl::OkStatus();
}

void EmitDivide(StepWriter& w) {
  const QuantizationView a = w.InQuantization(0);
  const QuantizationView b = w.InQuantization(1);
  const QuantizationView y = w.OutQuantization(0);
  const float real = a.scale[0] / (b.scale[0] * y.scale[0]);
  const ops::FixedPointMultiplier factor = QuantizeMultiplier(double{real});
  const ops::QuantizedRange range =
      ops::ClampRange(w.op().binary().clamp(), v1::HALF_UP, y, w.Out(0).type);
  const std::string tail = absl::StrCat(
      y.zero_point[0], ", ", CInteger(range.min), ", ", CInteger(range.max));
  EmitElementwise(w, 2, [&](const OperandNames& x) {
    CodeWriter& code = w.code();
    code.Line("int32_t over = ", Less(x[0], a.zero_point[0]), ";");
    code.Line("int32_t under = ", Less(x[1], b.zero_point[0]), ";");
    code.Line("int32_t value = ", w.Use("finish_up"), "(0, 0, 31, ", tail,
              ");");
    code.Open("if (under < 0)");
    code.Line("over = -over;");
    code.Line("under = -under;");
    code.Close();
    code.Open("if (over != 0 && under == 0)");
    code.Line("value = over < 0 ? ", CInteger(range.min), " : ",
              CInteger(range.max), ";");
    code.Close();
    code.Open("if (over != 0 && under != 0)");
    code.Line("int32_t m, shift, bits, last_m = ", factor.multiplier, ";");
    code.Line("int32_t last_shift;");
    code.Line(w.Use("reciprocal"), "(under, &m, &shift);");
    code.Line("bits = ", w.Use("clz"),
              "((uint32_t)(over < 0 ? ~over : over)) - 1;");
    code.Line("if (bits > 30) bits = 30;");
    code.Line("last_shift = ", factor.shift, " + shift - bits;");
    code.Open("if (last_shift < -31)");
    code.Line("last_m = 0;");
    code.Line("last_shift = 0;");
    code.Close();
    code.Line("value = ", w.Use("finish_up"), "((int32_t)", w.Use("round_up"),
              "((int64_t)over * m, 31 - bits), last_m, 31 - last_shift, ", tail,
              ");");
    code.Close();
    return std::string("value");
  });
}

absl::Status EmitExtreme(StepWriter& w, const char* compare) {
  ops::RescaleParameters p[2];
  for (size_t i = 0; i < 2; ++i) {
    EK_ASSIGN_OR_RETURN(
        p[i], ops::ChangeOfScale({}, v1::HALF_UP, w.InQuantization(i),
                                 w.OutQuantization(0), w.Out(0).type));
  }
  EmitElementwise(w, 2, [&](const OperandNames& x) {
    for (size_t i = 0; i < 2; ++i) {
      const std::string value =
          p[i].identity
              ? x[i]
              : FinishCall(w, Less(x[i], p[i].input_zero_point),
                           p[i].multiplier, p[i].output_zero_point, p[i].clamp);
      w.code().Line("const int32_t v", i, " = ", value, ";");
    }
    return absl::StrCat("v1 ", compare, " v0 ? v1 : v0");
  });
  return absl::OkStatus();
}

void EmitSquaredDifference(StepWriter& w) {
  const QuantizationView a = w.InQuantization(0);
  const QuantizationView b = w.InQuantization(1);
  const QuantizationView y = w.OutQuantization(0);
  const double unit = 2.0 * std::max(double{a.scale[0]}, double{b.scale[0]});
  const int more = ElementBytes(w.Out(0).type) == 1 ? 7 : 0;
  const ops::FixedPointMultiplier factor =
      QuantizeMultiplier(unit * unit / ((1 << 2 * more) * double{y.scale[0]}));
  EmitElementwise(w, 2, [&](const OperandNames& x) {
    const auto scaled = [&](size_t i, const QuantizationView& q) {
      return RescaleCall(
          w, absl::StrCat(Less(x[i], q.zero_point[0]), " * ", 1 << more),
          QuantizeMultiplier(double{q.scale[0]} / unit));
    };
    w.code().Line("const int32_t p = ", scaled(0, a), ";");
    w.code().Line("const int32_t q = ", scaled(1, b), ";");
    return FinishCall(w, "(p - q) * (p - q)", factor, y.zero_point[0],
                      ops::RangeOf(w.Out(0).type));
  });
}

void EmitPrelu(StepWriter& w) {
  const QuantizationView x = w.InQuantization(0);
  const QuantizationView slope = w.InQuantization(1);
  const QuantizationView y = w.OutQuantization(0);
  const float above = x.scale[0] / y.scale[0];
  const float below = x.scale[0] * slope.scale[0] / y.scale[0];
  const ops::QuantizedRange range = ops::RangeOf(w.Out(0).type);
  EmitElementwise(w, 2, [&](const OperandNames& v) {
    w.code().Line("const int32_t v = ", Less(v[0], x.zero_point[0]), ";");
    return absl::StrCat(
        "v >= 0 ? ",
        FinishCall(w, "v", QuantizeMultiplier(double{above}), y.zero_point[0],
                   range),
        " : ",
        FinishCall(w, absl::StrCat("v * ", Less(v[1], slope.zero_point[0])),
                   QuantizeMultiplier(double{below}), y.zero_point[0], range));
  });
}

const char* OperatorOf(B::Function function) {
  switch (function) {
    case B::EQUAL:
      return "==";
    case B::NOT_EQUAL:
      return "!=";
    case B::GREATER:
      return ">";
    case B::GREATER_OR_EQUAL:
      return ">=";
    case B::LESS:
      return "<";
    case B::LESS_OR_EQUAL:
      return "<=";
    default:
      return nullptr;
  }
}

void EmitComparison(StepWriter& w, const char* compare) {
  EmitElementwise(w, 2, [&](const OperandNames& x) {
    for (size_t i = 0; i < 2; ++i) {
      const QuantizationView q = w.InQuantization(i);
      const std::string value = Less(x[i], q.zero_point[0]);
      if (ElementBytes(w.In(i).type) == 1) {
        const ops::FixedPointMultiplier f =
            QuantizeMultiplier(double{q.scale[0]});
        w.code().Line("const int64_t v", i, " = ", w.Use("round_up"),
                      "((int64_t)", value, " * 256 * ", f.multiplier, ", ",
                      31 - f.shift, ");");
      } else {
        w.code().Line("const double v", i, " = ", CDouble(double{q.scale[0]}),
                      " * (double)", value, ";");
      }
    }
    return absl::StrCat("v0 ", compare, " v1");
  });
}

}  // namespace

absl::Status EmitQuantizedBinary(StepWriter& w) {
  if (w.op().has_add()) return EmitAdd(w, w.op().add().clamp(), "+");
  if (w.op().has_mul()) return EmitMul(w);
  const B& op = w.op().binary();
  switch (op.function()) {
    case B::SUB:
      return EmitAdd(w, op.clamp(), "-");
    case B::DIV:
      EmitDivide(w);
      return absl::OkStatus();
    case B::MINIMUM:
      return EmitExtreme(w, "<");
    case B::MAXIMUM:
      return EmitExtreme(w, ">");
    case B::SQUARED_DIFFERENCE:
      EmitSquaredDifference(w);
      return absl::OkStatus();
    case B::PRELU:
      EmitPrelu(w);
      return absl::OkStatus();
    default:
      break;
  }
  const char* compare = OperatorOf(op.function());
  if (compare == nullptr) return w.Unsupported("function of quantized values");
  EmitComparison(w, compare);
  return absl::OkStatus();
}

}  // namespace edgekiln::compiler
