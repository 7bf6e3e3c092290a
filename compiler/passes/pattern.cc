#include "compiler/passes/pattern.h"

#include <cmath>

namespace edgekiln::compiler {
namespace {

// Longer products are no formula that anything here looks for.
constexpr size_t kMaxFactors = 4;

const v1::Clamp* ClampOfProducer(const Op* op) {
  return op == nullptr ? nullptr : ClampOf(op->attributes);
}

// Replaces one factor by what it is the product of; false if it is none.
bool ExpandOnce(GraphEditor& editor, Product& product) {
  for (size_t i = 0; i < product.factors.size(); ++i) {
    const Op* op = editor.producer(product.factors[i]);
    const v1::Clamp* clamp = ClampOfProducer(op);
    if (op == nullptr) continue;
    if (op->attributes.unary().function() == v1::Unary::NEG) {
      product.constant = -product.constant;
      product.factors[i] = op->inputs[0];
      return true;
    }
    const bool divides = op->attributes.binary().function() == v1::Binary::DIV;
    if ((!divides && !op->attributes.has_mul()) || HasBounds(*clamp)) continue;
    const auto b = ScalarValue(editor.tensor(op->inputs[1]));
    if (divides && (!b.has_value() || *b == 0)) continue;
    if (divides || b.has_value()) {
      product.constant *= divides ? 1 / *b : *b;
      product.factors[i] = op->inputs[0];
      return true;
    }
    if (product.factors.size() >= kMaxFactors) continue;
    product.factors[i] = op->inputs[0];
    product.factors.push_back(op->inputs[1]);
    return true;
  }
  return false;
}

}  // namespace

std::optional<double> ScalarValue(const Tensor& tensor) {
  const std::optional<std::vector<float>> values = FloatConstantValues(tensor);
  if (!values.has_value() || values->size() != 1) return std::nullopt;
  return (*values)[0];
}

bool IsAbout(double value, double wanted) {
  // As far as float16 rounds.
  constexpr double kTolerance = 0x1p-11;
  return std::abs(value - wanted) <= kTolerance * std::abs(wanted);
}

const Op* UnaryOf(GraphEditor& editor, TensorId id,
                  v1::Unary::Function function) {
  const Op* op = editor.producer(id);
  return op != nullptr && op->attributes.unary().function() == function
             ? op
             : nullptr;
}

std::optional<TensorId> PlusScalar(GraphEditor& editor, TensorId id,
                                   double addend) {
  const Op* op = editor.producer(id);
  if (op == nullptr || !op->attributes.has_add()) return std::nullopt;
  for (const int i : {1, 0}) {
    const auto scalar = ScalarValue(editor.tensor(op->inputs[i]));
    if (scalar.has_value() && IsAbout(*scalar, addend)) {
      return op->inputs[1 - i];
    }
  }
  return std::nullopt;
}

Product ProductOf(GraphEditor& editor, TensorId id) {
  Product product;
  product.factors = {id};
  // Each step goes towards the inputs of the graph; the bound is for long
  // chains of scalars.
  for (int step = 0; step < 16 && ExpandOnce(editor, product); ++step) {
  }
  return product;
}

std::optional<TensorId> Scaled(GraphEditor& editor, TensorId id,
                               double constant) {
  const Product product = ProductOf(editor, id);
  if (product.factors.size() != 1 || !IsAbout(product.constant, constant)) {
    return std::nullopt;
  }
  return product.factors[0];
}

}  // namespace edgekiln::compiler
