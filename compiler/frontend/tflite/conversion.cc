#include "compiler/frontend/tflite/conversion.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/ir/tensor_views.h"
#include "ops/shape_inference.h"

namespace edgekiln::compiler::tflite_import {
namespace {

using tflite::ActivationFunctionType;

// Sizes of a split are the longest list of integers.
constexpr int64_t kMaxInts = 1024;

// Where the op keeps a fused clamp; null if it has none.
v1::Clamp* ClampOf(v1::OpAttributes& op) {
  switch (op.op_case()) {
    case v1::OpAttributes::kConv2D:
      return op.mutable_conv2d()->mutable_clamp();
    case v1::OpAttributes::kDepthwiseConv2D:
      return op.mutable_depthwise_conv2d()->mutable_clamp();
    case v1::OpAttributes::kFullyConnected:
      return op.mutable_fully_connected()->mutable_clamp();
    case v1::OpAttributes::kTransposedConv:
      return op.mutable_transposed_conv()->mutable_clamp();
    case v1::OpAttributes::kAdd:
      return op.mutable_add()->mutable_clamp();
    case v1::OpAttributes::kMul:
      return op.mutable_mul()->mutable_clamp();
    case v1::OpAttributes::kBinary:
      return op.mutable_binary()->mutable_clamp();
    case v1::OpAttributes::kAveragePool2D:
      return op.mutable_average_pool2d()->mutable_clamp();
    case v1::OpAttributes::kMaxPool2D:
      return op.mutable_max_pool2d()->mutable_clamp();
    case v1::OpAttributes::kSvdf:
      return op.mutable_svdf()->mutable_clamp();
    default:
      return nullptr;
  }
}

std::string ShapeText(const Shape& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ","), "]");
}

}  // namespace

absl::Status MissingOptions(absl::string_view table) {
  return TfliteBroken(absl::StrCat("no ", std::string(table)), "",
                      "the options that belong to the operator");
}

absl::StatusOr<int32_t> NormalAxis(int64_t axis, size_t rank) {
  const int64_t normal = axis < 0 ? axis + static_cast<int64_t>(rank) : axis;
  if (normal < 0 || normal >= static_cast<int64_t>(rank)) {
    return TfliteBroken(absl::StrCat("axis ", axis, " of ", rank), "");
  }
  return static_cast<int32_t>(normal);
}

absl::Status SetClamp(ActivationFunctionType activation, v1::Clamp& clamp) {
  switch (activation) {
    case ActivationFunctionType::RELU:
      clamp.set_min(0);
      return absl::OkStatus();
    case ActivationFunctionType::RELU6:
      clamp.set_min(0);
      clamp.set_max(6);
      return absl::OkStatus();
    case ActivationFunctionType::RELU_N1_TO_1:
      clamp.set_min(-1);
      clamp.set_max(1);
      return absl::OkStatus();
    default: {
      const char* name = tflite::EnumNameActivationFunctionType(activation);
      return TfliteUnsupported(
          absl::StrCat("fused activation ", name[0] != '\0' ? name : "unknown"),
          "", "NONE, RELU, RELU6, RELU_N1_TO_1; TANH on float tensors",
          "apply the activation as an op of its own");
    }
  }
}

Conversion::Conversion(const tflite::Operator& from,
                       tflite::BuiltinOperator code,
                       std::vector<TensorId> inputs,
                       std::vector<TensorId> outputs, std::string fallback_id,
                       GraphBuilder& builder)
    : from_(from),
      code_(code),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      fallback_id_(std::move(fallback_id)),
      builder_(builder) {}

bool Conversion::Has(size_t input) const {
  return input < inputs_.size() && inputs_[input] != kNoTensor;
}

TensorId Conversion::OptionalInput(size_t index) const {
  return index < inputs_.size() ? inputs_[index] : kNoTensor;
}

absl::StatusOr<TensorId> Conversion::Input(size_t index) const {
  if (Has(index)) return inputs_[index];
  return TfliteBroken(absl::StrCat("input ", index, " is missing"), "");
}

