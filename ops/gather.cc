#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "ops/element_types.h"
#include "ops/kernels.h"
#include "ops/strided_copy.h"

namespace edgekiln::ops {
namespace {

// Index `i` of an index tensor as a position along an axis.
absl::StatusOr<int64_t> PositionAt(const TensorView& indices, int64_t i,
                                   int64_t extent) {
  const int64_t index = indices.type == v1::INT32
                            ? int64_t{indices.as<int32_t>()[i]}
                            : indices.as<int64_t>()[i];
  if (index >= -extent && index < extent) {
    return index < 0 ? index + extent : index;
  }
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "INDEX_RANGE",
                    .what = absl::StrCat("index ", index),
                    .need = absl::StrCat(-extent, " to ", extent - 1),
                    .fix = "give data whose indices lie in that range"});
}

}  // namespace

absl::Status Gather(const v1::Gather& op, Inputs inputs,
                    const MutableTensorView& output) {
  const TensorView& x = inputs[0];
  const TensorView& indices = inputs[1];
  const int64_t extent = x.shape[op.axis()];
  const int64_t batches = NumElements(x.shape.first(op.batch_dims()));
  const int64_t outer = NumElements(
      x.shape.subspan(op.batch_dims(), op.axis() - op.batch_dims()));
  const int64_t picks = NumElements(indices.shape.subspan(op.batch_dims()));
  const int64_t run =
      NumElements(x.shape.subspan(op.axis() + 1)) * ElementBytes(output.type);
  char* to = output.as<char>();
  for (int64_t b = 0; b < batches; ++b) {
    for (int64_t o = b * outer; o < (b + 1) * outer; ++o) {
      for (int64_t k = b * picks; k < (b + 1) * picks; ++k) {
        EK_ASSIGN_OR_RETURN(const int64_t at, PositionAt(indices, k, extent));
        std::memcpy(to, x.as<char>() + (o * extent + at) * run, run);
        to += run;
      }
    }
  }
  return absl::OkStatus();
}

absl::Status GatherElements(const v1::GatherElements& op, Inputs inputs,
                            const MutableTensorView& output) {
  const TensorView& x = inputs[0];
  const std::vector<int64_t> steps = RowMajorSteps(x.shape);
  const int64_t bytes = ElementBytes(output.type);
  const int64_t elements = NumElements(output.shape);
  std::vector<int64_t> position(output.shape.size(), 0);
  for (int64_t i = 0; i < elements; ++i) {
    EK_ASSIGN_OR_RETURN(const int64_t picked,
                        PositionAt(inputs[1], i, x.shape[op.axis()]));
    int64_t at = 0;
    for (size_t d = 0; d < position.size(); ++d) {
      const bool is_axis = static_cast<int32_t>(d) == op.axis();
      at += (is_axis ? picked : position[d]) * steps[d];
    }
    std::memcpy(output.as<char>() + i * bytes, x.as<char>() + at * bytes,
                bytes);
    for (int64_t d = std::ssize(position) - 1; d >= 0; --d) {
      if (++position[d] < output.shape[d]) break;
      position[d] = 0;
    }
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::ops
