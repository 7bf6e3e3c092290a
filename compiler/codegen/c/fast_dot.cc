#include "compiler/codegen/c/fast_dot.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "compiler/codegen/c/c_text.h"
#include "compiler/codegen/c/emit_common.h"
#include "compiler/codegen/c/fast_finish.h"
#include "compiler/codegen/c/row_ring.h"
#include "compiler/codegen/c/weight_order.h"

namespace edgekiln::compiler {
namespace {

using ops::WindowGeometry;

constexpr int64_t kChannels = 4;

const v1::Clamp& ClampOf(const v1::OpAttributes& op) {
  if (op.has_conv2d()) return op.conv2d().clamp();
  if (op.has_depthwise_conv2d()) return op.depthwise_conv2d().clamp();
  return op.fully_connected().clamp();
}

// Fully connected layers are pointwise convolutions of rows; pointwise ones
// of stride 1 are one row of pixels.
WindowGeometry GeometryOf(const StepWriter& w) {
  const auto x = absl::MakeConstSpan(w.In(0).shape);
  const auto weights = absl::MakeConstSpan(w.In(1).shape);
  const auto out = absl::MakeConstSpan(w.Out(0).shape);
  WindowGeometry g;
  if (w.op().has_fully_connected()) {
    g.in_c = weights[1];
    g.out_c = weights[0];
    g.out[2] = g.in[2] = w.Out(0).num_elements() / g.out_c;
    return g;
  }
  const v1::Window2d& window = w.op().has_conv2d()
                                   ? w.op().conv2d().window()
                                   : w.op().depthwise_conv2d().window();
  g = ops::GeometryOf(window, x, weights.subspan(1, 2), out);
  const bool pointwise = g.positions() == 1 && g.stride[1] == 1 &&
                         g.stride[2] == 1 && g.in == g.out;
  if (pointwise && w.op().has_conv2d()) {
    g.in[2] = g.out[2] = g.batch * g.out[1] * g.out[2];
    g.in[1] = g.out[1] = 1;
    g.batch = 1;
  }
  return g;
}

// Weights as kernels multiply them: with 8 bits and a sign; and their zero
// point.
std::vector<int8_t> Signed(const StepWriter& w, std::vector<int8_t> weights) {
  if (w.In(1).type != v1::UINT8) return weights;
  for (int8_t& weight : weights) {
    weight = static_cast<int8_t>(static_cast<uint8_t>(weight) ^ 0x80);
  }
  return weights;
}

int64_t WeightZero(const StepWriter& w) {
  const int64_t zero = w.InQuantization(1).zero_point[0];
  return w.In(1).type == v1::UINT8 ? zero - 128 : zero;
}

std::vector<FastFinish::Weights> WeightsOf(const StepWriter& w,
                                           int64_t channels,
                                           bool channel_last) {
  const std::vector<int8_t> weights =
      Signed(w, WeightsInOrder(w, v1::AS_IN_GRAPH));
  const int64_t each = std::ssize(weights) / channels;
  std::vector<FastFinish::Weights> sums(static_cast<size_t>(channels),
                                        {.count = each, .zero = WeightZero(w)});
  const int64_t step = channel_last ? channels : 1;
  for (int64_t c = 0; c < channels; ++c) {
    FastFinish::Weights& of = sums[c];
    const int8_t* const first = weights.data() + (channel_last ? c : c * each);
    for (int64_t i = 0; i < each; ++i) {
      of.sum += first[i * step];
      of.magnitude += std::abs(int{first[i * step]});
    }
  }
  return sums;
}

int64_t UnrollOf(int64_t run) {
  for (const int64_t unroll : {4, 3, 2}) {
    if (run % unroll == 0) return unroll;
  }
  return 1;
}

class BlockKernel {
 public:
  BlockKernel(StepWriter& w, const WindowGeometry& g, const FastFinish& finish,
              v1::CWeightOrder order)
      : w_(w),
        code_(w.code()),
        g_(g),
        finish_(finish),
        ring_(w, g),
        zero_(WeightZero(w)) {
    pixels_ = g.out[2] >= 2 ? 2 : 1;
    weights_ = w.Array(v1::INT8, Signed(w, WeightsInOrder(w, order)));
  }