absl::StatusOr<Shape> Conversion::ShapeOfRank(size_t input, size_t rank) const {
  EK_ASSIGN_OR_RETURN(const TensorId id, Input(input));
  if (tensor(id).shape.size() == rank) return tensor(id).shape;
  return TfliteUnsupported(
      absl::StrCat("input ", input, " '", SanitizeText(tensor(id).name, 80),
                   "' of rank ", tensor(id).shape.size()),
      "", absl::StrCat("rank ", rank), "reshape the tensor");
}

absl::StatusOr<std::vector<int64_t>> Conversion::Ints(size_t input) const {
  EK_ASSIGN_OR_RETURN(const TensorId id, Input(input));
  const Tensor& from = tensor(id);
  const bool ints = from.type == v1::INT32 || from.type == v1::INT64;
  if (!from.is_constant() || !ints) {
    return TfliteUnsupported(
        absl::StrCat("input ", input, " '", SanitizeText(from.name, 80),
                     "' is not a constant of integers"),
        "", "INT32 or INT64 values that do not depend on the input's",
        "export the model with static shapes");
  }
  if (from.num_elements() > kMaxInts) {
    return TfliteBroken(absl::StrCat("input ", input, " is too long"), "",
                        absl::StrCat("at most ", kMaxInts));
  }
  const auto bytes = static_cast<size_t>(ElementBytes(from.type));
  std::vector<int64_t> values;
  for (size_t at = 0; at + bytes <= from.data->size(); at += bytes) {
    // Little-endian; sign extension by the narrower type.
    int64_t wide = 0;
    int32_t narrow = 0;
    std::memcpy(&wide, from.data->data() + at, bytes);
    std::memcpy(&narrow, from.data->data() + at, sizeof(narrow));
    values.push_back(bytes == sizeof(narrow) ? narrow : wide);
  }
  return values;
}

absl::StatusOr<int64_t> Conversion::Int(size_t input) const {
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> values, Ints(input));
  if (values.size() == 1) return values[0];
  return TfliteBroken(
      absl::StrCat("input ", input, " of ", values.size(), " elements"), "",
      "one element");
}

absl::Status Conversion::DequantizeWeights(size_t activation) {
  EK_ASSIGN_OR_RETURN(const TensorId x, Input(activation));
  if (tensor(x).type != v1::FLOAT32) return absl::OkStatus();
  Tensor plain;
  plain.type = v1::FLOAT32;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!Has(i) || !tensor(inputs_[i]).is_constant()) continue;
    const Tensor& w = tensor(inputs_[i]);
    v1::OpAttributes attributes;
    if (w.type == v1::FLOAT16) {
      attributes.mutable_cast();
    } else if ((w.type == v1::INT8 || w.type == v1::UINT8) &&
               w.quantization.has_value()) {
      attributes.mutable_dequantize();
    } else {
      continue;
    }
    const TensorId as_float =
        builder_.AddTensor(absl::StrCat(w.name, "#float"), plain, w.shape);
    EK_RETURN_IF_ERROR(
        WriteAll(std::move(attributes), {inputs_[i]}, {as_float}));
    inputs_[i] = as_float;
  }
  return absl::OkStatus();
}

absl::StatusOr<TensorId> Conversion::Emit(absl::string_view role,
                                          v1::OpAttributes attributes,
                                          std::vector<TensorId> inputs,
                                          TensorId like) {
  EK_ASSIGN_OR_RETURN(
      std::vector<Shape> shapes,
      ops::InferShapes(attributes, ViewsOf(builder_.graph(), inputs)));
  const Tensor type = tensor(like);  // A copy: the tensors are about to move.
  const TensorId id = builder_.AddTensor(
      absl::StrCat(tensor(output()).name, "#", std::string(role)), type,
      std::move(shapes[0]));
  EK_RETURN_IF_ERROR(WriteAll(std::move(attributes), std::move(inputs), {id}));
  return id;
}

absl::StatusOr<TensorId> Conversion::Reshape(absl::string_view role, TensorId x,
                                             Shape shape) {
  if (tensor(x).shape == shape) return x;
  v1::OpAttributes attributes;
  attributes.mutable_reshape();
  const Tensor type = tensor(x);
  const TensorId id = builder_.AddTensor(
      absl::StrCat(tensor(output()).name, "#", std::string(role)), type,
      std::move(shape));
  EK_RETURN_IF_ERROR(WriteAll(std::move(attributes), {x}, {id}));
  return id;
}

