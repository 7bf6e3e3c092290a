#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/tflite/converters.h"

// Simple recurrent cells, over a sequence or one step at a time. The hidden
// state is a variable tensor: an input and an output of the graph.
namespace edgekiln::compiler::tflite_import {
namespace {

using tflite::ActivationFunctionType;

// Inputs of both operators behind x.
constexpr size_t kWeights = 1;
constexpr size_t kRecurrentWeights = 2;
constexpr size_t kBias = 3;
constexpr size_t kState = 4;

absl::Status SetActivation(ActivationFunctionType activation, v1::Rnn& rnn) {
  switch (activation) {
    case ActivationFunctionType::TANH:
      return absl::OkStatus();  // The IR's default.
    case ActivationFunctionType::RELU:
      rnn.mutable_hidden()->set_relu(true);
      return absl::OkStatus();
    case ActivationFunctionType::NONE:
      rnn.mutable_hidden()->set_identity(true);
      return absl::OkStatus();
    default:
      return TfliteUnsupported("activation of an RNN cell", "",
                               "TANH, RELU or NONE", "export with tanh");
  }
}

// All hidden states of time-major `x` [T, N, I], as [T, N, H].
absl::StatusOr<TensorId> Run(Conversion& c, TensorId x,
                             ActivationFunctionType activation) {
  v1::OpAttributes attributes;
  EK_RETURN_IF_ERROR(SetActivation(activation, *attributes.mutable_rnn()));
  EK_ASSIGN_OR_RETURN(const TensorId w, c.Input(kWeights));
  EK_ASSIGN_OR_RETURN(const TensorId r, c.Input(kRecurrentWeights));
  EK_ASSIGN_OR_RETURN(const TensorId bias, c.Input(kBias));
  EK_ASSIGN_OR_RETURN(const TensorId state, c.Input(kState));
  EK_RETURN_IF_ERROR(c.builder().ReadState(state));
  const Tensor type = c.tensor(state);
  const Shape steps = c.shape(x);
  if (type.shape.size() != 2 || steps.size() != 3) {
    return TfliteBroken("shape of an RNN's input or state", "",
                        "[steps, batch, inputs] and [batch, units]");
  }
  const std::string name = c.tensor(c.output()).name;
  const TensorId all =
      c.builder().AddTensor(absl::StrCat(name, "#all"), type,
                            {steps[0], type.shape[0], type.shape[1]});
  const TensorId next =
      c.builder().AddTensor(absl::StrCat(type.name, "#next"), type, type.shape);
  EK_RETURN_IF_ERROR(c.WriteAll(std::move(attributes),
                                {x, w, r, bias, kNoTensor, kNoTensor, state},
                                {all, next}));
  c.builder().WriteState(state, next);
  return all;
}

}  // namespace

absl::Status ConvertSequenceRnn(Conversion& c) {
  const auto* options = c.from().builtin_options_as_SequenceRNNOptions();
  if (options == nullptr) return MissingOptions("SequenceRNNOptions");
  EK_RETURN_IF_ERROR(c.DequantizeWeights(0));
  EK_ASSIGN_OR_RETURN(TensorId x, c.Input(0));
  EK_RETURN_IF_ERROR(c.ShapeOfRank(0, 3).status());
  if (!options->time_major()) {
    EK_ASSIGN_OR_RETURN(x, c.Transpose("time_major", x, {1, 0, 2}));
  }
  EK_ASSIGN_OR_RETURN(const TensorId all,
                      Run(c, x, options->fused_activation_function()));
  if (!options->time_major()) return c.WriteTranspose(all, {1, 0, 2});
  return c.WriteReshape(all, c.shape(all));
}

absl::Status ConvertRnn(Conversion& c) {
  const auto* options = c.from().builtin_options_as_RNNOptions();
  if (options == nullptr) return MissingOptions("RNNOptions");
  EK_RETURN_IF_ERROR(c.DequantizeWeights(0));
  EK_ASSIGN_OR_RETURN(const TensorId x, c.Input(0));
  EK_ASSIGN_OR_RETURN(const Shape shape, c.ShapeOfRank(0, 2));
  EK_ASSIGN_OR_RETURN(const TensorId step,
                      c.Reshape("step", x, {1, shape[0], shape[1]}));
  EK_ASSIGN_OR_RETURN(const TensorId all,
                      Run(c, step, options->fused_activation_function()));
  const Shape states = c.shape(all);
  return c.WriteReshape(all, {states[1], states[2]});
}

}  // namespace edgekiln::compiler::tflite_import