  void Emit() {
    code_.OpenBlock();
    ring_.Begin();
    code_.OpenLoop("oy", g_.out[1]);
    ring_.Rows();
    code_.OpenBlock();
    OpenPixels();
    const int64_t blocks = g_.out_c / kChannels;
    if (blocks > 0) {
      code_.Open("for (o = 0; o < ", blocks * kChannels, "; o += ", kChannels,
                 ")");
      Block(kChannels);
      code_.Close();
    }
    if (g_.out_c % kChannels > 0) {
      code_.Line("o = ", blocks * kChannels, ";");
      code_.OpenBlock();
      Block(g_.out_c % kChannels);
      code_.Close();
    }
    ClosePixels();
    code_.Close();
    CloseLoops(code_, 2);
  }

 private:
  // Two pixels at a time; of an odd number the last pair overlaps the one
  // before, which costs less than code for one pixel.
  void OpenPixels() {
    code_.Line("int32_t ox = 0, o;");
    code_.Open("for (;;)");
    if (g_.out[2] % pixels_ != 0) {
      code_.Line("if (ox > ", g_.out[2] - pixels_,
                 ") ox = ", g_.out[2] - pixels_, ";");
    }
    code_.Line(CTypeOf(w_.Out(0).type), " *const to = ", w_.Y(0), " + (oy * ",
               g_.out[2], " + ox) * ", g_.out_c, ";");
    code_.Line("const int8_t *pw = ", w_.Use("hidden"), "(", weights_, ");");
    if (zero_ != 0) Sums();
  }
  void ClosePixels() {
    code_.Line("if (ox == ", g_.out[2] - pixels_, ") break;");
    code_.Line("ox += ", pixels_, ";");
    code_.Close();
  }

  // What the weights' zero point takes off every channel of a pixel.
  void Sums() {
    for (int64_t p = 0; p < pixels_; ++p) {
      code_.Line(finish_.type(), " s", p, " = 0;");
    }
    code_.OpenLoop("ky", g_.kernel[1]);
    PixelRow("ky");
    code_.Open("do");
    for (int64_t p = 0; p < pixels_; ++p) {
      code_.Line("s", p, " += ", finish_.cast(), "px[", p * ring_.pixel_step(),
                 "];");
    }
    code_.Line("++px;");
    code_.Close(" while (px != end);");
    code_.Close();
    for (int64_t p = 0; p < pixels_; ++p) {
      code_.Line("s", p, " *= ", finish_.cast(), "(", zero_, ");");
    }
  }

  // Declares `px`, the elements of a row that the window covers, and `end`.
  void PixelRow(const std::string& row) {
    const absl::string_view type = CTypeOf(w_.In(0).type);
    code_.Line("const ", type, " *px = rows[", row, "] + ox * ",
               ring_.pixel_step(), ";");
    code_.Line("const ", type, " *const end = px + ", g_.kernel[2] * g_.in_c,
               ";");
  }

  // `channels` results of `pixels_` pixels from channel o on.
  void Block(int64_t channels) {
    const int64_t run = g_.kernel[2] * g_.in_c;
    const int64_t unroll = UnrollOf(run);
    for (int64_t c = 0; c < channels; ++c) {
      const std::string start =
          finish_.Start(c == 0 ? "o" : absl::StrCat("o + ", c));
      for (int64_t p = 0; p < pixels_; ++p) {
        if (zero_ != 0) {
          code_.Line(finish_.type(), " a", p, c, " = ", start, " - s", p, ";");
          continue;
        }
        code_.Line(finish_.type(), " a", p, c, " = ",
                   p == 0 ? start : absl::StrCat("a0", c), ";");
      }
    }
    if (g_.kernel[1] > 1) {
      code_.Line("int32_t ky;");
      code_.Open("for (ky = 0; ky < ", g_.kernel[1], "; ++ky)");
    } else {
      code_.OpenBlock();
    }
    PixelRow(g_.kernel[1] > 1 ? "ky" : "0");
    code_.Open("do");
    for (int64_t u = 0; u < unroll; ++u) Products(channels, u);
    code_.Line("px += ", unroll, ";");
    code_.Line("pw += ", unroll * channels, ";");
    code_.Close(" while (px != end);");
    code_.Close();
    code_.OpenBlock();
    for (int64_t c = 0; c < channels; ++c) {
      const std::string o = c == 0 ? "o" : absl::StrCat("o + ", c);
      finish_.Declare(code_, o, c);
      for (int64_t p = 0; p < pixels_; ++p) {
        finish_.Store(code_, absl::StrCat("to[", o, " + ", p * g_.out_c, "]"),
                      absl::StrCat("a", p, c), c);
      }
    }
    code_.Close();
  }

