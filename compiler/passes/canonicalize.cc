// The same function in fewer forms: what follows then has one to look for.
//
//   x - c          -> x + (-c)         c a float constant
//   x / c          -> x * (1 / c)      where 1 / c is exact: c a power of two
//   max(x, c)      -> clip(x)          c one number; min alike
//   prelu(x, c)    -> leaky_relu(x)    c one number
//   x ^ 2, x * x   -> square(x)        x ^ 0.5 -> sqrt(x), x ^ -1 -> 1 / x
//   1 / sqrt(x)    -> rsqrt(x)
//   c + x, c * x   -> x + c, x * c

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/passes/pass.h"

namespace edgekiln::compiler {
namespace {

std::optional<float> ScalarOf(const Tensor& tensor) {
  const std::optional<std::vector<float>> values = FloatConstantValues(tensor);
  if (!values.has_value() || values->size() != 1) return std::nullopt;
  return (*values)[0];
}

v1::OpAttributes UnaryAttributes(v1::Unary::Function function) {
  v1::OpAttributes attributes;
  attributes.mutable_unary()->set_function(function);
  return attributes;
}

// 1 / value for each value, if that is exact for all of them.
std::optional<std::vector<float>> ExactReciprocals(
    const std::vector<float>& values) {
  std::vector<float> result;
  for (const float value : values) {
    int exponent = 0;
    const float reciprocal = 1.0f / value;
    if (std::abs(std::frexp(value, &exponent)) != 0.5f ||
        !std::isnormal(value) || !std::isnormal(reciprocal)) {
      return std::nullopt;
    }
    result.push_back(reciprocal);
  }
  return result;
}

void CopyClamp(const v1::Binary& from, v1::OpAttributes& to) {
  if (HasBounds(from.clamp())) *MutableClamp(to) = from.clamp();
}

class Canonicalize : public Pass {
 public:
  absl::string_view name() const override { return "canonicalize"; }

  absl::StatusOr<Changed> Run(const PassContext&, Graph& graph) const override {
    GraphEditor editor(graph);
    for (int32_t i = 0; i < static_cast<int32_t>(graph.ops.size()); ++i) {
      const Op& op = graph.ops[i];
      if (op.outputs.size() != 1 ||
          graph.tensors[op.outputs[0]].type != v1::FLOAT32) {
        continue;
      }
      if (op.attributes.has_add() || op.attributes.has_mul()) {
        ConstantLast(editor, i);
        SquareOfProduct(editor, i);
      } else if (op.attributes.has_binary()) {
        VisitBinary(editor, i);
      } else if (op.attributes.has_unary()) {
        VisitUnary(editor, i);
      }
    }
    return editor.Finish() ? Changed::kYes : Changed::kNo;
  }

 private:
  static void ConstantLast(GraphEditor& editor, int32_t index) {
    const std::vector<TensorId> inputs = editor.graph().ops[index].inputs;
    if (!editor.tensor(inputs[0]).is_constant() ||
        editor.tensor(inputs[1]).is_constant()) {
      return;
    }
    editor.SetInput(index, 0, inputs[1]);
    editor.SetInput(index, 1, inputs[0]);
  }

  static void SquareOfProduct(GraphEditor& editor, int32_t index) {
    const Op& op = editor.graph().ops[index];
    if (!op.attributes.has_mul() || op.inputs[0] != op.inputs[1] ||
        HasBounds(op.attributes.mul().clamp())) {
      return;
    }
    KeepFirst(editor, index, UnaryAttributes(v1::Unary::SQUARE));
  }

  // Makes the op one of its first input alone.
  static void KeepFirst(GraphEditor& editor, int32_t index,
                        v1::OpAttributes attributes) {
    editor.SetAttributes(index, std::move(attributes));
    editor.DropInputsFrom(index, 1);
  }

  // Another op on the first input and a constant like the second.
  static void WithConstant(GraphEditor& editor, int32_t index,
                           v1::OpAttributes attributes,
                           const std::vector<float>& values,
                           absl::string_view role) {
    Tensor like = editor.tensor(editor.graph().ops[index].inputs[1]);
    like.name = absl::StrCat(like.name, ".", role);
    const std::vector<int64_t> shape = like.shape;
    editor.SetInput(index, 1,
                    editor.AddTensor(FloatTensorLike(like, shape, values)));
    editor.SetAttributes(index, std::move(attributes));
  }

