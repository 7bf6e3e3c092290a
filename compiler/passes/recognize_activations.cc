// Activations that exporters write as arithmetic become one op:
//
//   x / 2 * (1 + erf(x / sqrt(2)))                            gelu
//   x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))   gelu_tanh
//   x * clip(x + 3, 0, 6) / 6,  x * hard_sigmoid(x)           hard_swish
//
// in any order of factors. Results differ by float rounding.

#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/passes/graph_edit.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/pattern.h"

namespace edgekiln::compiler {
namespace {

constexpr double kSqrtHalf = 0.70710678118654752;
constexpr double kSqrtTwoOverPi = 0.79788456080286536;
constexpr double kCubic = 0.044715;

bool IsZeroToSix(const v1::Clamp& clamp) {
  return clamp.has_min() && clamp.min() == 0 && clamp.has_max() &&
         clamp.max() == 6;
}

// 1 + 0.044715 * x^2.
bool IsOnePlusSquareOf(GraphEditor& editor, TensorId id, TensorId x) {
  const auto square = PlusScalar(editor, id, 1);
  const auto inner =
      square.has_value() ? Scaled(editor, *square, kCubic) : std::nullopt;
  const Op* op =
      inner.has_value() ? UnaryOf(editor, *inner, v1::Unary::SQUARE) : nullptr;
  return op != nullptr && op->inputs[0] == x;
}

// x + 0.044715 * x^3, however the cube is written.
bool IsCubicOf(GraphEditor& editor, TensorId id, TensorId x) {
  const Op* add = editor.producer(id);
  if (add == nullptr) return false;
  if (!add->attributes.has_add()) return false;
  for (const int i : {0, 1}) {
    if (add->inputs[i] != x) continue;
    const Product cube = ProductOf(editor, add->inputs[1 - i]);
    if (!IsAbout(cube.constant, kCubic)) return false;
    int power = 0;
    for (const TensorId factor : cube.factors) {
      const Op* square = UnaryOf(editor, factor, v1::Unary::SQUARE);
      const Op* op = editor.producer(factor);
      const bool pow = op != nullptr &&
                       op->attributes.binary().function() == v1::Binary::POW;
      if (factor == x) {
        power += 1;
      } else if (square != nullptr && square->inputs[0] == x) {
        power += 2;
      } else if (pow && op->inputs[0] == x) {
        const auto exponent = ScalarValue(editor.tensor(op->inputs[1]));
        power += exponent == 3.0 ? 3 : 100;
      } else {
        return false;
      }
    }
    return power == 3;
  }
  return false;
}

// Which activation gate(x) * x * constant is, given its gate.
std::optional<v1::Unary::Function> FunctionOf(GraphEditor& editor,
                                              TensorId gate, TensorId x,
                                              double constant) {
  if (IsAbout(constant, 0.5)) {
    const auto of_x = PlusScalar(editor, gate, 1);
    if (!of_x.has_value()) return std::nullopt;
    if (const Op* erf = UnaryOf(editor, *of_x, v1::Unary::ERF)) {
      return Scaled(editor, erf->inputs[0], kSqrtHalf) == x
                 ? std::optional(v1::Unary::GELU)
                 : std::nullopt;
    }
    const Op* tanh = UnaryOf(editor, *of_x, v1::Unary::TANH);
    if (tanh == nullptr) return std::nullopt;
    const auto cubic = Scaled(editor, tanh->inputs[0], kSqrtTwoOverPi);
    if (cubic.has_value() && IsCubicOf(editor, *cubic, x)) {
      return v1::Unary::GELU_TANH;
    }
    // x * (1 + ...) is a product, which Scaled() takes apart.
    const Product product = ProductOf(editor, tanh->inputs[0]);
    if (product.factors.size() != 2 ||
        !IsAbout(product.constant, kSqrtTwoOverPi)) {
      return std::nullopt;
    }
    for (const int i : {0, 1}) {
      if (product.factors[i] == x &&
          IsOnePlusSquareOf(editor, product.factors[1 - i], x)) {
        return v1::Unary::GELU_TANH;
      }
    }
    return std::nullopt;
  }
  if (IsAbout(constant, 1)) {
    const Op* op = UnaryOf(editor, gate, v1::Unary::HARD_SIGMOID);
    const bool sixth = op != nullptr && op->inputs[0] == x &&
                       IsAbout(op->attributes.unary().alpha(), 1.0 / 6) &&
                       IsAbout(op->attributes.unary().beta(), 0.5);
    return sixth ? std::optional(v1::Unary::HARD_SWISH) : std::nullopt;
  }
  if (!IsAbout(constant, 1.0 / 6)) return std::nullopt;
  const Op* clip = editor.producer(gate);
  const v1::Clamp* clamp =
      clip == nullptr ? nullptr : ClampOf(clip->attributes);
  if (clamp == nullptr || !IsZeroToSix(*clamp)) return std::nullopt;
  const TensorId sum = clip->attributes.has_clip() ? clip->inputs[0] : gate;
  return PlusScalar(editor, sum, 3) == x ? std::optional(v1::Unary::HARD_SWISH)
                                         : std::nullopt;
}

class RecognizeActivations : public Pass {
 public:
  absl::string_view name() const override { return "recognize-activations"; }

  absl::StatusOr<Changed> Run(const PassContext&, Graph& graph) const override {
    GraphEditor editor(graph);
    // From the end: the whole product before its parts.
    for (int32_t i = static_cast<int32_t>(graph.ops.size()); i-- > 0;) {
      Visit(editor, i);
    }
    return editor.Finish() ? Changed::kYes : Changed::kNo;
  }

 private:
  static void Visit(GraphEditor& editor, int32_t index) {
    const Op& op = editor.graph().ops[index];
    const bool product = op.attributes.has_mul() ||
                         op.attributes.binary().function() == v1::Binary::DIV;
    if (!product) return;
    const Tensor& output = editor.tensor(op.outputs[0]);
    if (output.type != v1::FLOAT32 || HasBounds(*ClampOf(op.attributes))) {
      return;
    }
    const Product factors = ProductOf(editor, op.outputs[0]);
    if (factors.factors.size() != 2) return;
    for (const int i : {0, 1}) {
      const TensorId x = factors.factors[i];
      const auto function =
          FunctionOf(editor, factors.factors[1 - i], x, factors.constant);
      if (!function.has_value() || editor.tensor(x).shape != output.shape) {
        continue;
      }
      v1::OpAttributes attributes;
      attributes.mutable_unary()->set_function(*function);
      editor.SetInput(index, 0, x);
      editor.DropInputsFrom(index, 1);
      editor.SetAttributes(index, std::move(attributes));
      return;
    }
  }
};

}  // namespace

std::unique_ptr<Pass> NewRecognizeActivationsPass() {
  return std::make_unique<RecognizeActivations>();
}

}  // namespace edgekiln::compiler
