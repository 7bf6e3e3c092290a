#ifndef EK_OPS_WINDOW_H_
#define EK_OPS_WINDOW_H_

#include <algorithm>
#include <array>
#include <cstdint>

#include "absl/types/span.h"
#include "edgekiln/v1/graph.pb.h"

namespace edgekiln::ops {

// A window on a channels-last tensor with one to three spatial dimensions, seen
// as three: leading ones that are missing have extent, stride and dilation 1.
struct WindowGeometry {
  using Extents = std::array<int64_t, 3>;

  Extents in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1};
  Extents stride{1, 1, 1}, dilation{1, 1, 1}, pad{0, 0, 0};  // Before.
  int64_t batch = 1;
  int64_t in_c = 1;
  int64_t out_c = 1;

  int64_t pixels() const { return batch * image_pixels(); }
  int64_t image_pixels() const { return out[0] * out[1] * out[2]; }
  int64_t input_pixels() const { return in[0] * in[1] * in[2]; }
  int64_t positions() const { return kernel[0] * kernel[1] * kernel[2]; }

  // Where output pixel `pixel` lies in its image, pixel / image_pixels().
  Extents PositionOf(int64_t pixel) const {
    return {pixel / (out[1] * out[2]) % out[0], pixel / out[2] % out[1],
            pixel % out[2]};
  }
};

// `x` and `out` are whole shapes, `kernel` the extents of the window, one per
// spatial dimension. The window fits them.
WindowGeometry GeometryOf(const v1::Window2d& window,
                          absl::Span<const int64_t> x,
                          absl::Span<const int64_t> kernel,
                          absl::Span<const int64_t> out);
WindowGeometry GeometryOf(const v1::Window& window, absl::Span<const int64_t> x,
                          absl::Span<const int64_t> kernel,
                          absl::Span<const int64_t> out);

// Steps k in [begin, end) of a window of `size` steps for which
// first + k * dilation lies in [0, extent).
struct WindowSteps {
  WindowSteps(int64_t first, int64_t dilation, int64_t size, int64_t extent)
      : begin(first >= 0 ? 0
                         : std::min(size, (dilation - 1 - first) / dilation)),
        end(first >= extent ? begin
                            : std::clamp((extent - 1 - first) / dilation + 1,
                                         begin, size)) {}
  int64_t begin;
  int64_t end;
  int64_t count() const { return end - begin; }
};

}  // namespace edgekiln::ops

#endif  // EK_OPS_WINDOW_H_
