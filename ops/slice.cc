#include "ops/broadcast.h"
#include "ops/kernels.h"
#include "ops/strided_copy.h"

// Ops that read the input in another order or more than once.
namespace edgekiln::ops {

absl::Status Transpose(const v1::Transpose& op, const TensorView& input,
                       const MutableTensorView& output) {
  const std::vector<int64_t> steps = RowMajorSteps(input.shape);
  std::vector<StridedLoop> loops;
  for (const int32_t from : op.permutation()) {
    loops.push_back({input.shape[from], steps[from]});
  }
  CopyStrided(input.as<char>(), ElementBytes(output.type), std::move(loops),
              output.as<char>());
  return absl::OkStatus();
}

absl::Status Slice(const v1::Slice& op, const TensorView& input,
                   const MutableTensorView& output) {
  const std::vector<int64_t> steps = RowMajorSteps(input.shape);
  const int64_t bytes = ElementBytes(output.type);
  const char* from = input.as<char>();
  std::vector<StridedLoop> loops;
  for (int d = 0; d < op.begin_size(); ++d) {
    from += op.begin(d) * steps[d] * bytes;
    loops.push_back({op.extent(d), op.stride(d) * steps[d]});
  }
  CopyStrided(from, bytes, std::move(loops), output.as<char>());
  return absl::OkStatus();
}

absl::Status BroadcastTo(const TensorView& input,
                         const MutableTensorView& output) {
  const std::vector<int64_t> steps =
      BroadcastStrides(input.shape, output.shape);
  std::vector<StridedLoop> loops;
  for (size_t d = 0; d < steps.size(); ++d) {
    loops.push_back({output.shape[d], steps[d]});
  }
  CopyStrided(input.as<char>(), ElementBytes(output.type), std::move(loops),
              output.as<char>());
  return absl::OkStatus();
}

absl::Status Tile(const TensorView& input, const MutableTensorView& output) {
  const std::vector<int64_t> steps = RowMajorSteps(input.shape);
  std::vector<StridedLoop> loops;
  for (size_t d = 0; d < steps.size(); ++d) {
    loops.push_back({output.shape[d] / input.shape[d], 0});
    loops.push_back({input.shape[d], steps[d]});
  }
  CopyStrided(input.as<char>(), ElementBytes(output.type), std::move(loops),
              output.as<char>());
  return absl::OkStatus();
}

}  // namespace edgekiln::ops
