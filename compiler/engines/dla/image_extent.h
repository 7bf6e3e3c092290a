#ifndef EK_COMPILER_ENGINES_DLA_IMAGE_EXTENT_H_
#define EK_COMPILER_ENGINES_DLA_IMAGE_EXTENT_H_

#include <cstdint>

#include "absl/types/span.h"

// How the DLA sees a tensor. There is this one definition; outside of the
// engine, boxes say in which shape they count.
namespace edgekiln::compiler::dla {

// Rows, columns, channels.
struct ImageExtent {
  int64_t h = 1;
  int64_t w = 1;
  int64_t c = 1;
  int64_t row_elements() const { return w * c; }
  int64_t elements() const { return h * w * c; }
  bool operator==(const ImageExtent&) const = default;
};

// [1, h, w, c] as it is. Any other shape, also with four dimensions, as a
// column of rows, {rows, 1, last extent}; a scalar as {1, 1, 1}. The product of
// the extents must fit 64 bits.
ImageExtent ImageExtentOf(absl::Span<const int64_t> shape);

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_IMAGE_EXTENT_H_
