#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ops/families.h"
#include "ops/float16.h"
#include "ops/kernels.h"
#include "ops/resize_taps.h"
#include "ops/rules.h"

// Resampling.
namespace edgekiln::ops {
namespace {

// Of the table of one axis.
constexpr double kMaxTaps = 1 << 26;

absl::Status CheckAttributes(const v1::Resize& op, size_t rank) {
  const auto fits = [rank](int size, size_t times) {
    return size == 0 || static_cast<size_t>(size) == times * rank;
  };
  if (!fits(op.scale_size(), 1) || !fits(op.roi_size(), 2)) {
    return BadShape("scale or roi of another rank than the input's",
                    "one scale, and a start and an end, per dimension");
  }
  for (const float scale : op.scale()) {
    if (!(scale > 0) || std::isinf(scale)) {
      return BadShape(absl::StrCat("scale ", scale), "finite and above 0");
    }
  }
  for (const float place : op.roi()) {
    if (!std::isfinite(place)) return BadShape("roi is not finite");
  }
  if (op.coordinates() == v1::Resize::TF_CROP_AND_RESIZE &&
      op.roi_size() == 0) {
    return BadShape("TF_CROP_AND_RESIZE without a roi",
                    "a start and an end per dimension");
  }
  if (!std::isfinite(op.cubic_coeff_a())) {
    return BadShape("cubic coefficient is not finite");
  }
  if (v1::Resize::Mode_IsValid(op.mode()) &&
      v1::Resize::Coordinates_IsValid(op.coordinates()) &&
      v1::Resize::NearestRounding_IsValid(op.nearest_rounding())) {
    return absl::OkStatus();
  }
  return BadShape("resize mode is not known");
}

}  // namespace

absl::StatusOr<std::vector<Shape>> InferResampling(const v1::OpAttributes& op,
                                                   Views inputs) {
  if (!op.has_resize()) return NoSuchOp(op);
  EK_RETURN_IF_ERROR(WantInputs(inputs, 1));
  const auto x = inputs[0].shape;
  const v1::Resize& resize = op.resize();
  if (static_cast<size_t>(resize.shape_size()) != x.size()) {
    return BadShape(absl::StrCat("resize of ", ShapeText(x), " to ",
                                 resize.shape_size(), " dimensions"),
                    "one extent per dimension");
  }
  EK_RETURN_IF_ERROR(CheckAttributes(resize, x.size()));
  const Shape out(resize.shape().begin(), resize.shape().end());
  for (size_t d = 0; d < out.size(); ++d) {
    if (out[d] < 0 || (out[d] > 0 && x[d] == 0)) {
      return BadShape(
          absl::StrCat("resize of ", ShapeText(x), " to ", ShapeText(out)),
          "extents of 0 or more, from something");
    }
  }
  return std::vector<Shape>{out};
}

absl::Status CheckResampling(const v1::OpAttributes& op, Views inputs,
                             Views outputs) {
  const v1::Resize& resize = op.resize();
  EK_RETURN_IF_ERROR(WantCount(inputs, 1, 1));
  EK_RETURN_IF_ERROR(CheckMove(inputs[0], outputs[0]));
  const auto x = inputs[0].shape;
  for (size_t d = 0; d < x.size(); ++d) {
    const double taps =
        MostTaps(resize, static_cast<int>(d), x[d], outputs[0].shape[d]);
    if (!(taps <= kMaxTaps)) {
      return BadType(absl::StrCat("resize of ", ShapeText(x), " to ",
                                  ShapeText(outputs[0].shape)),
                     "", absl::StrCat(kMaxTaps, " reads along an axis"));
    }
  }
  if (inputs[0].type == v1::BOOL && resize.mode() != v1::Resize::NEAREST) {
    return BadType("interpolation of BOOL", "a number, or NEAREST");
  }
  if (!inputs[0].quantization.present()) return absl::OkStatus();
  if (resize.coordinates() == v1::Resize::TF_CROP_AND_RESIZE) {
    return BadType("TF_CROP_AND_RESIZE of a quantized tensor", "no scale");
  }
  if (!IsQuantizedType(inputs[0].type) && inputs[0].type != v1::INT16) {
    return BadType(
        absl::StrCat("input 0 is a quantized ", TypeName(inputs[0].type)),
        "INT8, UINT8 or INT16");
  }
  return WantPerTensor(inputs[0], "input 0");
}

absl::Status ComputeResampling(const v1::OpAttributes& op, Inputs inputs,
                               Outputs outputs, CpuPath path) {
  if (outputs[0].type == v1::FLOAT16) {
    return ComputeInFloat(inputs, outputs, [&](Inputs from, Outputs to) {
      return ComputeResampling(op, from, to, path);
    });
  }
  return Resize(op.resize(), inputs[0], outputs[0]);
}

}  // namespace edgekiln::ops
