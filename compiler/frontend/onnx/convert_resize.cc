// Resize and its predecessor Upsample.

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/axes.h"
#include "compiler/frontend/onnx/converters.h"
#include "compiler/frontend/onnx/tensor_data.h"
#include "compiler/frontend/onnx/window.h"

namespace edgekiln::compiler::onnx_import {
namespace {

// What becomes of each dimension.
struct Extents {
  std::vector<int64_t> shape;
  std::vector<float> scale;  // Of all dimensions.
};

absl::StatusOr<std::vector<float>> FloatList(const Node& node,
                                             const Builder& builder,
                                             int index) {
  EK_ASSIGN_OR_RETURN(const Tensor* constant,
                      builder.ConstantInput(node, index));
  EK_ASSIGN_OR_RETURN(std::vector<float> values, FloatValues(*constant),
                      node.Label());
  return values;
}

// An optional list input; also absent if it is an empty tensor.
absl::StatusOr<std::vector<float>> OptionalFloats(const Node& node,
                                                  const Builder& builder,
                                                  int index) {
  if (!node.has_input(index)) return std::vector<float>();
  EK_ASSIGN_OR_RETURN(const TensorId id, builder.Input(node, index));
  if (builder.tensor(id).num_elements() == 0) return std::vector<float>();
  return FloatList(node, builder, index);
}

absl::StatusOr<Extents> FromScales(const Node& node,
                                   const std::vector<int64_t>& from,
                                   const std::vector<int32_t>& axes,
                                   const std::vector<float>& scales) {
  if (scales.size() != axes.size()) {
    return node.Invalid(absl::StrCat(scales.size(), " scales for ", axes.size(),
                                     " dimensions"));
  }
  Extents to = {from, std::vector<float>(from.size(), 1.0f)};
  for (size_t i = 0; i < axes.size(); ++i) {
    const float scale = scales[i];
    // In float, as ONNX's shape inference: 10 times 0.7f is 7.
    const float extent = std::floor(static_cast<float>(from[axes[i]]) * scale);
    if (!(scale > 0) || !(extent < 1e9f)) {
      return node.Invalid(absl::StrCat("a scale of ", scale));
    }
    to.shape[axes[i]] = static_cast<int64_t>(extent);
    to.scale[axes[i]] = scale;
  }
  return to;
}

// `policy` 0: stretch; 1: the largest that fits; 2: the smallest that covers.
absl::StatusOr<Extents> FromSizes(const Node& node,
                                  const std::vector<int64_t>& from,
                                  const std::vector<int32_t>& axes,
                                  const std::vector<int64_t>& sizes,
                                  int policy) {
  if (sizes.size() != axes.size()) {
    return node.Invalid(
        absl::StrCat(sizes.size(), " sizes for ", axes.size(), " dimensions"));
  }
  Extents to = {from, std::vector<float>(from.size(), 1.0f)};
  std::optional<double> common;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t extent = from[axes[i]];
    if (sizes[i] < 1 || extent < 1) {
      return node.Invalid(
          absl::StrCat("a size of ", sizes[i], " from ", extent));
    }
    const double scale =
        static_cast<double>(sizes[i]) / static_cast<double>(extent);
    to.shape[axes[i]] = sizes[i];
    to.scale[axes[i]] = static_cast<float>(scale);
    if (!common || (policy == 1 ? scale < *common : scale > *common)) {
      common = scale;
    }
  }
  for (size_t i = 0; i < axes.size() && policy != 0; ++i) {
    const double extent = static_cast<double>(from[axes[i]]) * *common;
    to.shape[axes[i]] = static_cast<int64_t>(std::floor(extent + 0.5));
    to.scale[axes[i]] = static_cast<float>(*common);
  }
  return to;
}

absl::StatusOr<Extents> ReadExtents(const Node& node, Builder& builder,
                                    const std::vector<int64_t>& from,
                                    const std::vector<int32_t>& axes) {
  const int scales_input = node.opset() < 11 ? 1 : 2;
  EK_ASSIGN_OR_RETURN(const std::vector<float> scales,
                      OptionalFloats(node, builder, scales_input));
  if (!scales.empty()) return FromScales(node, from, axes, scales);
  if (!node.has_input(3)) return node.Invalid("neither scales nor sizes");
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes,
                      builder.ConstantIntegers(node, 3));
  EK_ASSIGN_OR_RETURN(const int policy,
                      WordAttribute(node, "keep_aspect_ratio_policy", "stretch",
                                    {"stretch", "not_larger", "not_smaller"}));
  return FromSizes(node, from, axes, sizes, policy);
}

// Starts, then ends, of every dimension.
absl::StatusOr<std::vector<float>> ReadRoi(const Node& node, Builder& builder,
                                           const std::vector<int32_t>& axes,
                                           int64_t rank) {
  EK_ASSIGN_OR_RETURN(const std::vector<float> given,
                      OptionalFloats(node, builder, 1));
  if (given.size() != 2 * axes.size()) {
    return node.Invalid(absl::StrCat("roi has ", given.size(), " values for ",
                                     axes.size(), " dimensions"));
  }
  std::vector<float> roi(static_cast<size_t>(rank), 0.0f);
  roi.resize(static_cast<size_t>(2 * rank), 1.0f);
  for (size_t i = 0; i < axes.size(); ++i) {
    roi[axes[i]] = given[i];
    roi[axes[i] + rank] = given[i + axes.size()];
  }
  return roi;
}

template <typename T>
void MoveChannelsLast(std::vector<T>& values, size_t begin, size_t rank) {
  std::rotate(values.begin() + begin + 1, values.begin() + begin + 2,
              values.begin() + begin + rank);
}

