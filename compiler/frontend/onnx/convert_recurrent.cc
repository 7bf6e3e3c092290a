// LSTM, GRU and RNN: one IR op per direction.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/axes.h"
#include "compiler/frontend/onnx/converters.h"
#include "compiler/frontend/onnx/ir_ops.h"
#include "compiler/frontend/onnx/tensor_data.h"

namespace edgekiln::compiler::onnx_import {
namespace {

// A parameter of a function: not taken, or with the value that stands for one
// that is not given. ONNX has none for ScaledTanh.
struct Parameter {
  bool taken = false;
  std::optional<float> fallback = std::nullopt;
};

struct Activation {
  absl::string_view name;  // Lower case.
  v1::Unary::Function function;
  Parameter alpha = {};
  Parameter beta = {};
};

constexpr Activation kActivations[] = {
    {"sigmoid", v1::Unary::SIGMOID},
    {"tanh", v1::Unary::TANH},
    {"relu", v1::Unary::FUNCTION_UNSPECIFIED},
    {"affine", v1::Unary::AFFINE, {true, 1.0f}, {true, 0.0f}},
    {"elu", v1::Unary::ELU, {true, 1.0f}},
    {"hardsigmoid", v1::Unary::HARD_SIGMOID, {true, 0.2f}, {true, 0.5f}},
    {"leakyrelu", v1::Unary::LEAKY_RELU, {true, 0.01f}},
    {"scaledtanh", v1::Unary::SCALED_TANH, {true}, {true}},
    {"softplus", v1::Unary::SOFTPLUS},
    {"softsign", v1::Unary::SOFTSIGN},
    {"thresholdedrelu", v1::Unary::THRESHOLDED_RELU, {true, 1.0f}},
};

// Those that are given, in the order in which the functions take them.
struct Parameters {
  std::vector<float> alphas, betas;
};

// What LSTM, GRU and RNN have in common, checked.
struct Recurrence {
  int64_t directions = 1;
  bool first_is_reverse = false;
  bool batch_first = false;
  int64_t steps = 0, batch = 0, features = 0, hidden = 0;
  TensorId x = kNoTensor;        // [T, N, I]
  TensorId lengths = kNoTensor;  // [N] int32, or absent.
  float clip = 0;
  std::vector<v1::CellActivation> activations;  // Of all directions.

