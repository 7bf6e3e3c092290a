#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "ops/kernels.h"
#include "ops/strided_copy.h"

namespace edgekiln::ops {

absl::Status ReverseSequence(const v1::ReverseSequence& op, Inputs inputs,
                             const MutableTensorView& output) {
  const auto shape = output.shape;
  const TensorView& lengths = inputs[1];
  const std::vector<int64_t> steps = RowMajorSteps(shape);
  const int64_t batch = shape[op.batch_axis()];
  const int64_t time = shape[op.time_axis()];
  const auto inner =
      static_cast<size_t>(std::max(op.batch_axis(), op.time_axis()) + 1);
  const int64_t bytes = ElementBytes(output.type);
  const int64_t run = NumElements(shape.subspan(inner));
  const int64_t runs = NumElements(shape.first(inner));
  for (int64_t r = 0; r < runs; ++r) {
    const int64_t to = r * run;
    const int64_t b = to / steps[op.batch_axis()] % batch;
    const int64_t t = to / steps[op.time_axis()] % time;
    const int64_t length = lengths.type == v1::INT32
                               ? int64_t{lengths.as<int32_t>()[b]}
                               : lengths.as<int64_t>()[b];
    if (length < 0 || length > time) {
      return MakeError(absl::StatusCode::kInvalidArgument,
                       {.fault = Fault::kUser,
                        .reason = "INDEX_RANGE",
                        .what = absl::StrCat("length ", length),
                        .need = absl::StrCat("0 to ", time),
                        .fix = "give data whose lengths lie in that range"});
    }
    const int64_t source = t < length ? length - 1 - t : t;
    const int64_t from = to + (source - t) * steps[op.time_axis()];
    std::memcpy(output.as<char>() + to * bytes,
                inputs[0].as<char>() + from * bytes, run * bytes);
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::ops
