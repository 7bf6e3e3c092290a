#include <cstring>
#include <vector>

#include "base/status_macros.h"
#include "ops/index_values.h"
#include "ops/kernels.h"
#include "ops/strided_copy.h"

namespace edgekiln::ops {
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
    Advance(output.shape, position);
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::ops