// Emits the op, channels-last if it leaves batch and channels alone.
absl::Status EmitResize(const Node& node, Builder& builder, TensorId x,
                        v1::Resize resize, Extents to, std::vector<float> roi) {
  const size_t rank = to.shape.size();
  const std::vector<int64_t> from = builder.shape(x);
  const bool spatial = rank >= 3 && rank <= 5 && to.shape[0] == from[0] &&
                       to.shape[1] == from[1] && to.scale[0] == 1.0f &&
                       to.scale[1] == 1.0f && roi.empty();
  if (spatial) {
    EK_ASSIGN_OR_RETURN(x, ToChannelsLast(node, builder, "to-nhwc", x));
    MoveChannelsLast(to.shape, 0, rank);
    MoveChannelsLast(to.scale, 0, rank);
  }
  resize.mutable_shape()->Assign(to.shape.begin(), to.shape.end());
  resize.mutable_scale()->Assign(to.scale.begin(), to.scale.end());
  resize.mutable_roi()->Assign(roi.begin(), roi.end());
  v1::OpAttributes attributes;
  *attributes.mutable_resize() = std::move(resize);
  EK_ASSIGN_OR_RETURN(TensorId y,
                      builder.Emit(node, "", std::move(attributes), {x}));
  if (spatial) {
    EK_ASSIGN_OR_RETURN(
        y, ToChannelsFirst(node, builder, "to-nchw", y, /*given_rank=*/0));
  }
  return builder.Bind(node, 0, y);
}

// Before op set 11: nearest rounds down, no half pixels.
v1::Resize OldResize(int mode) {
  v1::Resize resize;
  resize.set_mode(mode == 0 ? v1::Resize::NEAREST : v1::Resize::LINEAR);
  resize.set_coordinates(v1::Resize::ASYMMETRIC);
  resize.set_nearest_rounding(v1::Resize::FLOOR);
  return resize;
}

absl::StatusOr<v1::Resize> ReadResize(const Node& node) {
  EK_ASSIGN_OR_RETURN(
      const int mode,
      WordAttribute(node, "mode", "nearest", {"nearest", "linear", "cubic"}));
  if (node.opset() < 11) return OldResize(mode);
  // In the order of v1::Resize::Coordinates and NearestRounding.
  EK_ASSIGN_OR_RETURN(
      const int coordinates,
      WordAttribute(node, "coordinate_transformation_mode", "half_pixel",
                    {"half_pixel", "asymmetric", "align_corners",
                     "pytorch_half_pixel", "tf_crop_and_resize",
                     "half_pixel_symmetric", "tf_half_pixel_for_nn"}));
  EK_ASSIGN_OR_RETURN(const int rounding,
                      WordAttribute(node, "nearest_mode", "round_prefer_floor",
                                    {"round_prefer_floor", "round_prefer_ceil",
                                     "floor", "ceil"}));
  EK_ASSIGN_OR_RETURN(const float coefficient,
                      node.Float("cubic_coeff_a", -0.75f));
  EK_ASSIGN_OR_RETURN(const bool exclude, node.Flag("exclude_outside", false));
  EK_ASSIGN_OR_RETURN(const float extrapolation,
                      node.Float("extrapolation_value", 0.0f));
  EK_ASSIGN_OR_RETURN(const bool antialias, node.Flag("antialias", false));
  v1::Resize resize;
  resize.set_mode(static_cast<v1::Resize::Mode>(mode));
  resize.set_coordinates(static_cast<v1::Resize::Coordinates>(coordinates));
  resize.set_antialias(antialias);
  resize.set_exclude_outside(exclude);
  if (mode == v1::Resize::NEAREST) {
    resize.set_nearest_rounding(
        static_cast<v1::Resize::NearestRounding>(rounding));
  }
  if (mode == v1::Resize::CUBIC) resize.set_cubic_coeff_a(coefficient);
  if (coordinates == v1::Resize::TF_CROP_AND_RESIZE) {
    resize.set_extrapolation_value(extrapolation);
  }
  return resize;
}

}  // namespace

absl::Status ConvertResize(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.Input(node, 0));
  EK_ASSIGN_OR_RETURN(const v1::Resize resize, ReadResize(node));
  const int64_t rank = builder.rank(x);
  std::vector<int32_t> axes;
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> given, node.Ints("axes"));
  for (const int64_t axis : given) {
    EK_ASSIGN_OR_RETURN(const int32_t checked, CheckedAxis(node, axis, rank));
    axes.push_back(checked);
  }
  for (int32_t i = 0; i < rank && given.empty(); ++i) axes.push_back(i);
  EK_ASSIGN_OR_RETURN(Extents to,
                      ReadExtents(node, builder, builder.shape(x), axes));
  std::vector<float> roi;
  if (resize.coordinates() == v1::Resize::TF_CROP_AND_RESIZE) {
    EK_ASSIGN_OR_RETURN(roi, ReadRoi(node, builder, axes, rank));
  }
  return EmitResize(node, builder, x, resize, std::move(to), std::move(roi));
}

absl::Status ConvertUpsample(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const TensorId x, builder.Input(node, 0));
  EK_ASSIGN_OR_RETURN(const int mode, WordAttribute(node, "mode", "nearest",
                                                    {"nearest", "linear"}));
  std::vector<float> scales = node.Floats("scales");
  if (scales.empty()) {
    EK_ASSIGN_OR_RETURN(scales, FloatList(node, builder, 1));
  }
  std::vector<int32_t> axes;
  for (int32_t i = 0; i < builder.rank(x); ++i) axes.push_back(i);
  EK_ASSIGN_OR_RETURN(Extents to,
                      FromScales(node, builder.shape(x), axes, scales));
  return EmitResize(node, builder, x, OldResize(mode), std::move(to), {});
}

}  // namespace edgekiln::compiler::onnx_import