  bool reverse(int64_t d) const { return d == 1 || first_is_reverse; }
};

// The next of `values`.
absl::StatusOr<float> Take(const Node& node, const std::string& function,
                           absl::string_view attribute,
                           const Parameter& parameter,
                           std::vector<float>& values) {
  if (!parameter.taken) return 0.0f;
  if (!values.empty()) {
    const float value = values.front();
    values.erase(values.begin());
    return value;
  }
  if (parameter.fallback.has_value()) return *parameter.fallback;
  return node.Invalid(absl::StrCat("activation '", function, "' without ",
                                   attribute, ", which has no default"));
}

absl::StatusOr<v1::CellActivation> OneActivation(const Node& node,
                                                 const std::string& name,
                                                 Parameters& parameters) {
  const std::string lower = absl::AsciiStrToLower(name);
  for (const Activation& known : kActivations) {
    if (known.name != lower) continue;
    v1::CellActivation activation;
    if (known.function == v1::Unary::FUNCTION_UNSPECIFIED) {
      activation.set_relu(true);
      return activation;
    }
    v1::Unary* function = activation.mutable_function();
    function->set_function(known.function);
    EK_ASSIGN_OR_RETURN(
        const float alpha,
        Take(node, name, "activation_alpha", known.alpha, parameters.alphas));
    EK_ASSIGN_OR_RETURN(const float beta, Take(node, name, "activation_beta",
                                               known.beta, parameters.betas));
    function->set_alpha(alpha);
    function->set_beta(beta);
    return activation;
  }
  std::vector<absl::string_view> names;
  for (const Activation& known : kActivations) names.push_back(known.name);
  return node.Unsupported(absl::StrCat("activation '", name, "'"),
                          absl::StrJoin(names, ", "), "use one of these");
}

// `defaults` are those of one direction.
absl::StatusOr<std::vector<v1::CellActivation>> Activations(
    const Node& node, int64_t directions, std::vector<std::string> defaults) {
  std::vector<std::string> names = node.Strings("activations");
  if (names.empty()) {
    for (int64_t d = 0; d < directions; ++d) {
      names.insert(names.end(), defaults.begin(), defaults.end());
    }
  }
  if (names.size() != defaults.size() * static_cast<size_t>(directions)) {
    return node.Invalid(absl::StrCat(names.size(), " activations for ",
                                     directions, " directions"));
  }
  Parameters parameters = {node.Floats("activation_alpha"),
                           node.Floats("activation_beta")};
  std::vector<v1::CellActivation> activations;
  for (const std::string& name : names) {
    EK_ASSIGN_OR_RETURN(v1::CellActivation activation,
                        OneActivation(node, name, parameters));
    activations.push_back(std::move(activation));
  }
  return activations;
}

absl::Status WantShape(const Node& node, const Builder& builder, int index,
                       TensorId id, const std::vector<int64_t>& shape) {
  if (builder.shape(id) == shape) return absl::OkStatus();
  return node.Invalid(absl::StrCat("input ", index, " has shape [",
                                   absl::StrJoin(builder.shape(id), ","),
                                   "], not [", absl::StrJoin(shape, ","), "]"));
}

absl::StatusOr<Recurrence> ReadRecurrence(const Node& node, Builder& builder,
                                          std::vector<std::string> defaults) {
  Recurrence r;
  EK_ASSIGN_OR_RETURN(const int direction,
                      WordAttribute(node, "direction", "forward",
                                    {"forward", "reverse", "bidirectional"}));
  r.directions = direction == 2 ? 2 : 1;
  r.first_is_reverse = direction == 1;
  EK_ASSIGN_OR_RETURN(r.batch_first, node.Flag("layout", false));
  EK_ASSIGN_OR_RETURN(r.clip, node.Float("clip", 0.0f));
  EK_ASSIGN_OR_RETURN(r.activations,
                      Activations(node, r.directions, std::move(defaults)));
  EK_ASSIGN_OR_RETURN(r.x, builder.FloatInput(node, 0));
  EK_ASSIGN_OR_RETURN(const TensorId recurrent, builder.FloatInput(node, 2));
  if (builder.rank(r.x) != 3 || builder.rank(recurrent) != 3) {
    return node.Invalid("the input or the weights have not 3 dimensions");
  }
  if (r.batch_first) {
    EK_ASSIGN_OR_RETURN(r.x,
                        builder.Transpose(node, "time-first", r.x, {1, 0, 2}));
  }
  const std::vector<int64_t>& shape = builder.shape(r.x);
  r.steps = shape[0];
  r.batch = shape[1];
  r.features = shape[2];
  r.hidden = builder.shape(recurrent)[2];
  if (node.has_input(4)) {
    EK_ASSIGN_OR_RETURN(r.lengths, builder.PlainInput(node, 4));
    EK_ASSIGN_OR_RETURN(r.lengths,
                        builder.Cast(node, "lengths", r.lengths, v1::INT32));
  }
  return r;
}

// Slice [d, begin .. begin + extent, ...] of a tensor whose first dimension are
// the directions, without that dimension.
absl::StatusOr<TensorId> Part(const Node& node, Builder& builder,
                              absl::string_view role, TensorId x, int64_t d,
                              int64_t begin, int64_t extent) {
  std::vector<int64_t> first(builder.shape(x).size(), 0);
  std::vector<int64_t> count = builder.shape(x);
  const std::vector<int64_t> ones(first.size(), 1);
  first[0] = d;
  count[0] = 1;
  first[1] = begin;
  count[1] = extent;
  const std::string name = absl::StrCat(role, "-", d);
  if (count != builder.shape(x)) {
    EK_ASSIGN_OR_RETURN(x, builder.Emit(node, absl::StrCat(name, "-part"),
                                        SliceOp(first, count, ones), {x}));
  }
  count.erase(count.begin());
  return builder.Reshape(node, name, x, std::move(count));
}

// An optional input [D, ...] of shape [D, rest...], one direction of it.
absl::StatusOr<TensorId> OptionalPart(const Node& node, Builder& builder,
                                      absl::string_view role,
                                      const Recurrence& r, int index, int64_t d,
                                      int64_t begin, int64_t extent,
                                      int64_t total) {
  if (!node.has_input(index)) return kNoTensor;
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.FloatInput(node, index));
  EK_RETURN_IF_ERROR(WantShape(node, builder, index, x, {r.directions, total}));
  return Part(node, builder, role, x, d, begin, extent);
}

// The weights in input `index`, [D, rows, columns].
absl::StatusOr<TensorId> Weights(const Node& node, Builder& builder,
                                 const Recurrence& r, int index, int64_t d,
                                 int64_t rows, int64_t columns) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.FloatInput(node, index));
  EK_RETURN_IF_ERROR(
      WantShape(node, builder, index, x, {r.directions, rows, columns}));
  return Part(node, builder, index == 1 ? "w" : "r", x, d, 0, rows);
}

