#include "ops/tensor_view.h"

namespace edgekiln::ops {

int64_t ElementBytes(v1::ElementType type) {
  switch (type) {
    case v1::INT8:
    case v1::UINT8:
    case v1::BOOL:
      return 1;
    case v1::INT16:
    case v1::UINT16:
    case v1::FLOAT16:
      return 2;
    case v1::FLOAT32:
    case v1::INT32:
    case v1::UINT32:
      return 4;
    case v1::INT64:
    case v1::UINT64:
    case v1::FLOAT64:
      return 8;
    default:
      return 0;
  }
}

int64_t NumElements(absl::Span<const int64_t> shape) {
  int64_t product = 1;
  for (const int64_t extent : shape) product *= extent;
  return product;
}

}  // namespace edgekiln::ops
