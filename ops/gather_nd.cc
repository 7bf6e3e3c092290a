#include <cstring>
#include <vector>

#include "base/status_macros.h"
#include "ops/index_values.h"
#include "ops/kernels.h"
#include "ops/strided_copy.h"

namespace edgekiln::ops {

absl::Status GatherNd(const v1::GatherNd& op, Inputs inputs,
                      const MutableTensorView& output) {
  const TensorView& x = inputs[0];
  const TensorView& indices = inputs[1];
  const auto rest = x.shape.subspan(op.batch_dims());
  const int64_t batches = NumElements(x.shape.first(op.batch_dims()));
  const int64_t picks = NumElements(indices.shape.subspan(
      op.batch_dims(), indices.shape.size() - 1 - op.batch_dims()));
  const std::vector<int64_t> steps = RowMajorSteps(rest);
  const int64_t bytes = ElementBytes(output.type);
  const int64_t image = NumElements(rest) * bytes;
  const int64_t run =
      NumElements(rest.subspan(static_cast<size_t>(indices.shape.back()))) *
      bytes;
  char* to = output.as<char>();
  for (int64_t b = 0; b < batches; ++b) {
    for (int64_t k = b * picks; k < (b + 1) * picks; ++k) {
      EK_ASSIGN_OR_RETURN(const int64_t at,
                          OffsetOfTuple(indices, k, rest, steps));
      std::memcpy(to, x.as<char>() + b * image + at * bytes, run);
      to += run;
    }
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::ops
