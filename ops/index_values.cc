#include "ops/index_values.h"

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace edgekiln::ops {

absl::Status IndexOutOfRange(int64_t index, int64_t extent) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "INDEX_RANGE",
                    .what = absl::StrCat("index ", index),
                    .need = absl::StrCat(-extent, " to ", extent - 1),
                    .fix = "give data whose indices lie in that range"});
}

absl::StatusOr<int64_t> OffsetOfTuple(const TensorView& indices, int64_t i,
                                      absl::Span<const int64_t> shape,
                                      const std::vector<int64_t>& steps) {
  const int64_t length = indices.shape.back();
  int64_t offset = 0;
  for (int64_t d = 0; d < length; ++d) {
    EK_ASSIGN_OR_RETURN(const int64_t at,
                        PositionAt(indices, i * length + d, shape[d]));
    offset += at * steps[d];
  }
  return offset;
}

void Advance(absl::Span<const int64_t> shape, std::vector<int64_t>& position) {
  for (int64_t d = std::ssize(position) - 1; d >= 0; --d) {
    if (++position[d] < shape[d]) return;
    position[d] = 0;
  }
}

}  // namespace edgekiln::ops
