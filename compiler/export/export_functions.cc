// Arithmetic: products with weights, functions of one value and of two.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/export/op_exporters.h"

namespace edgekiln::compiler::onnx_export {
namespace {

struct UnaryOperator {
  v1::Unary::Function function;
  absl::string_view type;
  absl::string_view alpha = "";  // Name of the attribute, if there is one.
  absl::string_view beta = "";
};

constexpr UnaryOperator kUnary[] = {
    {v1::Unary::ABS, "Abs"},
    {v1::Unary::NEG, "Neg"},
    {v1::Unary::SIGN, "Sign"},
    {v1::Unary::FLOOR, "Floor"},
    {v1::Unary::CEIL, "Ceil"},
    {v1::Unary::ROUND, "Round"},
    {v1::Unary::SQRT, "Sqrt"},
    {v1::Unary::RECIPROCAL, "Reciprocal"},
    {v1::Unary::EXP, "Exp"},
    {v1::Unary::LOG, "Log"},
    {v1::Unary::ERF, "Erf"},
    {v1::Unary::TANH, "Tanh"},
    {v1::Unary::SIGMOID, "Sigmoid"},
    {v1::Unary::SOFTPLUS, "Softplus"},
    {v1::Unary::SOFTSIGN, "Softsign"},
    {v1::Unary::ELU, "Elu", "alpha"},
    {v1::Unary::SELU, "Selu", "alpha", "gamma"},
    {v1::Unary::LEAKY_RELU, "LeakyRelu", "alpha"},
    {v1::Unary::HARD_SIGMOID, "HardSigmoid", "alpha", "beta"},
    {v1::Unary::HARD_SWISH, "HardSwish"},
    {v1::Unary::NOT, "Not"},
    {v1::Unary::SIN, "Sin"},
    {v1::Unary::COS, "Cos"},
    {v1::Unary::TAN, "Tan"},
    {v1::Unary::ASIN, "Asin"},
    {v1::Unary::ACOS, "Acos"},
    {v1::Unary::ATAN, "Atan"},
    {v1::Unary::SINH, "Sinh"},
    {v1::Unary::COSH, "Cosh"},
    {v1::Unary::ASINH, "Asinh"},
    {v1::Unary::ACOSH, "Acosh"},
    {v1::Unary::ATANH, "Atanh"},
    {v1::Unary::CELU, "Celu", "alpha"},
    {v1::Unary::SHRINK, "Shrink", "lambd", "bias"},
    {v1::Unary::IS_NAN, "IsNaN"},
};

struct BinaryOperator {
  v1::Binary::Function function;
  absl::string_view type;
};

constexpr BinaryOperator kBinary[] = {
    {v1::Binary::SUB, "Sub"},
    {v1::Binary::DIV, "Div"},
    {v1::Binary::MINIMUM, "Min"},
    {v1::Binary::MAXIMUM, "Max"},
    {v1::Binary::POW, "Pow"},
    {v1::Binary::PRELU, "PRelu"},
    {v1::Binary::AND, "And"},
    {v1::Binary::OR, "Or"},
    {v1::Binary::XOR, "Xor"},
    {v1::Binary::EQUAL, "Equal"},
    {v1::Binary::GREATER, "Greater"},
    {v1::Binary::GREATER_OR_EQUAL, "GreaterOrEqual"},
    {v1::Binary::LESS, "Less"},
    {v1::Binary::LESS_OR_EQUAL, "LessOrEqual"},
};

// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))), as exporters write it.
void ExportGeluTanh(OpWriter& writer, const std::string& x) {
  const std::string cube =
      writer.Step("cube", "Pow", {x, writer.Scalar("three", 3)});
  const std::string small = writer.Step(
      "small", "Mul", {cube, writer.Scalar("coefficient", 0.044715f)});
  const std::string sum = writer.Step("sum", "Add", {x, small});
  const std::string scaled = writer.Step(
      "scaled", "Mul", {sum, writer.Scalar("factor", 0.7978845608028654f)});
  const std::string tanh = writer.Step("tanh", "Tanh", {scaled});
  const std::string gate =
      writer.Step("gate", "Add", {tanh, writer.Scalar("one", 1)});
  const std::string half =
      writer.Step("half", "Mul", {x, writer.Scalar("point_five", 0.5f)});
  writer.Main("Mul", {half, gate});
}

// Functions that are several operators; false for others.
bool ExportComposed(OpWriter& writer, const v1::Unary& unary,
                    const std::string& x) {
  switch (unary.function()) {
    case v1::Unary::SQUARE:
      writer.Main("Mul", {x, x});
      return true;
    case v1::Unary::RSQRT:
      writer.Main("Reciprocal", {writer.Step("root", "Sqrt", {x})});
      return true;
    case v1::Unary::AFFINE: {
      const std::string product = writer.Step(
          "product", "Mul", {x, writer.Scalar("alpha", unary.alpha())});
      writer.Main("Add", {product, writer.Scalar("beta", unary.beta())});
      return true;
    }
    case v1::Unary::SCALED_TANH: {
      const std::string product = writer.Step(
          "product", "Mul", {x, writer.Scalar("beta", unary.beta())});
      writer.Main("Mul", {writer.Step("tanh", "Tanh", {product}),
                          writer.Scalar("alpha", unary.alpha())});
      return true;
    }
    case v1::Unary::GELU:
      // Of op set 20 in the default domain.
      writer.Main("Gelu", {x}).set_domain(std::string(kMicrosoftDomain));
      return true;
    case v1::Unary::GELU_TANH:
      ExportGeluTanh(writer, x);
      return true;
    case v1::Unary::IS_INF: {
      onnx::NodeProto& node = writer.Main("IsInf", {x});
      SetInt(node, "detect_positive", unary.alpha() != 0 ? 1 : 0);
      SetInt(node, "detect_negative", unary.beta() != 0 ? 1 : 0);
      return true;
    }
    default:
      return false;
  }
}

bool IsFloat(v1::ElementType type) {
  return type == v1::FLOAT16 || type == v1::FLOAT32 || type == v1::FLOAT64;
}

}  // namespace

absl::Status ExportFullyConnected(OpWriter& writer) {
  const Tensor& weights = writer.input(1);
  const std::vector<int64_t>& to = writer.output().shape;
  const bool is_vector = to.size() == 1;  // Gemm takes matrices only.
  std::vector<int64_t> from = to;
  from.back() = weights.shape[1];
  if (is_vector) from.insert(from.begin(), 1);
  std::string x;
  if (writer.input(0).shape == from) {
    x = writer.In(0);
  } else {
    x = writer.Step("rows", "Reshape",
                    {writer.values().InRowMajorOrder(writer.op().inputs[0]),
                     writer.Integers("shape", from)});
  }
  if (to.size() <= 2) {
    std::vector<std::string> inputs = {x, writer.In(1)};
    if (writer.has_input(2)) inputs.push_back(writer.Bias());
    onnx::NodeProto& gemm =
        is_vector ? writer.MainInTwo("Gemm", inputs, "vector", "Reshape",
                                     {writer.Integers("vector", to)})
                  : writer.Main("Gemm", inputs);
    SetInt(gemm, "transB", 1);
    return absl::OkStatus();
  }
  const std::string turned =
      writer.values().Permuted(writer.op().inputs[1], {1, 0});
  if (!writer.has_input(2)) {
    writer.Main("MatMul", {x, turned});
    return absl::OkStatus();
  }
  writer.MainInTwo("MatMul", {x, turned}, "bias", "Add", {writer.Bias()});
  return absl::OkStatus();
}

absl::Status ExportUnary(OpWriter& writer) {
  writer.ChooseOrder();
  const v1::Unary& unary = writer.attributes().unary();
  for (const UnaryOperator& entry : kUnary) {
    if (entry.function != unary.function()) continue;
    onnx::NodeProto& node = writer.Main(entry.type, {writer.In(0)});
    if (!entry.alpha.empty()) SetFloat(node, entry.alpha, unary.alpha());
    if (!entry.beta.empty()) SetFloat(node, entry.beta, unary.beta());
    return absl::OkStatus();
  }
  if (ExportComposed(writer, unary, writer.In(0))) return absl::OkStatus();
  return writer.Unsupported(
      v1::Unary::Function_Name(unary.function()),
      absl::StrCat("functions that op set ", kOpset, " has"),
      "use another activation function");
}

absl::Status ExportBinary(OpWriter& writer) {
  writer.ChooseOrder();
  const v1::Binary& binary = writer.attributes().binary();
  for (const BinaryOperator& entry : kBinary) {
    if (entry.function != binary.function()) continue;
    writer.Main(entry.type, {writer.In(0), writer.In(1)});
    return absl::OkStatus();
  }
  const std::vector<std::string> inputs = {writer.In(0), writer.In(1)};
  const bool is_float =
      IsFloat(writer.input(0).type) || writer.input(0).quantization.has_value();
  switch (binary.function()) {
    case v1::Binary::NOT_EQUAL:
      writer.Main("Not", {writer.Step("equal", "Equal", inputs)});
      return absl::OkStatus();
    case v1::Binary::SQUARED_DIFFERENCE: {
      const std::string difference = writer.Step("difference", "Sub", inputs);
      writer.Main("Mul", {difference, difference});
      return absl::OkStatus();
    }
    case v1::Binary::FLOOR_MOD:
      if (is_float) break;
      writer.Main("Mod", inputs);
      return absl::OkStatus();
    case v1::Binary::TRUNC_MOD:
      SetInt(writer.Main("Mod", inputs), "fmod", 1);
      return absl::OkStatus();
    case v1::Binary::SHIFT_LEFT:
    case v1::Binary::SHIFT_RIGHT:
      SetString(writer.Main("BitShift", inputs), "direction",
                binary.function() == v1::Binary::SHIFT_LEFT ? "LEFT" : "RIGHT");
      return absl::OkStatus();
    default:
      break;
  }
  return writer.Unsupported(
      v1::Binary::Function_Name(binary.function()),
      absl::StrCat("functions that op set ", kOpset, " has"),
      "compute it by other operators");
}

absl::Status ExportClip(OpWriter& writer) {
  writer.ChooseOrder();
  const v1::Clamp& clamp = writer.attributes().clip().clamp();
  const std::string x = writer.In(0);
  if (clamp.has_min() && clamp.min() == 0 && !clamp.has_max()) {
    writer.Main("Relu", {x});
    return absl::OkStatus();
  }
  std::vector<std::string> inputs = {
      x, clamp.has_min() ? writer.Scalar("min", clamp.min()) : ""};
  if (clamp.has_max()) inputs.push_back(writer.Scalar("max", clamp.max()));
  writer.Main("Clip", inputs);
  return absl::OkStatus();
}

absl::Status ExportCast(OpWriter& writer) {
  writer.ChooseOrder();
  SetInt(writer.Main("Cast", {writer.In(0)}), "to",
         OnnxTypeOf(writer.output().type));
  return absl::OkStatus();
}

absl::Status ExportPlain(OpWriter& writer, absl::string_view type) {
  writer.ChooseOrder();
  std::vector<std::string> inputs;
  for (size_t i = 0; i < writer.op().inputs.size(); ++i) {
    inputs.push_back(writer.In(i));
  }
  writer.Main(type, inputs);
  return absl::OkStatus();
}

}  // namespace edgekiln::compiler::onnx_export
