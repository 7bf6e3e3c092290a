// Other shapes for the same values, and shapes as values.

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/axes.h"
#include "compiler/frontend/onnx/converters.h"
#include "compiler/frontend/onnx/ir_ops.h"
#include "compiler/frontend/onnx/tensor_data.h"
#include "ops/shape_inference.h"

namespace edgekiln::compiler::onnx_import {
namespace {

absl::Status BindReshaped(const Node& node, Builder& builder, TensorId x,
                          std::vector<int64_t> shape) {
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      builder.Reshape(node, "", x, std::move(shape)));
  return builder.Bind(node, 0, y);
}

absl::Status BindConstant(const Node& node, Builder& builder, Tensor constant) {
  constant.name = absl::StrCat(builder.prefix(), node.output(0));
  const TensorId id = builder.AddConstant(std::move(constant));
  return builder.Bind(node, 0, id);
}

}  // namespace

absl::Status ConvertReshape(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.Input(node, 0));
  EK_ASSIGN_OR_RETURN(std::vector<int64_t> shape,
                      builder.ConstantIntegers(node, 1));
  EK_ASSIGN_OR_RETURN(const bool allow_zero, node.Flag("allowzero", false));
  const std::vector<int64_t>& from = builder.shape(x);
  int64_t unknown = -1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && !allow_zero) {
      if (i >= from.size()) {
        return node.Invalid("a 0 behind the last dimension");
      }
      shape[i] = from[i];
    } else if (shape[i] == -1) {
      if (unknown >= 0) return node.Invalid("two dimensions are -1");
      unknown = static_cast<int64_t>(i);
      shape[i] = 1;
    }
  }
  if (unknown >= 0) {
    const std::optional<int64_t> known = CheckedProduct(shape);
    const int64_t elements = builder.tensor(x).num_elements();
    if (!known.has_value() || *known == 0 || elements % *known != 0) {
      return node.Invalid(
          absl::StrCat("cannot reshape [", absl::StrJoin(from, ","), "] to [",
                       absl::StrJoin(shape, ","), "] with one free dimension"));
    }
    shape[unknown] = elements / *known;
  }
  return BindReshaped(node, builder, x, std::move(shape));
}

absl::Status ConvertFlatten(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.Input(node, 0));
  const std::vector<int64_t>& shape = builder.shape(x);
  const int64_t rank = builder.rank(x);
  EK_ASSIGN_OR_RETURN(int64_t axis, node.Int("axis", 1));
  if (axis < -rank || axis > rank) {
    return node.Invalid(absl::StrCat("axis ", axis, " of rank ", rank));
  }
  if (axis < 0) axis += rank;
  std::vector<int64_t> matrix = {1, 1};
  for (int64_t i = 0; i < rank; ++i) matrix[i < axis ? 0 : 1] *= shape[i];
  return BindReshaped(node, builder, x, std::move(matrix));
}

absl::Status ConvertSqueeze(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.Input(node, 0));
  const std::vector<int64_t>& from = builder.shape(x);
  EK_ASSIGN_OR_RETURN(const std::vector<int32_t> axes,
                      AxesArgument(node, builder, 1, 13, builder.rank(x)));
  std::vector<int64_t> shape;
  for (int32_t i = 0; i < builder.rank(x); ++i) {
    const bool named = std::binary_search(axes.begin(), axes.end(), i);
    if (named && from[i] != 1) {
      return node.Invalid(
          absl::StrCat("dimension ", i, " has extent ", from[i], ", not 1"));
    }
    if (!(named || (axes.empty() && from[i] == 1))) shape.push_back(from[i]);
  }
  return BindReshaped(node, builder, x, std::move(shape));
}

