#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "ops/quantized_parameters.h"
#include "ops/shape_inference.h"

namespace edgekiln::ops {
namespace {

absl::Status Bad(std::string what, std::string need = "",
                 std::string limit = "") {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "TENSOR_TYPE",
                    .what = std::move(what),
                    .limit = std::move(limit),
                    .need = std::move(need)});
}

absl::Status CheckQuantizationArity(const TensorView& tensor) {
  const QuantizationView& q = tensor.quantization;
  if (!q.present()) {
    if (q.zero_point.empty()) return absl::OkStatus();
    return Bad("zero points without scales");
  }
  if (q.zero_point.size() != q.scale.size()) {
    return Bad(absl::StrCat(q.scale.size(), " scales and ", q.zero_point.size(),
                            " zero points"),
               "as many of each");
  }
  if (q.per_channel() && (q.axis < 0 || q.axis >= std::ssize(tensor.shape) ||
                          tensor.shape[q.axis] != std::ssize(q.scale))) {
    return Bad(absl::StrCat(q.scale.size(), " scales along axis ", q.axis),
               "one scale, or one per extent of the axis");
  }
  const QuantizedRange range = RangeOf(tensor.type);
  for (size_t i = 0; i < q.scale.size(); ++i) {
    if (!(q.scale[i] > 0) || std::isinf(q.scale[i])) {
      return Bad(absl::StrCat("scale ", q.scale[i]), "finite and above 0");
    }
    if (q.zero_point[i] < range.min || q.zero_point[i] > range.max) {
      return Bad(absl::StrCat("zero point ", q.zero_point[i], " of ",
                              v1::ElementType_Name(tensor.type)),
                 absl::StrCat(range.min, " to ", range.max));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckTensorType(const TensorView& tensor) {
  const int64_t element_bytes = ElementBytes(tensor.type);
  if (element_bytes == 0) return Bad("element type is not known");
  if (tensor.shape.size() > kMaxRank) {
    return Bad(absl::StrCat("rank ", tensor.shape.size()), "",
               absl::StrCat("rank ", kMaxRank));
  }
  const auto elements = CheckedProduct(tensor.shape);
  if (!elements || *elements > kMaxTensorBytes / element_bytes) {
    return Bad(absl::StrCat("shape [", absl::StrJoin(tensor.shape, ","), "]"),
               "extents of 0 or more",
               absl::StrCat(kMaxTensorBytes, " bytes per tensor"));
  }
  for (const int64_t extent : tensor.shape) {
    if (extent > kMaxTensorBytes) {
      return Bad(absl::StrCat("extent ", extent), "",
                 absl::StrCat(kMaxTensorBytes));
    }
  }
  return CheckQuantizationArity(tensor);
}

}  // namespace edgekiln::ops
