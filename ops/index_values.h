#ifndef EK_OPS_INDEX_VALUES_H_
#define EK_OPS_INDEX_VALUES_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/tensor_view.h"

// Values of index tensors (INT32 or INT64), which are data: each is checked
// where it is read.
//
// Thread-safe: pure functions.
namespace edgekiln::ops {

// INVALID_ARGUMENT for an index that is not in [-extent, extent).
absl::Status IndexOutOfRange(int64_t index, int64_t extent);

// Index `i` of the tensor as a position along an axis of `extent` elements;
// negative ones count from the end.
inline absl::StatusOr<int64_t> PositionAt(const TensorView& indices, int64_t i,
                                          int64_t extent) {
  const int64_t index = indices.type == v1::INT32
                            ? int64_t{indices.as<int32_t>()[i]}
                            : indices.as<int64_t>()[i];
  if (index >= -extent && index < extent) {
    return index < 0 ? index + extent : index;
  }
  return IndexOutOfRange(index, extent);
}

// Where the slice that tuple `i` names begins: the tuple's elements are
// positions along the first dimensions of `shape`, whose row-major steps are
// `steps`.
absl::StatusOr<int64_t> OffsetOfTuple(const TensorView& indices, int64_t i,
                                      absl::Span<const int64_t> shape,
                                      const std::vector<int64_t>& steps);

// The next position of a row-major walk over `shape`.
void Advance(absl::Span<const int64_t> shape, std::vector<int64_t>& position);

}  // namespace edgekiln::ops

#endif  // EK_OPS_INDEX_VALUES_H_
