#ifndef EK_COMPILER_IR_IMAGE_EXTENT_H_
#define EK_COMPILER_IR_IMAGE_EXTENT_H_

#include <cstdint>

#include "absl/types/span.h"
#include "edgekiln/v1/program.pb.h"

// How an engine, and every v1::TensorSlice, sees a tensor. There is this one
// definition: whoever makes or reads a slice goes through it.
namespace edgekiln::compiler {

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

// All of a tensor.
v1::TensorSlice WholeSlice(const ImageExtent& extent);

// Of elements that lie dense, in the order h, w, c.
v1::SliceLayout DenseLayout(const ImageExtent& extent, int64_t element_bytes);

// Whether the slice is a part, perhaps empty, of such a tensor.
bool Contains(const ImageExtent& extent, const v1::TensorSlice& slice);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_IR_IMAGE_EXTENT_H_
