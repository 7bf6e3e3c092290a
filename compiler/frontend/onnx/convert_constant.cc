// Values that are known while the graph is read: constants, and the shape
// arithmetic that exporters leave in graphs.

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/converters.h"
#include "compiler/frontend/onnx/tensor_data.h"

namespace edgekiln::compiler::onnx_import {
namespace {

absl::Status BindConstant(const Node& node, Builder& builder, Tensor constant) {
  constant.name = node.output(0);
  const TensorId id = builder.AddConstant(std::move(constant));
  return builder.Bind(node, 0, id);
}

// Copies `count` slices of the given dimension, slice i from index(i).
template <typename Index>
Tensor Picked(const Tensor& from, int64_t axis, int64_t count, Index index) {
  int64_t slice_bytes = ElementBytes(from.type);
  int64_t outer = 1;
  for (size_t i = 0; i < from.shape.size(); ++i) {
    if (static_cast<int64_t>(i) > axis) slice_bytes *= from.shape[i];
    if (static_cast<int64_t>(i) < axis) outer *= from.shape[i];
  }
  std::string data;
  for (int64_t row = 0; row < outer; ++row) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = (row * from.shape[axis] + index(i)) * slice_bytes;
      data.append(*from.data, static_cast<size_t>(at),
                  static_cast<size_t>(slice_bytes));
    }
  }
  Tensor picked = from;
  picked.shape[axis] = count;
  picked.data = std::make_shared<const std::string>(std::move(data));
  return picked;
}

// One dimension of a Slice, with numpy's rules for negative and too large
// values. Returns {first, count}.
std::pair<int64_t, int64_t> SliceRange(int64_t start, int64_t end, int64_t step,
                                       int64_t extent) {
  const int64_t low = step > 0 ? 0 : -1;
  const int64_t high = step > 0 ? extent : extent - 1;
  const auto bound = [&](int64_t value) {
    if (value < 0) value = std::max(value, -extent - 1) + extent;
    return std::clamp(value, low, high);
  };
  start = bound(start);
  end = bound(end);
  const int64_t span = step > 0 ? end - start : start - end;
  const int64_t stride = step > 0 ? step : -step;
  return {start, span <= 0 ? 0 : (span - 1) / stride + 1};
}

absl::StatusOr<int64_t> Combine(const Node& node, int64_t a, int64_t b) {
  std::optional<int64_t> result;
  if (node.op_type() == "Add") result = CheckedAdd(a, b);
  if (node.op_type() == "Sub") result = CheckedSub(a, b);
  if (node.op_type() == "Mul") result = CheckedMul(a, b);
  // The smallest number divided by -1 overflows.
  if (node.op_type() == "Div" && b != 0 &&
      !(b == -1 && a == std::numeric_limits<int64_t>::min())) {
    result = a / b;
  }
  if (!result.has_value()) return node.Invalid("the result is no int64");
  return *result;
}

}  // namespace

absl::Status ConvertConstant(const Node& node, Builder& builder) {
  if (const onnx::TensorProto* value = node.TensorAttribute("value")) {
    EK_ASSIGN_OR_RETURN(Tensor constant, DecodeTensor(*value, node.output(0)));
    return BindConstant(node, builder, std::move(constant));
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
  if (*elements > kMaxMadeConstantBytes / element_bytes) {
    return node.Unsupported(
        absl::StrCat("a constant of ", *elements, " elements"),
        absl::StrCat(kMaxMadeConstantBytes, " bytes"),
        "use a smaller constant");
  }
  std::string data;
  for (int64_t i = 0; i < *elements; ++i) data.append(*fill.data);
  fill.shape = shape;
  fill.data = std::make_shared<const std::string>(std::move(data));
  return BindConstant(node, builder, std::move(fill));
}

absl::Status ConvertShape(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.Input(node, 0));
  const std::vector<int64_t>& shape = builder.shape(x);
  const int64_t rank = static_cast<int64_t>(shape.size());
  EK_ASSIGN_OR_RETURN(const int64_t start, node.Int("start", 0));
  EK_ASSIGN_OR_RETURN(const int64_t end, node.Int("end", rank));
  const auto [first, count] = SliceRange(start, end, 1, rank);
  const std::vector<int64_t> picked(shape.begin() + first,
                                    shape.begin() + first + count);
  return BindConstant(node, builder, Int64Constant("", {count}, picked));
}

absl::Status ConvertGather(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const Tensor* data, builder.ConstantInput(node, 0));
  EK_ASSIGN_OR_RETURN(const Tensor* indices, builder.ConstantInput(node, 1));
  EK_ASSIGN_OR_RETURN(std::vector<int64_t> index, IntegerValues(*indices),
                      node.Label());
  const int64_t rank = static_cast<int64_t>(data->shape.size());
  EK_ASSIGN_OR_RETURN(int64_t axis, node.Int("axis", 0));
  if (axis < -rank || axis >= rank) {
    return node.Invalid(absl::StrCat("axis ", axis, " of rank ", rank));
  }
  if (axis < 0) axis += rank;
  for (int64_t& i : index) {
    const int64_t extent = data->shape[axis];
    if (i < -extent || i >= extent) {
      return node.Invalid(absl::StrCat("index ", i, " of ", extent));
    }
    if (i < 0) i += extent;
  }
  const int64_t count = static_cast<int64_t>(index.size());
  if (count > 0 && data->shape[axis] > 0 &&
      static_cast<int64_t>(data->data->size()) / data->shape[axis] >
          kMaxMadeConstantBytes / count) {
    return node.Unsupported("a constant of this size",
                            absl::StrCat(kMaxMadeConstantBytes, " bytes"),
                            "gather before exporting");
  }
  Tensor picked =
      Picked(*data, axis, count, [&index](int64_t i) { return index[i]; });
  picked.shape.erase(picked.shape.begin() + axis);
  picked.shape.insert(picked.shape.begin() + axis, indices->shape.begin(),
                      indices->shape.end());
  return BindConstant(node, builder, std::move(picked));
}