absl::StatusOr<TensorId> Conversion::Transpose(
    absl::string_view role, TensorId x,
    const std::vector<int32_t>& permutation) {
  v1::OpAttributes attributes;
  attributes.mutable_transpose()->mutable_permutation()->Add(
      permutation.begin(), permutation.end());
  return Emit(role, std::move(attributes), {x}, x);
}

// The file says 1 where a shape is open, and nothing where a rank is.
absl::Status Conversion::AdoptShape(TensorId id, const Shape& inferred) {
  const Shape& stated = tensor(id).shape;
  if (stated == inferred) return absl::OkStatus();
  if (builder_.HasOpenShape(id) || stated.empty()) {
    builder_.SetShape(id, inferred);
    return absl::OkStatus();
  }
  return TfliteBroken(
      absl::StrCat("output '", SanitizeText(tensor(id).name, 80),
                   "' has shape ", ShapeText(stated)),
      "", ShapeText(inferred));
}

absl::Status Conversion::Write(v1::OpAttributes attributes,
                               std::vector<TensorId> inputs, size_t output) {
  EK_ASSIGN_OR_RETURN(
      const std::vector<Shape> shapes,
      ops::InferShapes(attributes, ViewsOf(builder_.graph(), inputs)));
  EK_RETURN_IF_ERROR(AdoptShape(outputs_[output], shapes[0]));
  return WriteAll(std::move(attributes), std::move(inputs), {outputs_[output]});
}

absl::Status Conversion::WriteAll(v1::OpAttributes attributes,
                                  std::vector<TensorId> inputs,
                                  std::vector<TensorId> outputs) {
  Op op;
  op.name = tensor(outputs[0]).name;
  op.attributes = std::move(attributes);
  op.inputs = std::move(inputs);
  op.outputs = std::move(outputs);
  return builder_.Append(std::move(op), fallback_id_);
}

absl::Status Conversion::WriteActivated(v1::OpAttributes attributes,
                                        std::vector<TensorId> inputs,
                                        ActivationFunctionType activation) {
  if (activation == ActivationFunctionType::NONE) {
    return Write(std::move(attributes), std::move(inputs));
  }
  v1::OpAttributes activate;
  if (activation == ActivationFunctionType::TANH &&
      tensor(output()).type == v1::FLOAT32) {
    activate.mutable_unary()->set_function(v1::Unary::TANH);
  } else {
    v1::Clamp clamp;
    EK_RETURN_IF_ERROR(SetClamp(activation, clamp));
    if (v1::Clamp* fused = ClampOf(attributes); fused != nullptr) {
      *fused = clamp;
      return Write(std::move(attributes), std::move(inputs));
    }
    *activate.mutable_clip()->mutable_clamp() = clamp;
  }
  EK_ASSIGN_OR_RETURN(const TensorId before,
                      Emit("before_activation", std::move(attributes),
                           std::move(inputs), output()));
  return Write(std::move(activate), {before});
}

absl::Status Conversion::WriteReshape(TensorId x, Shape shape, size_t output) {
  EK_RETURN_IF_ERROR(AdoptShape(outputs_[output], shape));
  v1::OpAttributes attributes;
  attributes.mutable_reshape();
  return WriteAll(std::move(attributes), {x}, {outputs_[output]});
}

absl::Status Conversion::WriteTranspose(
    TensorId x, const std::vector<int32_t>& permutation) {
  v1::OpAttributes attributes;
  attributes.mutable_transpose()->mutable_permutation()->Add(
      permutation.begin(), permutation.end());
  return Write(std::move(attributes), {x});
}

absl::Status Conversion::WriteConstant(Shape shape, std::string data) {
  const Tensor type = tensor(output());
  EK_ASSIGN_OR_RETURN(const TensorId value,
                      builder_.AddConstant(absl::StrCat(type.name, "#value"),
                                           type, shape, std::move(data)));
  return WriteReshape(value, std::move(shape));
}

}  // namespace edgekiln::compiler::tflite_import