// An initial state [N, H]; zero where the model has none.
absl::StatusOr<TensorId> InitialState(const Node& node, Builder& builder,
                                      const Recurrence& r, int index,
                                      int64_t d) {
  const std::string role = absl::StrCat("initial-", index);
  if (!node.has_input(index)) {
    return builder.BroadcastTo(node, role, builder.Scalar(node, r.x, 0),
                               {r.batch, r.hidden});
  }
  EK_ASSIGN_OR_RETURN(TensorId x, builder.FloatInput(node, index));
  if (r.batch_first && builder.rank(x) == 3) {
    EK_ASSIGN_OR_RETURN(
        x, builder.Transpose(node, absl::StrCat(role, "-turn"), x, {1, 0, 2}));
  }
  EK_RETURN_IF_ERROR(
      WantShape(node, builder, index, x, {r.directions, r.batch, r.hidden}));
  return Part(node, builder, role, x, d, 0, r.batch);
}

// Joins what the directions gave, [T, N, H] or [N, H], along a new dimension
// and binds it as output `index`.
absl::Status BindDirections(const Node& node, Builder& builder,
                            const Recurrence& r, int index,
                            std::vector<TensorId> parts) {
  if (!node.has_output(index)) return absl::OkStatus();
  const bool all_steps = builder.rank(parts[0]) == 3;
  const std::string role = absl::StrCat("y", index);
  for (size_t d = 0; d < parts.size(); ++d) {
    std::vector<int64_t> shape = builder.shape(parts[d]);
    shape.insert(shape.begin() + (all_steps ? 1 : 0), 1);
    EK_ASSIGN_OR_RETURN(parts[d],
                        builder.Reshape(node, absl::StrCat(role, "-shaped-", d),
                                        parts[d], std::move(shape)));
  }
  TensorId y = parts[0];
  if (parts.size() > 1) {
    EK_ASSIGN_OR_RETURN(y, builder.Emit(node, absl::StrCat(role, "-joined"),
                                        ConcatOp(all_steps ? 1 : 0), parts));
  }
  if (r.batch_first) {
    EK_ASSIGN_OR_RETURN(
        y, builder.Transpose(node, absl::StrCat(role, "-turned"), y,
                             all_steps ? std::vector<int32_t>{2, 0, 1, 3}
                                       : std::vector<int32_t>{1, 0, 2}));
  }
  return builder.Bind(node, index, y);
}

absl::StatusOr<std::vector<TensorId>> LstmDirection(const Node& node,
                                                    Builder& builder,
                                                    const Recurrence& r,
                                                    int64_t d) {
  const int64_t h = r.hidden;
  EK_ASSIGN_OR_RETURN(const TensorId w,
                      Weights(node, builder, r, 1, d, 4 * h, r.features));
  EK_ASSIGN_OR_RETURN(const TensorId rw,
                      Weights(node, builder, r, 2, d, 4 * h, h));
  EK_ASSIGN_OR_RETURN(TensorId bias, OptionalPart(node, builder, "wb", r, 3, d,
                                                  0, 4 * h, 8 * h));
  if (bias != kNoTensor) {
    EK_ASSIGN_OR_RETURN(
        const TensorId second,
        OptionalPart(node, builder, "rb", r, 3, d, 4 * h, 4 * h, 8 * h));
    EK_ASSIGN_OR_RETURN(bias, builder.Emit(node, absl::StrCat("bias-", d),
                                           AddOp(), {bias, second}));
  }
  EK_ASSIGN_OR_RETURN(const TensorId h0, InitialState(node, builder, r, 5, d));
  EK_ASSIGN_OR_RETURN(const TensorId c0, InitialState(node, builder, r, 6, d));
  EK_ASSIGN_OR_RETURN(
      const TensorId peephole,
      OptionalPart(node, builder, "p", r, 7, d, 0, 3 * h, 3 * h));
  v1::OpAttributes attributes;
  v1::Lstm* op = attributes.mutable_lstm();
  op->set_reverse(r.reverse(d));
  op->set_clip(r.clip);
  *op->mutable_gate() = r.activations[3 * d];
  *op->mutable_cell() = r.activations[3 * d + 1];
  *op->mutable_hidden() = r.activations[3 * d + 2];
  EK_ASSIGN_OR_RETURN(const bool coupled, node.Flag("input_forget", false));
  if (coupled) op->set_coupling(v1::Lstm::FORGET_FROM_INPUT);
  std::vector<TensorId> inputs = {r.x, w, rw, bias, r.lengths, h0, c0};
  if (peephole != kNoTensor) inputs.push_back(peephole);
  const ResultType type = {builder.tensor(r.x).type};
  return builder.EmitAll(node, d == 0 ? "" : "second", std::move(attributes),
                         std::move(inputs), {type, type, type});
}

