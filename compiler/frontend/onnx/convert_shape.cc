// Ops that move values around without computing on them.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
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

// Axes given as an attribute or, from op set 13 on, as input 1; non-negative,
// ascending, each once. Empty if not given.
absl::StatusOr<std::vector<int64_t>> Axes(const Node& node,
                                          const Builder& builder,
                                          int64_t rank) {
  std::vector<int64_t> axes;
  if (node.opset() < 13) {
    EK_ASSIGN_OR_RETURN(axes, node.Ints("axes"));
  } else if (node.has_input(1)) {
    EK_ASSIGN_OR_RETURN(axes, builder.ConstantIntegers(node, 1));
  }
  for (int64_t& axis : axes) {
    if (axis < -rank || axis >= rank) {
      return node.Invalid(absl::StrCat("axis ", axis, " of rank ", rank));
    }
    if (axis < 0) axis += rank;
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) {
    return node.Invalid("an axis is given twice");
  }
  return axes;
}

absl::Status BindReshaped(const Node& node, Builder& builder, TensorId x,
                          std::vector<int64_t> shape) {
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      builder.Reshape(node, "", x, std::move(shape)));
  return builder.Bind(node, 0, y);
}

// Joins constants byte by byte, whatever their type.
absl::StatusOr<Tensor> JoinedConstants(const Node& node, const Builder& builder,
                                       const std::vector<TensorId>& parts,
                                       int32_t axis) {
  Tensor joined = builder.tensor(parts[0]);
  joined.shape[axis] = 0;
  int64_t total_bytes = 0;
  for (const TensorId part : parts) {
    const Tensor& tensor = builder.tensor(part);
    std::vector<int64_t> expected = joined.shape;
    expected[axis] = tensor.shape[axis];
    if (tensor.shape != expected || tensor.type != joined.type) {
      return node.Invalid("the inputs do not fit together");
    }
    joined.shape[axis] += tensor.shape[axis];
    total_bytes += static_cast<int64_t>(tensor.data->size());
    if (total_bytes > kMaxMadeConstantBytes) {
      return node.Unsupported("a joined constant of this size",
                              absl::StrCat(kMaxMadeConstantBytes, " bytes"),
                              "join the constants before exporting");
    }
  }
  int64_t rows = 1;
  for (int32_t i = 0; i < axis; ++i) rows *= joined.shape[i];
  std::string data;
  for (int64_t row = 0; row < rows; ++row) {
    for (const TensorId part : parts) {
      const std::string& values = *builder.tensor(part).data;
      const size_t row_bytes = values.size() / static_cast<size_t>(rows);
      data.append(values, static_cast<size_t>(row) * row_bytes, row_bytes);
    }
  }
  joined.data = std::make_shared<const std::string>(std::move(data));
  return joined;
}

// {before..., after...} of Pad for every dimension.
absl::StatusOr<std::vector<int64_t>> PadAmounts(const Node& node,
                                                const Builder& builder,
                                                int64_t rank) {
  std::vector<int64_t> given;
  if (node.opset() < 11) {
    EK_ASSIGN_OR_RETURN(given, node.Ints("pads"));
  } else {
    EK_ASSIGN_OR_RETURN(given, builder.ConstantIntegers(node, 1));
  }
  std::vector<int64_t> axes;
  if (node.has_input(3)) {
    EK_ASSIGN_OR_RETURN(axes, builder.ConstantIntegers(node, 3));
  } else {
    for (int64_t i = 0; i < rank; ++i) axes.push_back(i);
  }
  if (given.size() != 2 * axes.size()) {
    return node.Invalid(absl::StrCat("'pads' has ", given.size(),
                                     " values for ", axes.size(), " axes"));
  }
  std::vector<int64_t> pads(static_cast<size_t>(2 * rank), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < -rank || axes[i] >= rank) {
      return node.Invalid(absl::StrCat("axis ", axes[i], " of rank ", rank));
    }
    const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    pads[axis] = given[i];
    pads[axis + rank] = given[i + axes.size()];
  }
  for (const int64_t pad : pads) {
    if (pad < 0) {
      return node.Unsupported("negative padding", "padding >= 0",
                              "slice the tensor instead");
    }
  }
  return pads;
}

}  // namespace