  // One element of the window times its weights.
  void Products(int64_t channels, int64_t u) {
    code_.OpenBlock();
    for (int64_t p = 0; p < pixels_; ++p) {
      code_.Line("const int32_t v", p, " = px[", u + p * ring_.pixel_step(),
                 "];");
    }
    for (int64_t c = 0; c < channels; ++c) {
      code_.Line("const int32_t w", c, " = pw[", u * channels + c, "];");
    }
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t p = 0; p < pixels_; ++p) {
        code_.Line("a", p, c, " += ", finish_.cast(), "(v", p, " * w", c, ");");
      }
    }
    code_.Close();
  }

  StepWriter& w_;
  CodeWriter& code_;
  const WindowGeometry g_;
  const FastFinish& finish_;
  RowRing ring_;
  const int64_t zero_;
  int64_t pixels_ = 2;
  std::string weights_;
};

// All taps of one channel of one pixel, unrolled; weights by channel.
class DepthwiseKernel {
 public:
  DepthwiseKernel(StepWriter& w, const WindowGeometry& g,
                  const FastFinish& finish, v1::CWeightOrder order)
      : w_(w), code_(w.code()), g_(g), finish_(finish), ring_(w, g) {
    const std::vector<int8_t> weights = Signed(w, WeightsInOrder(w, order));
    const int64_t zero = WeightZero(w);
    if (zero == 0) {
      weights_ = w.Array(v1::INT8, weights);
      return;
    }
    // They are few: without their zero point, they have 9 bits.
    std::vector<int16_t> differences;
    for (const int8_t weight : weights) {
      differences.push_back(static_cast<int16_t>(weight - zero));
    }
    weights_ = w.Array(v1::INT16, differences);
    has_differences_ = true;
  }

  void Emit() {
    code_.OpenBlock();
    ring_.Begin();
    code_.OpenLoop("oy", g_.out[1]);
    ring_.Rows();
    code_.OpenLoop("ox", g_.out[2]);
    code_.Line(CTypeOf(w_.Out(0).type), " *const to = ", w_.Y(0), " + (oy * ",
               g_.out[2], " + ox) * ", g_.out_c, ";");
    if (has_differences_) {
      code_.Line("const int16_t *pw = (const int16_t *)(const void *)",
                 w_.Use("hidden"), "((const int8_t *)", weights_, ");");
    } else {
      code_.Line("const int8_t *pw = ", w_.Use("hidden"), "(", weights_, ");");
    }
    for (int64_t ky = 0; ky < g_.kernel[1]; ++ky) {
      code_.Line("const ", CTypeOf(w_.In(0).type), " *p", ky, " = rows[", ky,
                 "] + ox * ", ring_.pixel_step(), ";");
    }
    code_.OpenLoop("o", g_.out_c);
    code_.Line(finish_.type(), " a = ", finish_.Start("o"), ";");
    for (int64_t ky = 0; ky < g_.kernel[1]; ++ky) {
      for (int64_t kx = 0; kx < g_.kernel[2]; ++kx) {
        code_.Line("a += ", finish_.cast(), "(p", ky, "[",
                   kx * g_.dilation[2] * g_.in_c, "] * pw[",
                   ky * g_.kernel[2] + kx, "]);");
      }
    }
    for (int64_t ky = 0; ky < g_.kernel[1]; ++ky) code_.Line("++p", ky, ";");
    code_.Line("pw += ", g_.positions(), ";");
    code_.OpenBlock();
    finish_.Declare(code_, "o", 0);
    finish_.Store(code_, "to[o]", "a", 0);
    code_.Close();
    CloseLoops(code_, 4);
  }

 private:
  StepWriter& w_;
  CodeWriter& code_;
  const WindowGeometry g_;
  const FastFinish& finish_;
  RowRing ring_;
  std::string weights_;
  bool has_differences_ = false;
};

}  // namespace

bool EmitFastDot(StepWriter& w, v1::CWeightOrder order) {
  const WindowGeometry g = GeometryOf(w);
  const auto finish =
      FastFinish::Of(w, ClampOf(w.op()), WeightsOf(w, g.out_c, false));
  if (!finish.has_value()) return false;
  BlockKernel(w, g, *finish, order).Emit();
  return true;
}

bool EmitFastDepthwise(StepWriter& w, v1::CWeightOrder order) {
  const WindowGeometry g = GeometryOf(w);
  const auto finish =
      FastFinish::Of(w, ClampOf(w.op()), WeightsOf(w, g.out_c, true));
  if (!finish.has_value()) return false;
  DepthwiseKernel(w, g, *finish, order).Emit();
  return true;
}

}  // namespace edgekiln::compiler
