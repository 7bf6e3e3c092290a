// Ops that pick and move values without computing on them.

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "base/rounding.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/axes.h"
#include "compiler/frontend/onnx/converters.h"
#include "compiler/frontend/onnx/ir_ops.h"
#include "compiler/frontend/onnx/tensor_data.h"

namespace edgekiln::compiler::onnx_import {
namespace {

// {before..., after...} of Pad for every dimension; negative ones crop.
absl::StatusOr<std::vector<int64_t>> PadAmounts(const Node& node,
                                                const Builder& builder,
                                                int64_t rank) {
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> given,
                      ListArgument(node, builder, "pads", 1, 11));
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
  constexpr int64_t kMaxPad = int64_t{1} << 31;
  std::vector<int64_t> pads(static_cast<size_t>(2 * rank), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    EK_ASSIGN_OR_RETURN(const int32_t axis, CheckedAxis(node, axes[i], rank));
    pads[axis] = given[i];
    pads[axis + rank] = given[i + axes.size()];
    if (std::max(std::abs(pads[axis] / 2), std::abs(pads[axis + rank] / 2)) >
        kMaxPad) {
      return node.TooLarge(absl::StrCat("padding of ", given[i]));
    }
  }
  return pads;
}

// What negative padding leaves of `x`; those of `pads` become 0.
absl::StatusOr<TensorId> Cropped(const Node& node, Builder& builder, TensorId x,
                                 std::vector<int64_t>& pads) {
  std::vector<int64_t> begin, extent;
  const int64_t rank = builder.rank(x);
  for (int64_t i = 0; i < rank; ++i) {
    begin.push_back(std::max<int64_t>(0, -pads[i]));
    extent.push_back(builder.shape(x)[i] - begin[i] -
                     std::max<int64_t>(0, -pads[i + rank]));
    if (extent[i] < 0) return node.Invalid("it crops more than there is");
  }
  for (int64_t& pad : pads) pad = std::max<int64_t>(0, pad);
  if (extent == builder.shape(x)) return x;
  const std::vector<int64_t> ones(static_cast<size_t>(rank), 1);
  return builder.Emit(node, "cropped", SliceOp(begin, extent, ones), {x});
}

// Whether negative padding leaves exactly nothing of `x`.
bool CropsAll(const Builder& builder, TensorId x,
              const std::vector<int64_t>& pads) {
  const std::vector<int64_t>& shape = builder.shape(x);
  int64_t least = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    least = std::min(least, shape[i] + std::min<int64_t>(0, pads[i]) +
                                std::min<int64_t>(0, pads[i + shape.size()]));
  }
  return least == 0;
}

// `x` padded where nothing of it is left: `value` everywhere.
absl::StatusOr<TensorId> Filled(const Node& node, Builder& builder, TensorId x,
                                float value, const std::vector<int64_t>& pads) {
  std::vector<int64_t> shape = builder.shape(x);
  for (size_t i = 0; i < shape.size(); ++i) {
    shape[i] += pads[i] + pads[i + shape.size()];
  }
  return builder.BroadcastTo(node, "", builder.Scalar(node, x, value),
                             std::move(shape));
}

// The real value that Pad fills with.
absl::StatusOr<float> PadValue(const Node& node, const Builder& builder,
                               TensorId x) {
  double value = 0;
  if (node.opset() < 11) {
    EK_ASSIGN_OR_RETURN(value, node.Float("value", 0.0f));
  } else if (node.has_input(2)) {
    EK_ASSIGN_OR_RETURN(value, builder.ConstantNumber(node, 2));
  }
  if (const auto& q = builder.tensor(x).quantization) {
    if (q->per_channel()) return node.Invalid("the input has many scales");
    value = (value - q->zero_point[0]) * q->scale[0];
  }
  return static_cast<float>(value);
}

// Slice's starts, ends, axes and steps; all of one length.
struct SliceLists {
  std::vector<int64_t> starts, ends, axes, steps;
};