absl::Status ConvertUnsqueeze(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.Input(node, 0));
  const std::vector<int64_t>& from = builder.shape(x);
  // The axes count the dimensions of the result, whose rank they decide.
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> given,
                      ListArgument(node, builder, "axes", 1, 13));
  const int64_t rank = builder.rank(x) + static_cast<int64_t>(given.size());
  EK_ASSIGN_OR_RETURN(const std::vector<int32_t> axes,
                      AxesArgument(node, builder, 1, 13, rank));
  std::vector<int64_t> shape;
  size_t next = 0;
  for (int32_t i = 0; i < rank; ++i) {
    const bool one = std::binary_search(axes.begin(), axes.end(), i);
    shape.push_back(one ? 1 : from[next++]);
  }
  return BindReshaped(node, builder, x, std::move(shape));
}

absl::Status ConvertShape(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.Input(node, 0));
  const std::vector<int64_t>& shape = builder.shape(x);
  const int64_t rank = builder.rank(x);
  EK_ASSIGN_OR_RETURN(const int64_t start, node.Int("start", 0));
  EK_ASSIGN_OR_RETURN(const int64_t end, node.Int("end", rank));
  const auto [first, count] = SliceRange(start, end, 1, rank);
  const std::vector<int64_t> picked(shape.begin() + first,
                                    shape.begin() + first + count);
  return BindConstant(node, builder, Int64Constant("", {count}, picked));
}

absl::Status ConvertSize(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.Input(node, 0));
  const int64_t elements[] = {builder.tensor(x).num_elements()};
  return BindConstant(node, builder, Int64Constant("", {}, elements));
}

absl::Status ConvertIdentity(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.Input(node, 0));
  return builder.Bind(node, 0, x);
}

absl::Status ConvertDropout(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const int64_t is_test,
                      node.Int("is_test", node.opset() < 7 ? 0 : 1));
  bool training = is_test == 0;
  if (node.has_input(2)) {
    EK_ASSIGN_OR_RETURN(const double mode, builder.ConstantNumber(node, 2));
    training = mode != 0;
  }
  if (training && node.has_input(1)) {
    EK_ASSIGN_OR_RETURN(const double ratio, builder.ConstantNumber(node, 1));
    training = ratio != 0;
  }
  if (training) {
    return node.Unsupported("training mode",
                            "inference, where it passes its input on",
                            "export the model for inference (model.eval())");
  }
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.Input(node, 0));
  if (node.has_output(1)) {
    const TensorId kept = builder.AddConstant(NumberConstant(
        absl::StrCat(builder.prefix(), node.output(1), ".kept"), v1::BOOL, 1));
    EK_ASSIGN_OR_RETURN(
        const TensorId all,
        builder.BroadcastTo(node, "mask", kept, builder.shape(x)));
    EK_RETURN_IF_ERROR(builder.Bind(node, 1, all));
  }
  return builder.Bind(node, 0, x);
}

absl::Status ConvertExpand(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.Input(node, 0));
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> given,
                      builder.ConstantIntegers(node, 1));
  absl::StatusOr<std::vector<int64_t>> shape =
      ops::BroadcastShape(builder.shape(x), given);
  if (!shape.ok()) return node.Invalid(shape.status());
  if (!IsSaneShape(*shape)) {
    return node.TooLarge(
        absl::StrCat("expanding to [", absl::StrJoin(*shape, ","), "]"));
  }
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      builder.BroadcastTo(node, "", x, *std::move(shape)));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertConstant(const Node& node, Builder& builder) {
  if (const onnx::TensorProto* value = node.TensorAttribute("value")) {
    EK_ASSIGN_OR_RETURN(Tensor constant, DecodeTensor(*value, node.output(0)));
    EK_RETURN_IF_ERROR(BindConstant(node, builder, std::move(constant)));
    if (IsFourBit(value->data_type())) {
      builder.MarkFourBit(builder.value(node.output(0)));
    }
    return absl::OkStatus();
  }
  if (node.Has("value_float")) {
    EK_ASSIGN_OR_RETURN(const float value, node.Float("value_float", 0));
    return BindConstant(node, builder, FloatConstant("", {}, {value}));
  }
  if (node.Has("value_int")) {
    EK_ASSIGN_OR_RETURN(const int64_t value, node.Int("value_int", 0));
    return BindConstant(node, builder, Int64Constant("", {}, {value}));
  }
  if (node.Has("value_ints")) {
    EK_ASSIGN_OR_RETURN(const std::vector<int64_t> values,
                        node.Ints("value_ints"));
    const int64_t count = static_cast<int64_t>(values.size());
    return BindConstant(node, builder, Int64Constant("", {count}, values));
  }
  if (node.Has("value_floats")) {
    const std::vector<float> values = node.Floats("value_floats");
    const int64_t count = static_cast<int64_t>(values.size());
    return BindConstant(node, builder, FloatConstant("", {count}, values));
  }
  return node.Unsupported("a constant that is sparse or text", "dense numbers",
                          "export it as a dense tensor");
}

