// Einsum as transposes, sums and matrix products, two operands at a time.

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/checked_math.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/converters.h"
#include "compiler/frontend/onnx/ir_ops.h"
#include "compiler/frontend/onnx/products.h"
#include "compiler/frontend/onnx/tensor_data.h"

namespace edgekiln::compiler::onnx_import {
namespace {

// A letter, or -1, -2, ... for the last, last but one, ... dimension that an
// ellipsis stands for.
using Label = int;
using Labels = std::vector<Label>;

struct Equation {
  std::vector<Labels> operands;
  Labels result;
};

// A tensor whose dimensions have labels, each once.
struct Operand {
  TensorId id = kNoTensor;
  Labels labels;
};

bool Contains(const Labels& labels, Label label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

// Labels of "ab...c"; the ellipsis stands for `ellipsis` dimensions.
absl::StatusOr<Labels> TermLabels(const Node& node, absl::string_view term,
                                  int64_t ellipsis) {
  Labels labels;
  for (size_t i = 0; i < term.size(); ++i) {
    if (absl::ascii_isalpha(static_cast<unsigned char>(term[i]))) {
      labels.push_back(term[i]);
    } else if (term.substr(i, 3) == "..." && ellipsis >= 0) {
      for (int64_t k = ellipsis; k > 0; --k) {
        labels.push_back(static_cast<Label>(-k));
      }
      ellipsis = -1;  // A second one is wrong.
      i += 2;
    } else {
      return node.Invalid(absl::StrCat("the equation holds '", term, "'"));
    }
  }
  return labels;
}

int64_t Letters(absl::string_view term) {
  return std::count_if(term.begin(), term.end(),
                       [](unsigned char c) { return absl::ascii_isalpha(c); });
}

// Without "->", the result has the ellipsis and then the letters that occur
// once, in alphabetic order.
absl::StatusOr<Labels> ImplicitResult(const std::vector<Labels>& operands,
                                      int64_t ellipsis) {
  Labels result;
  for (int64_t k = ellipsis; k > 0; --k) {
    result.push_back(static_cast<Label>(-k));
  }
  for (Label letter = 1; letter < 128; ++letter) {
    int64_t count = 0;
    for (const Labels& labels : operands) {
      count += std::count(labels.begin(), labels.end(), letter);
    }
    if (count == 1) result.push_back(letter);
  }
  return result;
}

absl::StatusOr<Equation> ParseEquation(const Node& node, const Builder& builder,
                                       const std::vector<TensorId>& inputs) {
  EK_ASSIGN_OR_RETURN(std::string text, node.String("equation", ""));
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const std::vector<std::string> sides = absl::StrSplit(text, "->");
  const std::vector<std::string> terms = absl::StrSplit(sides[0], ',');
  if (sides.size() > 2 || terms.size() != inputs.size()) {
    return node.Invalid(
        absl::StrCat("equation '", text, "' for ", inputs.size(), " inputs"));
  }
  Equation equation;
  int64_t widest = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    const bool dots = terms[i].find('.') != std::string::npos;
    const int64_t ellipsis = builder.rank(inputs[i]) - Letters(terms[i]);
    EK_ASSIGN_OR_RETURN(Labels labels,
                        TermLabels(node, terms[i], dots ? ellipsis : -1));
    if (static_cast<int64_t>(labels.size()) != builder.rank(inputs[i])) {
      return node.Invalid(absl::StrCat("'", terms[i], "' for a tensor of rank ",
                                       builder.rank(inputs[i])));
    }
    if (dots) widest = std::max(widest, ellipsis);
    equation.operands.push_back(std::move(labels));
  }
  if (sides.size() == 2) {
    EK_ASSIGN_OR_RETURN(equation.result, TermLabels(node, sides[1], widest));
  } else {
    EK_ASSIGN_OR_RETURN(equation.result,
                        ImplicitResult(equation.operands, widest));
  }
  const std::set<Label> unique(equation.result.begin(), equation.result.end());
  if (unique.size() != equation.result.size()) {
    return node.Invalid(
        absl::StrCat("equation '", text, "' has a letter twice in its result"));
  }
  return equation;
}

// The product of the extents of `labels`.
int64_t Volume(const Builder& builder, const Operand& x, const Labels& labels) {
  int64_t volume = 1;
  for (size_t i = 0; i < x.labels.size(); ++i) {
    if (Contains(labels, x.labels[i])) volume *= builder.shape(x.id)[i];
  }
  return volume;
}

int64_t ExtentOf(const Builder& builder, const Operand& x, Label label) {
  const auto at = std::find(x.labels.begin(), x.labels.end(), label);
  if (at == x.labels.end()) return 1;
  return builder.shape(x.id)[at - x.labels.begin()];
}

// Numbers the ops of one node.
class Steps {
 public:
  std::string Next(absl::string_view what) {
    return absl::StrCat(what, "-", ++count_);
  }