absl::StatusOr<SliceLists> ReadSlice(const Node& node, const Builder& builder) {
  SliceLists lists;
  EK_ASSIGN_OR_RETURN(lists.starts,
                      ListArgument(node, builder, "starts", 1, 10));
  EK_ASSIGN_OR_RETURN(lists.ends, ListArgument(node, builder, "ends", 2, 10));
  EK_ASSIGN_OR_RETURN(lists.axes, ListArgument(node, builder, "axes", 3, 10));
  EK_ASSIGN_OR_RETURN(lists.steps, ListArgument(node, builder, "steps", 4, 10));
  const size_t count = lists.starts.size();
  if (lists.axes.empty()) {
    for (size_t i = 0; i < count; ++i) lists.axes.push_back(i);
  }
  if (lists.steps.empty()) lists.steps.assign(count, 1);
  if (lists.ends.size() != count || lists.axes.size() != count ||
      lists.steps.size() != count) {
    return node.Invalid("starts, ends, axes and steps do not fit together");
  }
  return lists;
}

// Extents of the parts of Split.
absl::StatusOr<std::vector<int64_t>> SplitExtents(const Node& node,
                                                  const Builder& builder,
                                                  int64_t extent) {
  EK_ASSIGN_OR_RETURN(std::vector<int64_t> parts,
                      ListArgument(node, builder, "split", 1, 13));
  if (!parts.empty()) {
    if (static_cast<int>(parts.size()) < node.num_outputs()) {
      return node.Invalid("it has more outputs than parts");
    }
    return parts;
  }
  EK_ASSIGN_OR_RETURN(const int64_t count,
                      node.Int("num_outputs", node.num_outputs()));
  if (count < node.num_outputs() || count > int64_t{1} << 20) {
    return node.Invalid(absl::StrCat("num_outputs is ", count));
  }
  const int64_t part = CeilDiv(extent, count);
  for (int64_t i = 0; i < count; ++i) {
    parts.push_back(std::clamp<int64_t>(extent - i * part, 0, part));
  }
  return parts;
}

// Indices that are known must be in range; others are looked at when they are.
absl::Status CheckIndices(const Node& node, const Builder& builder,
                          TensorId indices, int64_t extent) {
  if (!builder.tensor(indices).is_constant()) return absl::OkStatus();
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> values,
                      IntegerValues(builder.tensor(indices)), node.Label());
  for (const int64_t index : values) {
    if (index < -extent || index >= extent) {
      return node.Invalid(absl::StrCat("index ", index, " of ", extent));
    }
  }
  return absl::OkStatus();
}

// Reshape, Transpose, Reshape.
absl::Status Rearrange(const Node& node, Builder& builder, TensorId x,
                       std::vector<int64_t> split,
                       std::vector<int32_t> permutation,
                       std::vector<int64_t> joined) {
  EK_ASSIGN_OR_RETURN(x, builder.Reshape(node, "split", x, std::move(split)));
  EK_ASSIGN_OR_RETURN(
      x, builder.Transpose(node, "turned", x, std::move(permutation)));
  EK_ASSIGN_OR_RETURN(x, builder.Reshape(node, "", x, std::move(joined)));
  return builder.Bind(node, 0, x);
}

absl::StatusOr<int64_t> BlockSize(const Node& node, const Builder& builder,
                                  TensorId x) {
  EK_ASSIGN_OR_RETURN(const int64_t block, node.Int("blocksize", 0));
  if (builder.rank(x) != 4 || block < 1 || block > 1 << 15) {
    return node.Invalid(absl::StrCat("block size ", block, " for [",
                                     absl::StrJoin(builder.shape(x), ","),
                                     "]"));
  }
  return block;
}

// Gather and GatherElements: x and indices along an axis.
template <typename SetAxis>
absl::Status ConvertGatherBy(const Node& node, Builder& builder,
                             const SetAxis& set_axis) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.Input(node, 0));
  EK_ASSIGN_OR_RETURN(const TensorId indices, builder.PlainInput(node, 1));
  EK_ASSIGN_OR_RETURN(const int32_t axis,
                      AxisAttribute(node, 0, builder.rank(x)));
  EK_RETURN_IF_ERROR(
      CheckIndices(node, builder, indices, builder.shape(x)[axis]));
  v1::OpAttributes attributes;
  set_axis(axis, attributes);
  EK_ASSIGN_OR_RETURN(
      const TensorId y,
      builder.Emit(node, "", std::move(attributes), {x, indices}));
  return builder.Bind(node, 0, y);
}

}  // namespace