absl::Status ConvertSlice(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const Tensor* data, builder.ConstantInput(node, 0));
  std::vector<std::vector<int64_t>> lists(4);  // starts, ends, axes, steps
  if (node.opset() < 10) {
    EK_ASSIGN_OR_RETURN(lists[0], node.Ints("starts"));
    EK_ASSIGN_OR_RETURN(lists[1], node.Ints("ends"));
    EK_ASSIGN_OR_RETURN(lists[2], node.Ints("axes"));
  } else {
    for (int i = 0; i < 4; ++i) {
      if (!node.has_input(i + 1)) continue;
      EK_ASSIGN_OR_RETURN(lists[i], builder.ConstantIntegers(node, i + 1));
    }
  }
  const size_t count = lists[0].size();
  if (lists[2].empty()) {
    for (size_t i = 0; i < count; ++i) lists[2].push_back(i);
  }
  if (lists[3].empty()) lists[3].assign(count, 1);
  Tensor result = *data;
  const int64_t rank = static_cast<int64_t>(result.shape.size());
  for (size_t i = 0; i < count; ++i) {
    if (lists[1].size() != count || lists[2].size() != count ||
        lists[3].size() != count || lists[2][i] < -rank ||
        lists[2][i] >= rank || lists[3][i] == 0 ||
        lists[3][i] == std::numeric_limits<int64_t>::min()) {
      return node.Invalid("starts, ends, axes and steps do not fit together");
    }
    const int64_t axis = lists[2][i] < 0 ? lists[2][i] + rank : lists[2][i];
    const int64_t step = lists[3][i];
    const auto [first, picked] =
        SliceRange(lists[0][i], lists[1][i], step, result.shape[axis]);
    result = Picked(result, axis, picked, [first = first, step](int64_t k) {
      return first + k * step;
    });
  }
  return BindConstant(node, builder, std::move(result));
}

absl::Status ConvertCast(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.Input(node, 0));
  EK_ASSIGN_OR_RETURN(const int64_t to, node.Int("to", 0));
  const v1::ElementType type = to >= 0 && to < 64
                                   ? ElementTypeOf(static_cast<int32_t>(to))
                                   : v1::ELEMENT_TYPE_UNSPECIFIED;
  if (type == builder.tensor(x).type) return builder.Bind(node, 0, x);
  if (builder.tensor(x).is_constant()) {
    const Tensor& constant = builder.tensor(x);
    if (constant.type == v1::INT32 && type == v1::INT64) {
      EK_ASSIGN_OR_RETURN(const std::vector<int64_t> values,
                          IntegerValues(constant), node.Label());
      return BindConstant(node, builder,
                          Int64Constant("", constant.shape, values));
    }
    if ((constant.type == v1::INT64 || constant.type == v1::INT32) &&
        type == v1::FLOAT32) {
      EK_ASSIGN_OR_RETURN(const std::vector<int64_t> values,
                          IntegerValues(constant), node.Label());
      return BindConstant(
          node, builder,
          FloatConstant("", constant.shape,
                        std::vector<float>(values.begin(), values.end())));
    }
  }
  return node.Unsupported(
      absl::StrCat("from ", v1::ElementType_Name(builder.tensor(x).type),
                   " to ", OnnxTypeName(static_cast<int32_t>(to))),
      "casts that change nothing, and integer constants to INT64 or FLOAT",
      "export with float32 tensors throughout");
}

bool IsIntegerArithmetic(const Node& node, const Builder& builder) {
  const std::string& type = node.op_type();
  if (type != "Add" && type != "Sub" && type != "Mul" && type != "Div") {
    return false;
  }
  for (int i = 0; i < 2; ++i) {
    const absl::StatusOr<TensorId> input = builder.Input(node, i);
    if (!input.ok() || !builder.tensor(*input).is_constant() ||
        builder.tensor(*input).type != v1::INT64) {
      return false;
    }
  }
  return true;
}

absl::Status ConvertIntegerArithmetic(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const Tensor* ta, builder.ConstantInput(node, 0));
  EK_ASSIGN_OR_RETURN(const Tensor* tb, builder.ConstantInput(node, 1));
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> a, IntegerValues(*ta),
                      node.Label());
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> b, IntegerValues(*tb),
                      node.Label());
  if (a.size() != b.size() && a.size() != 1 && b.size() != 1) {
    return node.Unsupported("broadcasting of integers",
                            "equal shapes or a single number",
                            "export with constant folding");
  }
  const size_t count = a.size() == 1 ? b.size() : a.size();
  std::vector<int64_t> values;
  for (size_t i = 0; i < count; ++i) {
    EK_ASSIGN_OR_RETURN(
        const int64_t value,
        Combine(node, a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]));
    values.push_back(value);
  }
  const bool shape_of_b =
      a.size() == 1 && (b.size() != 1 || tb->shape.size() > ta->shape.size());
  return BindConstant(
      node, builder,
      Int64Constant("", shape_of_b ? tb->shape : ta->shape, values));
}

}  // namespace edgekiln::compiler::onnx_import
