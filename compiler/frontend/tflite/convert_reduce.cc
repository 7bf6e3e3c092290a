#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/tflite/converters.h"

// Reductions, normalizations over an axis, resampling.
namespace edgekiln::compiler::tflite_import {
namespace {

using Code = tflite::BuiltinOperator;

v1::Reduce::Function ReductionOf(Code code) {
  switch (code) {
    case Code::REDUCE_ALL:
      return v1::Reduce::ALL;
    case Code::REDUCE_ANY:
      return v1::Reduce::ANY;
    case Code::REDUCE_MAX:
      return v1::Reduce::MAX;
    case Code::REDUCE_MIN:
      return v1::Reduce::MIN;
    case Code::REDUCE_PROD:
      return v1::Reduce::PRODUCT;
    default:
      return v1::Reduce::SUM;
  }
}

// The axes of input 1, ascending, each once.
absl::StatusOr<std::vector<int32_t>> Axes(const Conversion& c, size_t rank) {
  EK_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, c.Ints(1));
  std::vector<int32_t> normal;
  for (const int64_t axis : axes) {
    EK_ASSIGN_OR_RETURN(const int32_t value, NormalAxis(axis, rank));
    normal.push_back(value);
  }
  std::sort(normal.begin(), normal.end());
  normal.erase(std::unique(normal.begin(), normal.end()), normal.end());
  return normal;
}

absl::StatusOr<int32_t> LastAxis(const Conversion& c, TensorId x) {
  const size_t rank = c.tensor(x).shape.size();
  return NormalAxis(-1, rank);
}

}  // namespace

absl::Status ConvertReduce(Conversion& c) {
  EK_ASSIGN_OR_RETURN(const TensorId x, c.Input(0));
  EK_ASSIGN_OR_RETURN(const auto axes, Axes(c, c.shape(x).size()));
  const auto* options = c.from().builtin_options_as_ReducerOptions();
  v1::OpAttributes attributes;
  const auto set = [&](auto& reduce) {
    reduce.mutable_axes()->Add(axes.begin(), axes.end());
    reduce.set_keep_dims(options != nullptr && options->keep_dims());
  };
  if (c.code() == Code::MEAN) {
    set(*attributes.mutable_reduce_mean());
  } else {
    attributes.mutable_reduce()->set_function(ReductionOf(c.code()));
    set(*attributes.mutable_reduce());
  }
  return c.Write(std::move(attributes), {x});
}

// The output's element type is that of its tensor; the options repeat it.
absl::Status ConvertArgReduce(Conversion& c) {
  EK_ASSIGN_OR_RETURN(const TensorId x, c.Input(0));
  EK_ASSIGN_OR_RETURN(const int64_t axis, c.Int(1));
  v1::OpAttributes attributes;
  v1::ArgReduce& arg = *attributes.mutable_arg_reduce();
  arg.set_function(c.code() == Code::ARG_MAX ? v1::ArgReduce::MAX
                                             : v1::ArgReduce::MIN);
  EK_ASSIGN_OR_RETURN(const int32_t normal,
                      NormalAxis(axis, c.shape(x).size()));
  arg.set_axis(normal);
  return c.Write(std::move(attributes), {x});
}

absl::Status ConvertCumsum(Conversion& c) {
  EK_ASSIGN_OR_RETURN(const TensorId x, c.Input(0));
  EK_ASSIGN_OR_RETURN(const int64_t axis, c.Int(1));
  const auto* options = c.from().builtin_options_as_CumsumOptions();
  v1::OpAttributes attributes;
  v1::CumSum& sum = *attributes.mutable_cum_sum();
  EK_ASSIGN_OR_RETURN(const int32_t normal,
                      NormalAxis(axis, c.shape(x).size()));
  sum.set_axis(normal);
  sum.set_exclusive(options != nullptr && options->exclusive());
  sum.set_reverse(options != nullptr && options->reverse());
  return c.Write(std::move(attributes), {x});
}

absl::Status ConvertTopK(Conversion& c) {
  EK_ASSIGN_OR_RETURN(const TensorId x, c.Input(0));
  EK_ASSIGN_OR_RETURN(const int64_t k, c.Int(1));
  EK_ASSIGN_OR_RETURN(const int32_t axis, LastAxis(c, x));
  if (c.num_outputs() != 2) return TfliteBroken("outputs of TOPK_V2", "", "2");
  v1::OpAttributes attributes;
  attributes.mutable_top_k()->set_k(k);
  attributes.mutable_top_k()->set_axis(axis);
  return c.WriteAll(std::move(attributes), {x}, {c.output(0), c.output(1)});
}