absl::Status ConvertTranspose(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.Input(node, 0));
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> perm, node.Ints("perm"));
  const int64_t rank = builder.rank(x);
  std::vector<int32_t> permutation;
  for (const int64_t axis : perm) {
    if (axis < 0 || axis >= rank) {
      return node.Invalid(absl::StrCat("perm holds ", axis));
    }
    permutation.push_back(static_cast<int32_t>(axis));
  }
  if (!node.Has("perm")) {
    for (int64_t i = rank - 1; i >= 0; --i) {
      permutation.push_back(static_cast<int32_t>(i));
    }
  }
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      builder.Transpose(node, "", x, std::move(permutation)));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertConcat(const Node& node, Builder& builder) {
  std::vector<TensorId> parts;
  bool uniform = true;
  for (int i = 0; i < node.num_inputs(); ++i) {
    EK_ASSIGN_OR_RETURN(const TensorId part, builder.Input(node, i));
    parts.push_back(part);
    uniform = uniform && builder.tensor(part).quantization ==
                             builder.tensor(parts[0]).quantization;
  }
  if (parts.empty()) return node.Invalid("it has no inputs");
  EK_ASSIGN_OR_RETURN(const int32_t axis,
                      AxisAttribute(node, 1, builder.rank(parts[0])));
  for (int i = 0; i < node.num_inputs() && !uniform; ++i) {
    EK_ASSIGN_OR_RETURN(parts[i], builder.PlainInput(node, i));
  }
  if (parts.size() == 1) return builder.Bind(node, 0, parts[0]);
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      builder.Emit(node, "", ConcatOp(axis), parts));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertPad(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const int mode,
                      WordAttribute(node, "mode", "constant",
                                    {"constant", "reflect", "edge", "wrap"}));
  constexpr v1::Pad::Mode kModes[] = {v1::Pad::CONSTANT, v1::Pad::REFLECT,
                                      v1::Pad::EDGE, v1::Pad::WRAP};
  EK_ASSIGN_OR_RETURN(TensorId x, builder.Input(node, 0));
  const int64_t rank = builder.rank(x);
  EK_ASSIGN_OR_RETURN(std::vector<int64_t> pads,
                      PadAmounts(node, builder, rank));
  EK_ASSIGN_OR_RETURN(const float value, PadValue(node, builder, x));
  if (mode == 0 && !builder.tensor(x).quantization.has_value() &&
      CropsAll(builder, x, pads)) {
    EK_ASSIGN_OR_RETURN(const TensorId y,
                        Filled(node, builder, x, value, pads));
    return builder.Bind(node, 0, y);
  }
  EK_ASSIGN_OR_RETURN(x, Cropped(node, builder, x, pads));
  const absl::Span<const int64_t> all = pads;
  v1::OpAttributes attributes = PadOp(all.first(static_cast<size_t>(rank)),
                                      all.last(static_cast<size_t>(rank)));
  attributes.mutable_pad()->set_mode(kModes[mode]);
  if (mode == 0) attributes.mutable_pad()->set_value(value);
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      builder.Emit(node, "", std::move(attributes), {x}));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertSlice(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.Input(node, 0));
  EK_ASSIGN_OR_RETURN(const SliceLists lists, ReadSlice(node, builder));
  const int64_t rank = builder.rank(x);
  std::vector<int64_t> begin(static_cast<size_t>(rank), 0);
  std::vector<int64_t> extent = builder.shape(x);
  std::vector<int64_t> stride(static_cast<size_t>(rank), 1);
  for (size_t i = 0; i < lists.starts.size(); ++i) {
    EK_ASSIGN_OR_RETURN(const int32_t axis,
                        CheckedAxis(node, lists.axes[i], rank));
    const int64_t size = builder.shape(x)[axis];
    // A step beyond the extent takes one element, as its end would.
    const int64_t step =
        std::clamp<int64_t>(lists.steps[i], -size - 1, size + 1);
    if (step == 0) return node.Invalid("a step of 0");
    std::tie(begin[axis], extent[axis]) =
        SliceRange(lists.starts[i], lists.ends[i], step, size);
    stride[axis] = step;
    if (extent[axis] == 0) begin[axis] = 0;
  }
  if (extent == builder.shape(x) &&
      std::all_of(stride.begin(), stride.end(),
                  [](int64_t step) { return step == 1; })) {
    return builder.Bind(node, 0, x);
  }
  EK_ASSIGN_OR_RETURN(
      const TensorId y,
      builder.Emit(node, "", SliceOp(begin, extent, stride), {x}));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertSplit(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.Input(node, 0));
  EK_ASSIGN_OR_RETURN(const int32_t axis,
                      AxisAttribute(node, 0, builder.rank(x)));
  std::vector<int64_t> extent = builder.shape(x);
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> parts,
                      SplitExtents(node, builder, extent[axis]));
  std::vector<int64_t> begin(extent.size(), 0);
  const std::vector<int64_t> stride(extent.size(), 1);
  for (int i = 0; i < node.num_outputs(); ++i) {
    if (parts[i] < 0 || parts[i] > builder.shape(x)[axis] - begin[axis]) {
      return node.Invalid("the parts are longer than the input");
    }
    extent[axis] = parts[i];
    if (node.has_output(i)) {
      EK_ASSIGN_OR_RETURN(
          const TensorId part,
          builder.Emit(node, i == 0 ? "" : absl::StrCat("part-", i),
                       SliceOp(begin, extent, stride), {x}));
      EK_RETURN_IF_ERROR(builder.Bind(node, i, part));
    }
    begin[axis] += parts[i];
  }
  return absl::OkStatus();
}

