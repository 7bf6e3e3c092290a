#include "ops/window.h"

namespace edgekiln::ops {
namespace {

WindowGeometry WithoutWindow(absl::Span<const int64_t> x,
                             absl::Span<const int64_t> kernel,
                             absl::Span<const int64_t> out) {
  WindowGeometry g;
  const size_t dims = kernel.size();
  const size_t skip = 3 - dims;
  for (size_t d = 0; d < dims; ++d) {
    g.in[skip + d] = x[1 + d];
    g.out[skip + d] = out[1 + d];
    g.kernel[skip + d] = kernel[d];
  }
  g.batch = x.front();
  g.in_c = x.back();
  g.out_c = out.back();
  return g;
}

}  // namespace

WindowGeometry GeometryOf(const v1::Window2d& window,
                          absl::Span<const int64_t> x,
                          absl::Span<const int64_t> kernel,
                          absl::Span<const int64_t> out) {
  WindowGeometry g = WithoutWindow(x, kernel, out);
  g.stride = {1, window.stride_h(), window.stride_w()};
  g.dilation = {1, window.dilation_h(), window.dilation_w()};
  g.pad = {0, window.pad_top(), window.pad_left()};
  return g;
}

WindowGeometry GeometryOf(const v1::Window& window, absl::Span<const int64_t> x,
                          absl::Span<const int64_t> kernel,
                          absl::Span<const int64_t> out) {
  WindowGeometry g = WithoutWindow(x, kernel, out);
  const size_t skip = 3 - kernel.size();
  for (size_t d = 0; d < kernel.size(); ++d) {
    const int index = static_cast<int>(d);
    g.stride[skip + d] = window.stride(index);
    g.dilation[skip + d] = window.dilation(index);
    g.pad[skip + d] = window.pad_before(index);
  }
  return g;
}

}  // namespace edgekiln::ops
