#include "ops/window_rules.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ops/shape_inference.h"

namespace edgekiln::ops {

absl::Status CheckWindow(const v1::Window& window, size_t dims) {
  const int size = static_cast<int>(dims);
  if (window.stride_size() != size || window.dilation_size() != size ||
      window.pad_before_size() != size || window.pad_after_size() != size) {
    return BadShape(absl::StrCat("window of other than ", dims, " dimensions"),
                    "one stride, dilation and padding per dimension");
  }
  for (int d = 0; d < size; ++d) {
    if (window.stride(d) < 1 || window.dilation(d) < 1) {
      return BadShape("window stride or dilation below 1", "1 or more");
    }
    if (window.pad_before(d) < 0 || window.pad_after(d) < 0) {
      return BadShape("negative window padding", "0 or more");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Shape> WindowShape(const v1::Window& window,
                                  absl::Span<const int64_t> x,
                                  absl::Span<const int64_t> kernel,
                                  int64_t channels) {
  if (x.size() != kernel.size() + 2) {
    return BadShape(
        absl::StrCat("window ", ShapeText(kernel), " on input ", ShapeText(x)),
        "one extent per spatial dimension");
  }
  EK_RETURN_IF_ERROR(CheckWindow(window, kernel.size()));
  Shape out{x[0]};
  for (size_t d = 0; d < kernel.size(); ++d) {
    const int i = static_cast<int>(d);
    if (kernel[d] < 1) return BadShape("empty window", "1 or more everywhere");
    out.push_back(WindowOutputExtent(x[1 + d], kernel[d], window.stride(i),
                                     window.dilation(i), window.pad_before(i),
                                     window.pad_after(i)));
    if (out.back() < 1) {
      return BadShape(
          absl::StrCat("window ", ShapeText(kernel), " does not fit input ",
                       ShapeText(x)),
          "an input with its padding at least as large as the window");
    }
  }
  out.push_back(channels);
  return out;
}

v1::Window WindowOf(const v1::Window2d& window) {
  v1::Window result;
  result.add_stride(window.stride_h());
  result.add_stride(window.stride_w());
  result.add_dilation(window.dilation_h());
  result.add_dilation(window.dilation_w());
  result.add_pad_before(window.pad_top());
  result.add_pad_before(window.pad_left());
  result.add_pad_after(window.pad_bottom());
  result.add_pad_after(window.pad_right());
  return result;
}

}  // namespace edgekiln::ops
