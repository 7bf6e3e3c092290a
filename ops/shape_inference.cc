#include "ops/shape_inference.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "ops/families.h"
#include "ops/rules.h"

namespace edgekiln::ops {

int64_t WindowOutputExtent(int64_t in, int64_t kernel, int64_t stride,
                           int64_t dilation, int64_t pad_before,
                           int64_t pad_after) {
  const int64_t reach = (kernel - 1) * dilation + 1;
  const int64_t room = in + pad_before + pad_after - reach;
  return room < 0 ? 0 : room / stride + 1;
}

std::pair<int32_t, int32_t> SamePadding(int64_t in, int64_t kernel,
                                        int64_t stride, int64_t dilation) {
  const int64_t out = (in + stride - 1) / stride;
  const int64_t reach = (kernel - 1) * dilation + 1;
  const int64_t total = std::max<int64_t>(0, (out - 1) * stride + reach - in);
  return {static_cast<int32_t>(total / 2),
          static_cast<int32_t>(total - total / 2)};
}

absl::StatusOr<Shape> BroadcastShape(absl::Span<const int64_t> a,
                                     absl::Span<const int64_t> b) {
  const size_t rank = std::max(a.size(), b.size());
  Shape out(rank, 1);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t from_a = i + a.size() < rank ? 1 : a[i + a.size() - rank];
    const int64_t from_b = i + b.size() < rank ? 1 : b[i + b.size() - rank];
    if (from_a != from_b && from_a != 1 && from_b != 1) {
      return BadShape(
          absl::StrCat("shapes ", ShapeText(a), " and ", ShapeText(b)),
          "extents that are equal or 1");
    }
    out[i] = from_a == 1 ? from_b : from_a;
  }
  return out;
}

absl::StatusOr<std::vector<Shape>> InferShapes(
    const v1::OpAttributes& attributes, Views inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].present()) continue;
    EK_RETURN_IF_ERROR(CheckTensorType(inputs[i]), absl::StrCat("input ", i));
  }
  EK_ASSIGN_OR_RETURN(std::vector<Shape> shapes,
                      FamilyOf(attributes).infer(attributes, inputs));
  for (const Shape& shape : shapes) {
    const auto elements = CheckedProduct(shape);
    if (elements.has_value() && *elements <= kMaxTensorBytes) continue;
    // Not a mistake in the model that a checker would find.
    return MakeError(
        absl::StatusCode::kInvalidArgument,
        {.fault = Fault::kUser,
         .reason = "OP_SHAPE",
         .what = absl::StrCat("output of shape ", ShapeText(shape)),
         .need = absl::StrCat("at most ", kMaxTensorBytes, " elements"),
         .fix = "export with a smaller input"});
  }
  return shapes;
}

}  // namespace edgekiln::ops