  static void VisitBinary(GraphEditor& editor, int32_t index) {
    const Op& op = editor.graph().ops[index];
    const v1::Binary binary = op.attributes.binary();
    const Tensor& second = editor.tensor(op.inputs[1]);
    if (binary.function() == v1::Binary::MINIMUM ||
        binary.function() == v1::Binary::MAXIMUM) {
      VisitLimit(editor, index, binary);
      return;
    }
    const std::optional<std::vector<float>> values =
        FloatConstantValues(second);
    if (!values.has_value()) return;
    v1::OpAttributes attributes;
    if (binary.function() == v1::Binary::SUB) {
      std::vector<float> negated = *values;
      for (float& value : negated) value = -value;
      attributes.mutable_add();
      CopyClamp(binary, attributes);
      WithConstant(editor, index, std::move(attributes), negated, "negated");
    } else if (binary.function() == v1::Binary::DIV) {
      const auto reciprocals = ExactReciprocals(*values);
      if (!reciprocals.has_value()) return;
      attributes.mutable_mul();
      CopyClamp(binary, attributes);
      WithConstant(editor, index, std::move(attributes), *reciprocals,
                   "reciprocal");
    } else if (values->size() == 1 &&
               second.shape.size() <=
                   editor.tensor(op.inputs[0]).shape.size()) {
      VisitScalar(editor, index, binary.function(), (*values)[0]);
    }
  }

  static void VisitScalar(GraphEditor& editor, int32_t index,
                          v1::Binary::Function function, float value) {
    if (function == v1::Binary::PRELU) {
      v1::OpAttributes attributes = UnaryAttributes(v1::Unary::LEAKY_RELU);
      attributes.mutable_unary()->set_alpha(value);
      KeepFirst(editor, index, std::move(attributes));
    } else if (function == v1::Binary::POW && value == 2.0f) {
      KeepFirst(editor, index, UnaryAttributes(v1::Unary::SQUARE));
    } else if (function == v1::Binary::POW && value == 0.5f) {
      KeepFirst(editor, index, UnaryAttributes(v1::Unary::SQRT));
    } else if (function == v1::Binary::POW && value == -1.0f) {
      KeepFirst(editor, index, UnaryAttributes(v1::Unary::RECIPROCAL));
    }
  }

  static void VisitLimit(GraphEditor& editor, int32_t index,
                         const v1::Binary& binary) {
    const std::vector<TensorId> inputs = editor.graph().ops[index].inputs;
    const std::vector<int64_t> shape =
        editor.tensor(editor.graph().ops[index].outputs[0]).shape;
    for (const int limit : {1, 0}) {
      const std::optional<float> bound = ScalarOf(editor.tensor(inputs[limit]));
      if (!bound.has_value() || std::isnan(*bound) ||
          editor.tensor(inputs[1 - limit]).shape != shape ||
          editor.tensor(inputs[1 - limit]).is_constant()) {
        continue;
      }
      v1::OpAttributes attributes;
      v1::Clamp* clamp = attributes.mutable_clip()->mutable_clamp();
      if (binary.function() == v1::Binary::MAXIMUM) {
        clamp->set_min(*bound);
      } else {
        clamp->set_max(*bound);
      }
      editor.SetInput(index, 0, inputs[1 - limit]);
      KeepFirst(editor, index, std::move(attributes));
      return;
    }
  }

  // 1 / sqrt(x).
  static void VisitUnary(GraphEditor& editor, int32_t index) {
    const Op& op = editor.graph().ops[index];
    const Op* before = editor.producer(op.inputs[0]);
    if (before == nullptr || !before->attributes.has_unary()) return;
    const v1::Unary::Function outer = op.attributes.unary().function();
    const v1::Unary::Function inner = before->attributes.unary().function();
    if (outer == v1::Unary::RECIPROCAL && inner == v1::Unary::SQRT) {
      editor.SetInput(index, 0, before->inputs[0]);
      editor.SetAttributes(index, UnaryAttributes(v1::Unary::RSQRT));
    }
  }
};

}  // namespace

std::unique_ptr<Pass> NewCanonicalizePass() {
  return std::make_unique<Canonicalize>();
}

}  // namespace edgekiln::compiler
