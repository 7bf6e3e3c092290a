#ifndef EK_OPS_STRIDED_COPY_H_
#define EK_OPS_STRIDED_COPY_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace edgekiln::ops {

// One loop over elements that are `step` elements apart.
struct StridedLoop {
  int64_t extent = 1;
  int64_t step = 1;
};

// Elements between neighbours along each dimension of a row-major tensor.
std::vector<int64_t> RowMajorSteps(absl::Span<const int64_t> shape);

// Writes, one after the other, the elements that `loops` (outermost first)
// visit from `from` on, each of 1, 2, 4 or 8 bytes. No loop may be empty.
void CopyStrided(const char* from, int64_t element_bytes,
                 std::vector<StridedLoop> loops, char* to);

}  // namespace edgekiln::ops

#endif  // EK_OPS_STRIDED_COPY_H_