absl::Status ConvertNormalization(Conversion& c) {
  EK_ASSIGN_OR_RETURN(const TensorId x, c.Input(0));
  EK_ASSIGN_OR_RETURN(const int32_t axis, LastAxis(c, x));
  v1::OpAttributes attributes;
  auto activation = tflite::ActivationFunctionType::NONE;
  switch (c.code()) {
    case Code::SOFTMAX: {
      const auto* options = c.from().builtin_options_as_SoftmaxOptions();
      if (options == nullptr) return MissingOptions("SoftmaxOptions");
      attributes.mutable_softmax()->set_beta(options->beta());
      attributes.mutable_softmax()->set_axis(axis);
      break;
    }
    case Code::LOG_SOFTMAX:
      attributes.mutable_log_softmax()->set_axis(axis);
      break;
    case Code::L2_NORMALIZATION: {
      const auto* options = c.from().builtin_options_as_L2NormOptions();
      if (options != nullptr) activation = options->fused_activation_function();
      attributes.mutable_l2_normalization()->set_axis(axis);
      attributes.mutable_l2_normalization()->set_epsilon(1e-6f);
      break;
    }
    default: {
      const auto* options =
          c.from().builtin_options_as_LocalResponseNormalizationOptions();
      if (options == nullptr || options->radius() < 0 ||
          options->radius() > (1 << 20)) {
        return MissingOptions("LocalResponseNormalizationOptions in range");
      }
      auto& lrn = *attributes.mutable_local_response_normalization();
      lrn.set_size(2 * options->radius() + 1);
      lrn.set_alpha(options->alpha() * static_cast<float>(lrn.size()));
      lrn.set_beta(options->beta());
      lrn.set_bias(options->bias());
      lrn.set_axis(axis);
    }
  }
  return c.WriteActivated(std::move(attributes), {x}, activation);
}

absl::Status ConvertResize(Conversion& c) {
  EK_ASSIGN_OR_RETURN(const auto shape, c.ShapeOfRank(0, 4));
  EK_ASSIGN_OR_RETURN(const TensorId x, c.Input(0));
  const auto* linear = c.from().builtin_options_as_ResizeBilinearOptions();
  const auto* nearest =
      c.from().builtin_options_as_ResizeNearestNeighborOptions();
  std::vector<int64_t> size;
  if (c.num_inputs() == 1 && linear != nullptr) {
    size = {linear->new_height(), linear->new_width()};
  } else {
    EK_ASSIGN_OR_RETURN(size, c.Ints(1));
  }
  if (size.size() != 2 || size[0] < 1 || size[1] < 1) {
    return TfliteBroken("size to resize to", "", "height and width above 0");
  }
  bool align = false;
  bool half_pixel = false;
  const auto read = [&](const auto* options) {
    if (options == nullptr) return;
    align = options->align_corners();
    half_pixel = options->half_pixel_centers();
  };
  v1::OpAttributes attributes;
  v1::Resize& resize = *attributes.mutable_resize();
  if (c.code() == Code::RESIZE_BILINEAR) {
    read(linear);
    resize.set_mode(v1::Resize::LINEAR);
  } else {
    read(nearest);
    resize.set_mode(v1::Resize::NEAREST);
    // Corners are rounded, halves up; everything else is cut off.
    resize.set_nearest_rounding(align ? v1::Resize::ROUND_PREFER_CEIL
                                      : v1::Resize::FLOOR);
  }
  if (align && half_pixel) {
    return TfliteUnsupported("align_corners with half_pixel_centers", "",
                             "one of them", "export with one of them");
  }
  resize.set_coordinates(v1::Resize::ASYMMETRIC);
  if (align) resize.set_coordinates(v1::Resize::ALIGN_CORNERS);
  if (half_pixel) {
    resize.set_coordinates(c.code() == Code::RESIZE_BILINEAR
                               ? v1::Resize::HALF_PIXEL
                               : v1::Resize::TF_HALF_PIXEL_FOR_NN);
  }
  for (const int64_t extent : {shape[0], size[0], size[1], shape[3]}) {
    resize.add_shape(extent);
  }
  return c.Write(std::move(attributes), {x});
}

}  // namespace edgekiln::compiler::tflite_import