absl::StatusOr<std::vector<TensorId>> GruDirection(const Node& node,
                                                   Builder& builder,
                                                   const Recurrence& r,
                                                   int64_t d) {
  const int64_t h = r.hidden;
  EK_ASSIGN_OR_RETURN(const TensorId w,
                      Weights(node, builder, r, 1, d, 3 * h, r.features));
  EK_ASSIGN_OR_RETURN(const TensorId rw,
                      Weights(node, builder, r, 2, d, 3 * h, h));
  EK_ASSIGN_OR_RETURN(const TensorId wb, OptionalPart(node, builder, "wb", r, 3,
                                                      d, 0, 3 * h, 6 * h));
  EK_ASSIGN_OR_RETURN(const TensorId rb, OptionalPart(node, builder, "rb", r, 3,
                                                      d, 3 * h, 3 * h, 6 * h));
  EK_ASSIGN_OR_RETURN(const TensorId h0, InitialState(node, builder, r, 5, d));
  v1::OpAttributes attributes;
  v1::Gru* op = attributes.mutable_gru();
  op->set_reverse(r.reverse(d));
  op->set_clip(r.clip);
  *op->mutable_gate() = r.activations[2 * d];
  *op->mutable_hidden() = r.activations[2 * d + 1];
  EK_ASSIGN_OR_RETURN(const bool before,
                      node.Flag("linear_before_reset", false));
  op->set_linear_before_reset(before);
  const ResultType type = {builder.tensor(r.x).type};
  return builder.EmitAll(node, d == 0 ? "" : "second", std::move(attributes),
                         {r.x, w, rw, wb, rb, r.lengths, h0}, {type, type});
}

absl::StatusOr<std::vector<TensorId>> RnnDirection(const Node& node,
                                                   Builder& builder,
                                                   const Recurrence& r,
                                                   int64_t d) {
  const int64_t h = r.hidden;
  EK_ASSIGN_OR_RETURN(const TensorId w,
                      Weights(node, builder, r, 1, d, h, r.features));
  EK_ASSIGN_OR_RETURN(const TensorId rw, Weights(node, builder, r, 2, d, h, h));
  EK_ASSIGN_OR_RETURN(const TensorId wb,
                      OptionalPart(node, builder, "wb", r, 3, d, 0, h, 2 * h));
  EK_ASSIGN_OR_RETURN(const TensorId rb,
                      OptionalPart(node, builder, "rb", r, 3, d, h, h, 2 * h));
  EK_ASSIGN_OR_RETURN(const TensorId h0, InitialState(node, builder, r, 5, d));
  v1::OpAttributes attributes;
  v1::Rnn* op = attributes.mutable_rnn();
  op->set_reverse(r.reverse(d));
  op->set_clip(r.clip);
  *op->mutable_hidden() = r.activations[d];
  const ResultType type = {builder.tensor(r.x).type};
  return builder.EmitAll(node, d == 0 ? "" : "second", std::move(attributes),
                         {r.x, w, rw, wb, rb, r.lengths, h0}, {type, type});
}

template <typename Direction>
absl::Status ConvertDirections(const Node& node, Builder& builder,
                               const Recurrence& r, Direction direction) {
  std::vector<std::vector<TensorId>> outputs;
  for (int64_t d = 0; d < r.directions; ++d) {
    EK_ASSIGN_OR_RETURN(const std::vector<TensorId> results,
                        direction(node, builder, r, d));
    outputs.resize(results.size());
    for (size_t i = 0; i < results.size(); ++i) {
      outputs[i].push_back(results[i]);
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    EK_RETURN_IF_ERROR(BindDirections(node, builder, r, static_cast<int>(i),
                                      std::move(outputs[i])));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ConvertLstm(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(
      const Recurrence r,
      ReadRecurrence(node, builder, {"Sigmoid", "Tanh", "Tanh"}));
  return ConvertDirections(node, builder, r, LstmDirection);
}

absl::Status ConvertGru(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const Recurrence r,
                      ReadRecurrence(node, builder, {"Sigmoid", "Tanh"}));
  return ConvertDirections(node, builder, r, GruDirection);
}

absl::Status ConvertRnn(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const Recurrence r,
                      ReadRecurrence(node, builder, {"Tanh"}));
  return ConvertDirections(node, builder, r, RnnDirection);
}

}  // namespace edgekiln::compiler::onnx_import