absl::Status ConvertReshape(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.Input(node, 0));
  EK_ASSIGN_OR_RETURN(std::vector<int64_t> shape,
                      builder.ConstantIntegers(node, 1));
  EK_ASSIGN_OR_RETURN(const int64_t allow_zero, node.Int("allowzero", 0));
  const std::vector<int64_t>& from = builder.shape(x);
  int64_t unknown = -1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && allow_zero == 0) {
      if (i >= from.size())
        return node.Invalid("a 0 behind the last dimension");
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
  const int64_t rank = static_cast<int64_t>(shape.size());
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
  const int64_t rank = static_cast<int64_t>(from.size());
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> axes,
                      Axes(node, builder, rank));
  std::vector<int64_t> shape;
  for (int64_t i = 0; i < rank; ++i) {
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
  int64_t added = 0;
  if (node.opset() < 13) {
    EK_ASSIGN_OR_RETURN(const std::vector<int64_t> given, node.Ints("axes"));
    added = static_cast<int64_t>(given.size());
  } else {
    EK_ASSIGN_OR_RETURN(const Tensor* given, builder.ConstantInput(node, 1));
    added = given->num_elements();
  }
  const int64_t rank = static_cast<int64_t>(from.size()) + added;
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> axes,
                      Axes(node, builder, rank));
  std::vector<int64_t> shape;
  size_t next = 0;
  for (int64_t i = 0; i < rank; ++i) {
    const bool one = std::binary_search(axes.begin(), axes.end(), i);
    shape.push_back(one ? 1 : from[next++]);
  }
  return BindReshaped(node, builder, x, std::move(shape));
}

absl::Status ConvertTranspose(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.Input(node, 0));
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> perm, node.Ints("perm"));
  const int rank = static_cast<int>(builder.shape(x).size());
  std::vector<int32_t> permutation;
  for (const int64_t axis : perm) {
    if (axis < 0 || axis >= rank) {
      return node.Invalid(absl::StrCat("perm holds ", axis));
    }
    permutation.push_back(static_cast<int32_t>(axis));
  }
  if (!node.Has("perm")) {
    for (int i = rank - 1; i >= 0; --i) permutation.push_back(i);
  }
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      builder.Transpose(node, "", x, std::move(permutation)));
  return builder.Bind(node, 0, y);
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
    EK_ASSIGN_OR_RETURN(const std::vector<int64_t> mode,
                        builder.ConstantIntegers(node, 2));
    training = mode.size() != 1 || mode[0] != 0;
  }
  if (training || node.has_output(1)) {
    return node.Unsupported("training mode, or output 'mask' is used",
                            "inference, where it passes its input on",
                            "export the model for inference (model.eval())");
  }
  return ConvertIdentity(node, builder);
}

absl::Status ConvertConcat(const Node& node, Builder& builder) {
  std::vector<TensorId> parts;
  bool constant = true;
  for (int i = 0; i < node.num_inputs(); ++i) {
    EK_ASSIGN_OR_RETURN(const TensorId part, builder.Input(node, i));
    constant = constant && builder.tensor(part).is_constant();
    parts.push_back(part);
  }
  if (parts.empty()) return node.Invalid("it has no inputs");
  const int64_t rank = static_cast<int64_t>(builder.shape(parts[0]).size());
  EK_ASSIGN_OR_RETURN(int64_t axis, node.Int("axis", 1));
  if (axis < -rank || axis >= rank) {
    return node.Invalid(absl::StrCat("axis ", axis, " of rank ", rank));
  }
  if (axis < 0) axis += rank;
  for (const TensorId part : parts) {
    if (static_cast<int64_t>(builder.shape(part).size()) != rank) {
      return node.Invalid("the inputs have different ranks");
    }
  }
  TensorId y = kNoTensor;
  if (constant) {
    EK_ASSIGN_OR_RETURN(
        Tensor joined,
        JoinedConstants(node, builder, parts, static_cast<int32_t>(axis)));
    y = builder.AddConstant(std::move(joined));
  } else {
    for (int i = 0; i < node.num_inputs(); ++i) {
      EK_RETURN_IF_ERROR(builder.FloatInput(node, i).status());
    }
    v1::OpAttributes attributes;
    attributes.mutable_concat()->set_axis(static_cast<int32_t>(axis));
    EK_ASSIGN_OR_RETURN(y,
                        builder.Emit(node, "", std::move(attributes), parts));
  }
  return builder.Bind(node, 0, y);
}

absl::Status ConvertPad(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const std::string mode, node.String("mode", "constant"));
  if (mode != "constant") {
    return node.Unsupported(absl::StrCat("mode '", mode, "'"), "constant",
                            "pad with a constant");
  }
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.FloatInput(node, 0));
  const int64_t rank = static_cast<int64_t>(builder.shape(x).size());
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> pads,
                      PadAmounts(node, builder, rank));
  float value = 0.0f;
  if (node.opset() < 11) {
    EK_ASSIGN_OR_RETURN(value, node.Float("value", 0.0f));
  } else if (node.has_input(2)) {
    EK_ASSIGN_OR_RETURN(const Tensor* constant, builder.ConstantInput(node, 2));
    EK_ASSIGN_OR_RETURN(const std::vector<float> values, FloatValues(*constant),
                        node.Label());
    if (values.size() != 1) return node.Invalid("the value is not one number");
    value = values[0];
  }
  v1::OpAttributes attributes;
  v1::Pad* op = attributes.mutable_pad();
  op->mutable_before()->Assign(pads.begin(), pads.begin() + rank);
  op->mutable_after()->Assign(pads.begin() + rank, pads.end());
  op->set_value(value);
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      builder.Emit(node, "", std::move(attributes), {x}));
  return builder.Bind(node, 0, y);
}

}  // namespace edgekiln::compiler::onnx_import