 private:
  int count_ = 0;
};

absl::StatusOr<Operand> Permuted(const Node& node, Builder& builder,
                                 Steps& steps, Operand x, const Labels& order) {
  std::vector<int32_t> permutation;
  for (const Label label : order) {
    permutation.push_back(static_cast<int32_t>(
        std::find(x.labels.begin(), x.labels.end(), label) - x.labels.begin()));
  }
  EK_ASSIGN_OR_RETURN(x.id, builder.Transpose(node, steps.Next("order"), x.id,
                                              std::move(permutation)));
  x.labels = order;
  return x;
}

// Where a label stands twice, the diagonal: both dimensions last and joined,
// every (n + 1)th element.
absl::StatusOr<Operand> Diagonal(const Node& node, Builder& builder,
                                 Steps& steps, Operand x) {
  for (size_t i = 0; i < x.labels.size(); ++i) {
    const auto twin =
        std::find(x.labels.begin() + i + 1, x.labels.end(), x.labels[i]);
    if (twin == x.labels.end()) continue;
    const size_t j = static_cast<size_t>(twin - x.labels.begin());
    const int64_t n = builder.shape(x.id)[i];
    if (builder.shape(x.id)[j] != n) {
      return node.Invalid("a letter stands for two extents");
    }
    std::vector<int32_t> permutation;
    std::vector<int64_t> joined;
    Labels labels;
    for (size_t k = 0; k < x.labels.size(); ++k) {
      if (k == i || k == j) continue;
      permutation.push_back(static_cast<int32_t>(k));
      joined.push_back(builder.shape(x.id)[k]);
      labels.push_back(x.labels[k]);
    }
    permutation.push_back(static_cast<int32_t>(i));
    permutation.push_back(static_cast<int32_t>(j));
    joined.push_back(n * n);
    labels.push_back(x.labels[i]);
    EK_ASSIGN_OR_RETURN(x.id, builder.Transpose(node, steps.Next("twins"), x.id,
                                                std::move(permutation)));
    EK_ASSIGN_OR_RETURN(
        x.id, builder.Reshape(node, steps.Next("square"), x.id, joined));
    const std::vector<int64_t> begin(joined.size(), 0);
    std::vector<int64_t> stride(joined.size(), 1);
    stride.back() = n + 1;
    joined.back() = n;
    EK_ASSIGN_OR_RETURN(x.id,
                        builder.Emit(node, steps.Next("diagonal"),
                                     SliceOp(begin, joined, stride), {x.id}));
    x.labels = std::move(labels);
    return Diagonal(node, builder, steps, std::move(x));
  }
  return x;
}

// Sums over all labels that are not in `kept`.
absl::StatusOr<Operand> Summed(const Node& node, Builder& builder, Steps& steps,
                               Operand x, const std::set<Label>& kept) {
  std::vector<int32_t> axes;
  Labels labels;
  for (size_t i = 0; i < x.labels.size(); ++i) {
    if (kept.contains(x.labels[i])) {
      labels.push_back(x.labels[i]);
    } else {
      axes.push_back(static_cast<int32_t>(i));
    }
  }
  if (axes.empty()) return x;
  EK_ASSIGN_OR_RETURN(
      x.id, builder.Emit(node, steps.Next("sum"),
                         ReduceOp(v1::Reduce::SUM, axes, false), {x.id}));
  x.labels = std::move(labels);
  return x;
}

// `x` as [batch..., rows, columns], its labels in this order.
absl::StatusOr<TensorId> AsMatrices(const Node& node, Builder& builder,
                                    Steps& steps, Operand x,
                                    const Labels& batch, const Labels& rows,
                                    const Labels& columns) {
  Labels order;
  std::vector<int64_t> shape;
  for (const Label label : batch) {
    shape.push_back(ExtentOf(builder, x, label));
    if (Contains(x.labels, label)) order.push_back(label);
  }
  order.insert(order.end(), rows.begin(), rows.end());
  order.insert(order.end(), columns.begin(), columns.end());
  shape.push_back(Volume(builder, x, rows));
  shape.push_back(Volume(builder, x, columns));
  EK_ASSIGN_OR_RETURN(x, Permuted(node, builder, steps, std::move(x), order));
  return builder.Reshape(node, steps.Next("matrices"), x.id, std::move(shape));
}

// The product of two operands, summed over what neither the result nor a later
// operand needs.
absl::StatusOr<Operand> Multiplied(const Node& node, Builder& builder,
                                   Steps& steps, Operand a, Operand b,
                                   const std::set<Label>& later) {
  std::set<Label> kept = later;
  kept.insert(b.labels.begin(), b.labels.end());
  EK_ASSIGN_OR_RETURN(a, Summed(node, builder, steps, std::move(a), kept));
  kept = later;
  kept.insert(a.labels.begin(), a.labels.end());
  EK_ASSIGN_OR_RETURN(b, Summed(node, builder, steps, std::move(b), kept));
  Labels batch, rows, columns, inner;
  for (const Label label : a.labels) {
    const bool shared = Contains(b.labels, label);
    (shared ? (later.contains(label) ? batch : inner) : rows).push_back(label);
    if (shared && label > 0 &&
        ExtentOf(builder, a, label) != ExtentOf(builder, b, label)) {
      return node.Invalid("a letter stands for two extents");
    }
  }
  for (const Label label : b.labels) {
    if (!Contains(a.labels, label)) columns.push_back(label);
  }
  Operand result;
  std::vector<int64_t> shape;
  for (const Label label : batch) {
    shape.push_back(
        std::max(ExtentOf(builder, a, label), ExtentOf(builder, b, label)));
  }
  for (const Label label : rows) shape.push_back(ExtentOf(builder, a, label));
  for (const Label label : columns) {
    shape.push_back(ExtentOf(builder, b, label));
  }
  result.labels = batch;
  result.labels.insert(result.labels.end(), rows.begin(), rows.end());
  result.labels.insert(result.labels.end(), columns.begin(), columns.end());
  EK_ASSIGN_OR_RETURN(
      const TensorId left,
      AsMatrices(node, builder, steps, std::move(a), batch, rows, inner));
  EK_ASSIGN_OR_RETURN(
      const TensorId right,
      AsMatrices(node, builder, steps, std::move(b), batch, inner, columns));
  EK_ASSIGN_OR_RETURN(result.id, builder.Emit(node, steps.Next("product"),
                                              MatMulOp(), {left, right}));
  EK_ASSIGN_OR_RETURN(result.id, builder.Reshape(node, steps.Next("apart"),
                                                 result.id, std::move(shape)));
  return result;
}

}  // namespace

absl::Status ConvertEinsum(const Node& node, Builder& builder) {
  std::vector<TensorId> inputs;
  for (int i = 0; i < node.num_inputs(); ++i) {
    EK_ASSIGN_OR_RETURN(const TensorId input, builder.PlainInput(node, i));
    inputs.push_back(input);
  }
  if (inputs.empty()) return node.Invalid("it has no inputs");
  EK_ASSIGN_OR_RETURN(const Equation equation,
                      ParseEquation(node, builder, inputs));
  Steps steps;
  Operand product;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::set<Label> later(equation.result.begin(), equation.result.end());
    for (size_t k = i + 1; k < inputs.size(); ++k) {
      later.insert(equation.operands[k].begin(), equation.operands[k].end());
    }
    EK_ASSIGN_OR_RETURN(
        Operand next,
        Diagonal(node, builder, steps, {inputs[i], equation.operands[i]}));
    if (i == 0) {
      product = std::move(next);
    } else {
      EK_ASSIGN_OR_RETURN(product,
                          Multiplied(node, builder, steps, std::move(product),
                                     std::move(next), later));
    }
  }
  EK_ASSIGN_OR_RETURN(product,
                      Summed(node, builder, steps, std::move(product),
                             {equation.result.begin(), equation.result.end()}));
  for (const Label label : equation.result) {
    if (!Contains(product.labels, label)) {
      return node.Invalid("the result has a letter that no input has");
    }
  }
  EK_ASSIGN_OR_RETURN(product, Permuted(node, builder, steps,
                                        std::move(product), equation.result));
  return builder.Bind(node, 0, product.id);
}

}  // namespace edgekiln::compiler::onnx_import
