#include "compiler/ir/image_extent.h"

namespace edgekiln::compiler {
namespace {

bool Inside(int64_t begin, int64_t end, int64_t extent) {
  return begin >= 0 && begin <= end && end <= extent;
}

}  // namespace

ImageExtent ImageExtentOf(absl::Span<const int64_t> shape) {
  if (shape.size() == 4 && shape[0] == 1) return {shape[1], shape[2], shape[3]};
  if (shape.empty()) return {};
  int64_t rows = 1;
  for (const int64_t extent : shape.first(shape.size() - 1)) rows *= extent;
  return {rows, 1, shape.back()};
}

v1::TensorSlice WholeSlice(const ImageExtent& extent) {
  v1::TensorSlice slice;
  slice.set_h_end(extent.h);
  slice.set_w_end(extent.w);
  slice.set_c_end(extent.c);
  return slice;
}

v1::SliceLayout DenseLayout(const ImageExtent& extent, int64_t element_bytes) {
  v1::SliceLayout layout;
  layout.set_pixel_pitch_bytes(extent.c * element_bytes);
  layout.set_row_pitch_bytes(extent.row_elements() * element_bytes);
  return layout;
}

bool Contains(const ImageExtent& extent, const v1::TensorSlice& slice) {
  return Inside(slice.h_begin(), slice.h_end(), extent.h) &&
         Inside(slice.w_begin(), slice.w_end(), extent.w) &&
         Inside(slice.c_begin(), slice.c_end(), extent.c);
}

}  // namespace edgekiln::compiler