absl::Status ConvertConstantOfShape(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> shape,
                      builder.ConstantIntegers(node, 0));
  Tensor fill = FloatConstant("", {1}, {0.0f});
  if (const onnx::TensorProto* value = node.TensorAttribute("value")) {
    EK_ASSIGN_OR_RETURN(fill, DecodeTensor(*value, node.output(0)));
  }
  const std::optional<int64_t> elements = CheckedProduct(shape);
  const int64_t element_bytes = ElementBytes(fill.type);
  if (fill.num_elements() != 1) {
    return node.Invalid(absl::StrCat("attribute 'value' has ",
                                     fill.num_elements(), " values, not 1"));
  }
  if (!elements.has_value() || !IsSaneShape(shape)) {
    return node.TooLarge(
        absl::StrCat("impossible shape [", absl::StrJoin(shape, ","), "]"));
  }
  constexpr int64_t kMaxBytes = int64_t{1} << 20;
  const int64_t bytes = *elements * element_bytes;
  if (bytes > kMaxBytes || !builder.MayMake(bytes)) {  // Left to run time.
    fill.shape.assign(shape.size(), 1);
    fill.name = absl::StrCat(builder.prefix(), node.output(0), ".number");
    const TensorId number = builder.AddConstant(std::move(fill));
    EK_ASSIGN_OR_RETURN(const TensorId filled,
                        builder.BroadcastTo(node, "", number, shape));
    return builder.Bind(node, 0, filled);
  }
  std::string data;
  data.reserve(static_cast<size_t>(bytes));
  for (int64_t i = 0; i < *elements; ++i) absl::StrAppend(&data, *fill.data);
  fill.shape = shape;
  fill.data = ConstantData(std::move(data));
  return BindConstant(node, builder, std::move(fill));
}

absl::Status ConvertRange(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const double start, builder.ConstantNumber(node, 0));
  EK_ASSIGN_OR_RETURN(const double limit, builder.ConstantNumber(node, 1));
  EK_ASSIGN_OR_RETURN(const double delta, builder.ConstantNumber(node, 2));
  EK_ASSIGN_OR_RETURN(const TensorId first, builder.Input(node, 0));
  const v1::ElementType type = builder.tensor(first).type;
  constexpr double kMaxCount = 1 << 16;
  const double count = std::max(std::ceil((limit - start) / delta), 0.0);
  if (!(count <= kMaxCount) ||
      !builder.MayMake(static_cast<int64_t>(count) * 2 * sizeof(double))) {
    return node.Unsupported(
        absl::StrCat("from ", start, " to ", limit, " in steps of ", delta),
        absl::StrCat(kMaxCount, " values"), "export it as a constant");
  }
  std::vector<double> values;
  for (double i = 0; i < count; ++i) values.push_back(start + i * delta);
  Tensor range =
      NumberConstant(absl::StrCat(builder.prefix(), node.output(0), ".float64"),
                     v1::FLOAT64, start);
  range.shape = {std::ssize(values)};
  range.data =
      ConstantData(std::string(reinterpret_cast<const char*>(values.data()),
                               values.size() * sizeof(double)));
  EK_ASSIGN_OR_RETURN(
      const TensorId id,
      builder.Cast(node, "", builder.AddConstant(std::move(range)), type));
  return builder.Bind(node, 0, id);
}

}  // namespace edgekiln::compiler::onnx_import
