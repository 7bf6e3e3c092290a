#include <algorithm>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "compiler/codegen/c/emit_common.h"
#include "compiler/codegen/c/emitters.h"
#include "compiler/codegen/c/quantized_binary.h"

namespace edgekiln::compiler {
namespace {

using B = v1::Binary;

bool IsSigned(v1::ElementType type) {
  return type == v1::INT8 || type == v1::INT16 || type == v1::INT32 ||
         type == v1::INT64;
}

// Arithmetic that wraps around is done in an unsigned type.
std::string WrapType(v1::ElementType type) {
  return ElementBytes(type) == 8 ? "(uint64_t)" : "(uint32_t)";
}

// `a op b` of one type: floats as they are, integers wrapping around.
std::string Wrapping(v1::ElementType type, const std::string& a, const char* op,
                     const std::string& b) {
  if (IsFloat(type)) return absl::StrCat(a, " ", op, " ", b);
  const std::string wrap = WrapType(type);
  return absl::StrCat("(", CTypeOf(type), ")(", wrap, a, " ", op, " ", wrap, b,
                      ")");
}

// Integers: by zero 0, the smallest number by -1 wraps around.
std::string Quotient(v1::ElementType type, const std::string& a,
                     const std::string& b) {
  if (IsFloat(type)) return absl::StrCat(a, " / ", b);
  const std::string t(CTypeOf(type));
  std::string text = absl::StrCat(b, " == 0 ? 0 : ");
  if (IsSigned(type)) {
    absl::StrAppend(&text, b, " == -1 ? (", t, ")(0 - ", WrapType(type), a,
                    ") : ");
  }
  return absl::StrCat("(", t, ")(", text, "(", t, ")(", a, " / ", b, "))");
}

std::string Remainder(StepWriter& w, v1::ElementType type, const std::string& a,
                      const std::string& b) {
  const std::string t(CTypeOf(type));
  if (IsFloat(type)) {
    return absl::StrCat("(", t, ")", w.Use("fmod"), "((double)", a,
                        ", (double)", b, ")");
  }
  const std::string zero = IsSigned(type)
                               ? absl::StrCat(b, " == 0 || ", b, " == -1")
                               : absl::StrCat(b, " == 0");
  return absl::StrCat("(", t, ")(", zero, " ? 0 : ", a, " % ", b, ")");
}

// Declares `rest`, of the sign of b.
void DeclareFloorRemainder(StepWriter& w, v1::ElementType type) {
  const std::string t(CTypeOf(type));
  w.code().Line("const ", t, " cut = ", Remainder(w, type, "a", "b"), ";");
  const std::string differ = IsSigned(type) || IsFloat(type)
                                 ? "cut != 0 && (cut < 0) != (b < 0)"
                                 : "0";
  w.code().Line("const ", t, " rest = (", t, ")(", differ, " ? ",
                Wrapping(type, "cut", "+", "b"), " : cut);");
}

std::string FloorQuotient(StepWriter& w, v1::ElementType type) {
  if (IsFloat(type)) {
    w.code().Line("const ", CTypeOf(type), " ratio = a / b;");
    return absl::StrCat(w.Use("floor"), "((double)ratio)");
  }
  if (!IsSigned(type)) return Quotient(type, "a", "b");
  DeclareFloorRemainder(w, type);
  w.code().Line("const ", CTypeOf(type),
                " quotient = ", Quotient(type, "a", "b"), ";");
  return "quotient - (b != 0 && rest != 0 && (a < 0) != (b < 0) ? 1 : 0)";
}

std::string Shifted(v1::ElementType type, bool left) {
  const int64_t width = 8 * ElementBytes(type);
  const std::string none = IsSigned(type) ? "b < 0 ? a : " : "";
  if (left) {
    return absl::StrCat(none, "b < ", width, " ? (", CTypeOf(type),
                        ")((uint64_t)a << b) : 0");
  }
  return absl::StrCat(none, "b < ", width, " ? (", CTypeOf(type),
                      ")(a >> b) : (", CTypeOf(type), ")(a >> ", width - 1,
                      " >> 1)");
}

const char* Comparison(B::Function function) {
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
    default:
      return "<=";
  }
}

std::string Logic(B::Function function) {
  switch (function) {
    case B::AND:
      return "a != 0 && b != 0";
    case B::OR:
      return "a != 0 || b != 0";
    case B::XOR:
    case B::NOT_EQUAL:
      return "(a != 0) != (b != 0)";
    default:
      return "(a != 0) == (b != 0)";
  }
}

// Integers to whole powers, wrapping around: by squaring.
std::string WholePower(StepWriter& w, v1::ElementType base,
                       v1::ElementType exponent) {
  CodeWriter& code = w.code();
  const std::string t(CTypeOf(base));
  code.Line(t, " power = 1;");
  if (IsSigned(exponent)) {
    code.Open("if (b < 0)");
    code.Line("power = a == 1 ? 1 : 0;");
    if (IsSigned(base)) {
      code.Line("if (a == -1) power = b % 2 == 0 ? 1 : -1;");
    }
    code.Close(" else {");
    code.Raw("");
  } else {
    code.OpenBlock();
  }
  code.Line("  ", t, " factor = a;");
  code.Line("  ", CTypeOf(exponent), " left = b;");
  code.Line("  for (; left > 0; left /= 2) {");
  code.Line("    if (left % 2 == 1) power = ",
            Wrapping(base, "power", "*", "factor"), ";");
  code.Line("    factor = ", Wrapping(base, "factor", "*", "factor"), ";");
  code.Line("  }");
  if (IsSigned(exponent)) {
    code.Line("}");
  } else {
    code.Close();
  }
  return "power";
}

std::string Power(StepWriter& w) {
  const v1::ElementType base = w.In(0).type;
  const v1::ElementType exponent = w.In(1).type;
  if (!IsFloat(base) && !IsFloat(exponent)) {
    return WholePower(w, base, exponent);
  }
  const std::string call = absl::StrCat(w.Use("pow"), "((double)a, (double)b)");
  if (IsFloat(base)) return call;
  w.code().Line("const double real = ", call, ";");
  return SaturatingCast(base, "real");
}

std::string Expression(StepWriter& w, B::Function function,
                       v1::ElementType type) {
  switch (function) {
    case B::SUB:
      return Wrapping(type, "a", "-", "b");
    case B::DIV:
      return Quotient(type, "a", "b");
    case B::MINIMUM:
      return IsFloat(type) ? "b < a || b != b ? b : a" : "b < a ? b : a";
    case B::MAXIMUM:
      return IsFloat(type) ? "b > a || b != b ? b : a" : "b > a ? b : a";
    case B::POW:
      return Power(w);
    case B::SQUARED_DIFFERENCE:
      w.code().Line("const ", CTypeOf(type),
                    " d = ", Wrapping(type, "a", "-", "b"), ";");
      return Wrapping(type, "d", "*", "d");
    case B::PRELU:
      if (!IsFloat(type) && !IsSigned(type)) return "a";
      return absl::StrCat("a < 0 ? ", Wrapping(type, "a", "*", "b"), " : a");
    case B::FLOOR_DIV:
      return FloorQuotient(w, type);
    case B::FLOOR_MOD:
      DeclareFloorRemainder(w, type);
      return "rest";
    case B::TRUNC_MOD:
      return Remainder(w, type, "a", "b");
    case B::BITWISE_AND:
      return "a & b";
    case B::BITWISE_OR:
      return "a | b";
    case B::BITWISE_XOR:
      return "a ^ b";
    case B::SHIFT_LEFT:
      return Shifted(type, true);
    case B::SHIFT_RIGHT:
      return Shifted(type, false);
    default:
      return absl::StrCat("a ", Comparison(function), " b");
  }
}

// With a clamp of floats behind it.
void EmitClamped(StepWriter& w, const v1::Clamp& clamp,
                 const std::function<std::string()>& expression) {
  const v1::ElementType type = w.Out(0).type;
  EmitElementwise(w, 2, [&](const OperandNames&) -> std::string {
    const std::string value = expression();
    if (!IsFloat(type) || (!clamp.has_min() && !clamp.has_max())) return value;
    w.code().Line(CTypeOf(type), " v = ", value, ";");
    EmitRealClamp(w, type, clamp, "v");
    return "v";
  });
}

}  // namespace

absl::Status EmitBinary(StepWriter& w) {
  if (w.InQuantization(0).present()) return EmitQuantizedBinary(w);
  const v1::ElementType type = w.In(0).type;
  if (w.op().has_add()) {
    EmitClamped(w, w.op().add().clamp(),
                [&] { return Wrapping(type, "a", "+", "b"); });
  } else if (w.op().has_mul()) {
    EmitClamped(w, w.op().mul().clamp(),
                [&] { return Wrapping(type, "a", "*", "b"); });
  } else if (type == v1::BOOL) {
    EmitClamped(w, {}, [&] { return Logic(w.op().binary().function()); });
  } else {
    EmitClamped(w, w.op().binary().clamp(), [&] {
      return Expression(w, w.op().binary().function(), type);
    });
  }
  return absl::OkStatus();
}

absl::Status EmitSelect(StepWriter& w) {
  EmitElementwise(w, 3, [](const OperandNames&) { return "a != 0 ? b : c"; });
  return absl::OkStatus();
}

}  // namespace edgekiln::compiler