absl::Status ConvertTile(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.Input(node, 0));
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> repeats,
                      builder.ConstantIntegers(node, 1));
  if (static_cast<int64_t>(repeats.size()) != builder.rank(x)) {
    return node.Invalid(
        absl::StrCat(repeats.size(), " repeats for rank ", builder.rank(x)));
  }
  v1::OpAttributes attributes;
  attributes.mutable_tile()->mutable_multiples()->Assign(repeats.begin(),
                                                         repeats.end());
  EK_ASSIGN_OR_RETURN(const TensorId y,
                      builder.Emit(node, "", std::move(attributes), {x}));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertGather(const Node& node, Builder& builder) {
  return ConvertGatherBy(node, builder,
                         [](int32_t axis, v1::OpAttributes& attributes) {
                           attributes.mutable_gather()->set_axis(axis);
                         });
}

absl::Status ConvertGatherElements(const Node& node, Builder& builder) {
  return ConvertGatherBy(node, builder,
                         [](int32_t axis, v1::OpAttributes& attributes) {
                           attributes.mutable_gather_elements()->set_axis(axis);
                         });
}

absl::Status ConvertDepthToSpace(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.Input(node, 0));
  EK_ASSIGN_OR_RETURN(const int64_t block, BlockSize(node, builder, x));
  EK_ASSIGN_OR_RETURN(const int crd,
                      WordAttribute(node, "mode", "DCR", {"DCR", "CRD"}));
  const std::vector<int64_t> s = builder.shape(x);
  const int64_t depth = s[1] / (block * block);
  if (depth * block * block != s[1]) {
    return node.Invalid(absl::StrCat(s[1], " channels in blocks of ", block));
  }
  std::vector<int64_t> joined = {s[0], depth, s[2] * block, s[3] * block};
  if (crd == 1) {
    return Rearrange(node, builder, x, {s[0], depth, block, block, s[2], s[3]},
                     {0, 1, 4, 2, 5, 3}, std::move(joined));
  }
  return Rearrange(node, builder, x, {s[0], block, block, depth, s[2], s[3]},
                   {0, 3, 4, 1, 5, 2}, std::move(joined));
}

absl::Status ConvertSpaceToDepth(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.Input(node, 0));
  EK_ASSIGN_OR_RETURN(const int64_t block, BlockSize(node, builder, x));
  const std::vector<int64_t> s = builder.shape(x);
  const int64_t h = s[2] / block;
  const int64_t w = s[3] / block;
  if (h * block != s[2] || w * block != s[3]) {
    return node.Invalid(
        absl::StrCat(s[2], " x ", s[3], " in blocks of ", block));
  }
  return Rearrange(node, builder, x, {s[0], s[1], h, block, w, block},
                   {0, 3, 5, 1, 2, 4}, {s[0], s[1] * block * block, h, w});
}

}  // namespace edgekiln::compiler::onnx_import
