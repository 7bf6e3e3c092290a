#ifndef EK_OPS_PATCH_ROWS_H_
#define EK_OPS_PATCH_ROWS_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "ops/copy_less.h"
#include "ops/gemm.h"
#include "ops/window.h"

namespace edgekiln::ops {

// What the windows of a convolution see, as rows of a matrix. The input is
// copied once, less its zero point and with its padding, so that every window
// lies inside and each of its lines is one run of memory.
template <typename To>
class PatchRows {
 public:
  // Whether the copy is worth it: it has no more elements than all rows, and
  // at most kMostElements.
  static bool Pays(const WindowGeometry& g, int64_t channels) {
    double copy = static_cast<double>(g.batch) * static_cast<double>(channels);
    for (int d = 0; d < 3; ++d) {
      copy *= static_cast<double>(g.out[d] - 1) * g.stride[d] +
              static_cast<double>(g.kernel[d] - 1) * g.dilation[d] + 1;
    }
    const double rows = static_cast<double>(g.pixels()) * g.positions() *
                        static_cast<double>(channels);
    return g.positions() > 1 && g.pixels() > 0 && copy <= rows &&
           copy <= kMostElements;
  }

  // Of `channels` channels of `x`, which starts at the first of them. `g` must
  // outlive it.
  template <typename From>
  PatchRows(const WindowGeometry& g, const From* x, int64_t channels,
            To zero_point)
      : g_(g), channels_(channels) {
    for (int d = 0; d < 3; ++d) {
      extent_[d] =
          (g.out[d] - 1) * g.stride[d] + (g.kernel[d] - 1) * g.dilation[d] + 1;
    }
    values_.resize(g.batch * Image() + kRowSlack);
    for (int64_t i = 0; i < g.batch; ++i) {
      Copy(x + i * g.input_pixels() * g.in_c, zero_point,
           values_.data() + i * Image());
    }
    // Columns next to each other are one run.
    const bool dense = g.dilation[2] == 1;
    run_ = (dense ? g.kernel[2] : 1) * channels;
    for (int64_t kd = 0; kd < g.kernel[0]; ++kd) {
      for (int64_t kh = 0; kh < g.kernel[1]; ++kh) {
        for (int64_t kw = 0; kw < (dense ? 1 : g.kernel[2]); ++kw) {
          runs_.push_back(
              At(kd * g.dilation[0], kh * g.dilation[1], kw * g.dilation[2]));
        }
      }
    }
  }

  // Writes rows [first, first + count), `stride` apart, and up to kRowSlack
  // elements behind each.
  void Write(int64_t first, int64_t count, int64_t stride, To* row) const {
    WindowGeometry::Extents at = g_.PositionOf(first);
    int64_t image = first / g_.image_pixels();
    for (int64_t r = 0; r < count; ++r, row += stride) {
      const To* from =
          values_.data() + image * Image() +
          At(at[0] * g_.stride[0], at[1] * g_.stride[1], at[2] * g_.stride[2]);
      To* to = row;
      for (const int64_t run : runs_) {
        CopyRun(from + run, run_, to);
        to += run_;
      }
      if (++at[2] < g_.out[2]) continue;
      at[2] = 0;
      if (++at[1] < g_.out[1]) continue;
      at[1] = 0;
      if (++at[0] < g_.out[0]) continue;
      at[0] = 0;
      ++image;
    }
  }

 private:
  // More are copied by the C library.
  static constexpr int64_t kManyVectors = 8;
  static constexpr int64_t kMostElements = int64_t{1} << 22;

  int64_t Image() const { return At(extent_[0], 0, 0); }
  int64_t At(int64_t z, int64_t y, int64_t x) const {
    return ((z * extent_[1] + y) * extent_[2] + x) * channels_;
  }

  // Whole vectors: what is behind a run is overwritten by the next one.
  static void CopyRun(const To* from, int64_t count, To* to) {
    constexpr int64_t kAtOnce = 16 / static_cast<int64_t>(sizeof(To));
    if (count > kManyVectors * kAtOnce) {
      std::memcpy(to, from, count * sizeof(To));
      return;
    }
    for (int64_t i = 0; i < count; i += kAtOnce) {
      std::memcpy(to + i, from + i, 16);
    }
  }

  template <typename From>
  void Copy(const From* image, To zero_point, To* to) {
    const int64_t columns =
        std::clamp<int64_t>(extent_[2] - g_.pad[2], 0, g_.in[2]);
    if (columns == 0) return;
    for (int64_t z = 0; z < g_.in[0] && z + g_.pad[0] < extent_[0]; ++z) {
      for (int64_t y = 0; y < g_.in[1] && y + g_.pad[1] < extent_[1]; ++y) {
        const From* from = image + (z * g_.in[1] + y) * g_.in[2] * g_.in_c;
        To* line = to + At(z + g_.pad[0], y + g_.pad[1], g_.pad[2]);
        if (channels_ == g_.in_c) {
          CopyLess(from, columns * channels_, zero_point, line);
          continue;
        }
        for (int64_t x = 0; x < columns; ++x) {
          CopyLess(from + x * g_.in_c, channels_, zero_point,
                   line + x * channels_);
        }
      }
    }
  }

  const WindowGeometry& g_;
  const int64_t channels_;
  WindowGeometry::Extents extent_;  // Of the copy.
  int64_t run_ = 0;
  std::vector<int64_t> runs_;  // Of a window, from its first element.
  std::vector<To> values_;
};

}  // namespace edgekiln::ops

#endif  // EK_OPS_PATCH_ROWS_H_
