#include "compiler/engines/dla/image_extent.h"

namespace edgekiln::compiler::dla {

ImageExtent ImageExtentOf(absl::Span<const int64_t> shape) {
  if (shape.size() == 4 && shape[0] == 1) return {shape[1], shape[2], shape[3]};
  if (shape.empty()) return {};
  int64_t rows = 1;
  for (const int64_t extent : shape.first(shape.size() - 1)) rows *= extent;
  return {rows, 1, shape.back()};
}

}  // namespace edgekiln::compiler::dla
