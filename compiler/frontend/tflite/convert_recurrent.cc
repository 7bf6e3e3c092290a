#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/frontend/tflite/converters.h"
#include "compiler/ir/tensor_views.h"
#include "ops/shape_inference.h"

// Cells with a state: their variable tensors become inputs and outputs of the
// graph.
namespace edgekiln::compiler::tflite_import {
namespace {

// Inputs of UNIDIRECTIONAL_SEQUENCE_LSTM. Where there is one for each gate, in
// the order of the IR: input, output, forget, cell.
constexpr size_t kInputWeights[] = {1, 4, 2, 3};
constexpr size_t kRecurrentWeights[] = {5, 8, 6, 7};
constexpr size_t kPeephole[] = {9, 11, 10};  // The cell has none.
constexpr size_t kBias[] = {12, 15, 13, 14};
constexpr size_t kProjection = 16;
constexpr size_t kProjectionBias = 17;
constexpr size_t kHiddenState = 18;
constexpr size_t kCellState = 19;
constexpr size_t kLayerNorm[] = {20, 23, 21, 22};

// Scales and zero points of one gate, one for each row.
void AppendRows(const Tensor& gate, int64_t rows, Quantization& joined) {
  for (int64_t row = 0; row < rows; ++row) {
    const size_t at = gate.quantization->per_channel() ? row : 0;
    joined.scale.push_back(gate.quantization->scale[at]);
    joined.zero_point.push_back(gate.quantization->zero_point[at]);
  }
}

absl::Status CheckGate(const Tensor& gate, const Tensor& like) {
  const bool arity = !gate.quantization.has_value() ||
                     !gate.quantization->per_channel() ||
                     (gate.quantization->axis == 0 && !gate.shape.empty() &&
                      std::ssize(gate.quantization->scale) == gate.shape[0]);
  if (gate.is_constant() && gate.type == like.type &&
      gate.shape == like.shape && !gate.shape.empty() && arity &&
      gate.quantization.has_value() == like.quantization.has_value()) {
    return absl::OkStatus();
  }
  return TfliteUnsupported(
      absl::StrCat("gate '", SanitizeText(gate.name, 80), "' of an LSTM"), "",
      "constants of one type and shape for all gates",
      "export the cell with constant weights");
}

// The constants of all gates as one, below each other; zeros for a gate that is
// absent. kNoTensor if all are.
absl::StatusOr<TensorId> JoinGates(Conversion& c, absl::string_view role,
                                   absl::Span<const size_t> inputs) {
  TensorId first = kNoTensor;
  for (const size_t input : inputs) {
    if (c.Has(input)) first = c.OptionalInput(input);
  }
  if (first == kNoTensor) return kNoTensor;
  Tensor joined;
  const Tensor& like = c.tensor(first);
  joined.type = like.type;
  EK_RETURN_IF_ERROR(CheckGate(like, like));
  const int64_t rows = like.shape[0];
  if (like.quantization.has_value()) joined.quantization.emplace();
  // Before the copies: the same bytes may be all gates of many operators.
  if (!c.builder().reader().CanSpend(std::ssize(*like.data) *
                                     std::ssize(inputs))) {
    return TfliteBroken("the model describes far more than its file holds", "");
  }
  std::string data;
  for (const size_t input : inputs) {
    const Tensor& gate = c.Has(input) ? c.tensor(c.OptionalInput(input)) : like;
    EK_RETURN_IF_ERROR(CheckGate(gate, like));
    if (c.Has(input)) {
      absl::StrAppend(&data, *gate.data);
    } else {
      data.append(like.data->size(), '\0');
    }
    if (joined.quantization.has_value()) {
      AppendRows(gate, rows, *joined.quantization);
    }
  }
  Shape shape = like.shape;
  shape[0] = rows * std::ssize(inputs);
  return c.builder().AddConstant(
      absl::StrCat(c.tensor(c.output()).name, "#", std::string(role)), joined,
      std::move(shape), std::move(data));
}

absl::Status SetActivation(tflite::ActivationFunctionType activation,
                           v1::Lstm& lstm) {
  switch (activation) {
    case tflite::ActivationFunctionType::TANH:
      return absl::OkStatus();  // The IR's default.
    case tflite::ActivationFunctionType::RELU:
      lstm.mutable_cell()->set_relu(true);
      lstm.mutable_hidden()->set_relu(true);
      return absl::OkStatus();
    case tflite::ActivationFunctionType::NONE:
      lstm.mutable_cell()->set_identity(true);
      lstm.mutable_hidden()->set_identity(true);
      return absl::OkStatus();
    default:
      return TfliteUnsupported("activation of an LSTM cell", "",
                               "TANH, RELU or NONE", "export with tanh");
  }
}

// How the integer form quantizes inside: the results of the gates' matrices in
// the order of the IR, then the hidden state before its projection.
absl::Status SetIntermediates(Conversion& c, v1::Lstm& lstm) {
  EK_ASSIGN_OR_RETURN(const auto ids,
                      c.builder().Operands(c.from().intermediates()),
                      "intermediates");
  if (ids.empty()) return absl::OkStatus();
  if (ids.size() != 5) {
    return TfliteUnsupported(
        absl::StrCat("an LSTM with ", ids.size(), " intermediates"), "",
        "5, those of int8 activations and cells of int16",
        "convert with cells of int16 (the converter's default)");
  }
  for (const size_t i : {0, 3, 1, 2, 4}) {
    v1::Quantization& out = *lstm.add_intermediate();
    if (ids[i] == kNoTensor) continue;
    const Tensor& tensor = c.tensor(ids[i]);
    if (!tensor.quantization.has_value()) continue;
    out.add_scale(tensor.quantization->scale[0]);
    out.add_zero_point(tensor.quantization->zero_point[0]);
  }
  return absl::OkStatus();
}

// The tensors an IR LSTM reads after x.
absl::StatusOr<std::vector<TensorId>> LstmOperands(Conversion& c) {
  EK_ASSIGN_OR_RETURN(const TensorId w, JoinGates(c, "w", kInputWeights));
  EK_ASSIGN_OR_RETURN(const TensorId r, JoinGates(c, "r", kRecurrentWeights));
  EK_ASSIGN_OR_RETURN(const TensorId bias, JoinGates(c, "bias", kBias));
  EK_ASSIGN_OR_RETURN(const TensorId peephole,
                      JoinGates(c, "peephole", kPeephole));
  EK_ASSIGN_OR_RETURN(const TensorId norm,
                      JoinGates(c, "layer_norm", kLayerNorm));
  EK_ASSIGN_OR_RETURN(const TensorId hidden, c.Input(kHiddenState));
  EK_ASSIGN_OR_RETURN(const TensorId cell, c.Input(kCellState));
  EK_RETURN_IF_ERROR(c.builder().ReadState(hidden));
  EK_RETURN_IF_ERROR(c.builder().ReadState(cell));
  return std::vector<TensorId>{w,
                               r,
                               bias,
                               kNoTensor,
                               hidden,
                               cell,
                               peephole,
                               c.OptionalInput(kProjection),
                               c.OptionalInput(kProjectionBias),
                               norm};
}

// A tensor like the state `id`, for what it becomes.
TensorId NextState(Conversion& c, TensorId id) {
  const Tensor state = c.tensor(id);
  return c.builder().AddTensor(absl::StrCat(state.name, "#next"), state,
                               state.shape);
}

}  // namespace

absl::Status ConvertLstm(Conversion& c) {
  const auto* options =
      c.from().builtin_options_as_UnidirectionalSequenceLSTMOptions();
  if (options == nullptr) {
    return MissingOptions("UnidirectionalSequenceLSTMOptions");
  }
  if (options->diagonal_recurrent_tensors()) {
    return TfliteUnsupported("diagonal recurrent weights", "", "full matrices",
                             "export the full matrices");
  }
  EK_RETURN_IF_ERROR(c.DequantizeWeights(0));
  EK_ASSIGN_OR_RETURN(TensorId x, c.Input(0));
  EK_RETURN_IF_ERROR(c.ShapeOfRank(0, 3).status());
  v1::OpAttributes attributes;
  v1::Lstm& lstm = *attributes.mutable_lstm();
  EK_RETURN_IF_ERROR(SetActivation(options->fused_activation_function(), lstm));
  lstm.set_cell_clip(options->cell_clip());
  lstm.set_projection_clip(options->proj_clip());
  if (!c.Has(kInputWeights[0])) {
    lstm.set_coupling(v1::Lstm::INPUT_FROM_FORGET);
  }
  EK_RETURN_IF_ERROR(SetIntermediates(c, lstm));
  EK_ASSIGN_OR_RETURN(std::vector<TensorId> inputs, LstmOperands(c));
  if (!options->time_major()) {
    EK_ASSIGN_OR_RETURN(x, c.Transpose("time_major", x, {1, 0, 2}));
  }
  inputs.insert(inputs.begin(), x);
  while (inputs.back() == kNoTensor) inputs.pop_back();
  const TensorId hidden = inputs[5];
  const TensorId cell = inputs[6];
  EK_ASSIGN_OR_RETURN(
      const std::vector<Shape> shapes,
      ops::InferShapes(attributes, ViewsOf(c.builder().graph(), inputs)));
  TensorId all = c.output();
  if (!options->time_major() || c.builder().HasOpenShape(all)) {
    const Tensor type = c.tensor(all);
    all =
        c.builder().AddTensor(absl::StrCat(type.name, "#all"), type, shapes[0]);
  }
  const TensorId next_hidden = NextState(c, hidden);
  const TensorId next_cell = NextState(c, cell);
  EK_RETURN_IF_ERROR(c.WriteAll(std::move(attributes), std::move(inputs),
                                {all, next_hidden, next_cell}));
  c.builder().WriteState(hidden, next_hidden);
  c.builder().WriteState(cell, next_cell);
  if (!options->time_major()) return c.WriteTranspose(all, {1, 0, 2});
  return all == c.output() ? absl::OkStatus() : c.WriteReshape(all, shapes[0]);
}

// Inputs: x, feature weights, time weights, bias, state.
absl::Status ConvertSvdf(Conversion& c) {
  const auto* options = c.from().builtin_options_as_SVDFOptions();
  if (options == nullptr) return MissingOptions("SVDFOptions");
  EK_RETURN_IF_ERROR(c.DequantizeWeights(0));
  std::vector<TensorId> inputs;
  for (const size_t i : {0, 1, 2, 3, 4}) {
    inputs.push_back(c.OptionalInput(i));
    if (i != 3) EK_RETURN_IF_ERROR(c.Input(i).status());
  }
  const TensorId state = inputs[4];
  EK_RETURN_IF_ERROR(c.builder().ReadState(state));
  v1::OpAttributes attributes;
  v1::Svdf& svdf = *attributes.mutable_svdf();
  svdf.set_rank(options->rank());
  if (options->fused_activation_function() !=
      tflite::ActivationFunctionType::NONE) {
    EK_RETURN_IF_ERROR(
        SetClamp(options->fused_activation_function(), *svdf.mutable_clamp()));
  }
  const TensorId next = NextState(c, state);
  EK_RETURN_IF_ERROR(
      c.WriteAll(std::move(attributes), std::move(inputs), {c.output(), next}));
  c.builder().WriteState(state, next);
  return absl::OkStatus();
}

}  // namespace edgekiln::compiler::tflite_import
