#include "simfarm/simulators/dla/padded_image.h"

#include <algorithm>
#include <cstring>

#include "simfarm/simulators/dla/avx512.h"

namespace edgekiln::simfarm::dla {
namespace {

using Reg = DlaRegister;

constexpr uint8_t kSign = 0x80;  // Flipped: value + 128.
constexpr int64_t kMaxBytes = int64_t{64} << 20;

// Windows along one axis, in input positions.
struct Axis {
  int64_t out = 1;
  int64_t in = 1;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad = 0;

  int64_t extent() const {
    return (out - 1) * stride + (kernel - 1) * dilation + 1;
  }
  // The part inside the input, in positions of the image.
  int64_t begin() const { return std::min(pad, extent()); }
  int64_t end() const {
    return std::max(begin(), std::min(extent(), pad + in));
  }
};

Axis Rows(const Instruction& i) {
  if (i.command == DlaCommand::kMatMul) return {};
  return {i[Reg::kOutH],    i[Reg::kInH],       i[Reg::kKernelH],
          i[Reg::kStrideH], i[Reg::kDilationH], i[Reg::kPadTop]};
}

Axis Columns(const Instruction& i) {
  if (i.command == DlaCommand::kMatMul) {
    return {.out = i[Reg::kOutW], .in = i[Reg::kOutW]};
  }
  return {i[Reg::kOutW],    i[Reg::kInW],       i[Reg::kKernelW],
          i[Reg::kStrideW], i[Reg::kDilationW], i[Reg::kPadLeft]};
}

inline void Flip(const uint8_t* __restrict from, int64_t count,
                 uint8_t* __restrict to) {
  for (int64_t i = 0; i < count; ++i) to[i] = from[i] ^ kSign;
}

struct Pixels {
  const uint8_t* from;
  int64_t pitch;
  int64_t count;
  int64_t channels;  // Of the result.
};

// A number of channels known to the compiler: no loop for each pixel.
template <int64_t kChannels>
void FlipPixels(const Pixels& pixels, uint8_t* to) {
  const uint8_t* from = pixels.from;
  for (int64_t p = 0; p < pixels.count; ++p, from += pixels.pitch) {
    Flip(from, kChannels, to + p * kChannels);
  }
}

// Each input channel `multiplier` times.
void RepeatChannels(const Pixels& pixels, int64_t multiplier, uint8_t* to) {
  const uint8_t* from = pixels.from;
  for (int64_t p = 0; p < pixels.count; ++p, from += pixels.pitch) {
    for (int64_t c = 0; c < pixels.channels; c += multiplier) {
      const int64_t copies = std::min(multiplier, pixels.channels - c);
      const uint8_t value = from[c / multiplier] ^ kSign;
      for (int64_t k = 0; k < copies; ++k) *to++ = value;
    }
  }
}

void CopyPixels(const Pixels& pixels, int64_t multiplier, uint8_t* to) {
  if (multiplier == 8 && pixels.channels == 8) {
    // The first layer of networks for grey pictures.
    for (int64_t p = 0; p < pixels.count; ++p) {
      std::memset(to + 8 * p, pixels.from[p * pixels.pitch] ^ kSign, 8);
    }
    return;
  }
  if (multiplier != 1) return RepeatChannels(pixels, multiplier, to);
  switch (pixels.channels) {
    case 8:
      return FlipPixels<8>(pixels, to);
    case 16:
      return FlipPixels<16>(pixels, to);
    case 32:
      return FlipPixels<32>(pixels, to);
    case 64:
      return FlipPixels<64>(pixels, to);
    default:
      break;
  }
  const uint8_t* from = pixels.from;
  for (int64_t p = 0; p < pixels.count; ++p, from += pixels.pitch) {
    Flip(from, pixels.channels, to + p * pixels.channels);
  }
}

}  // namespace

bool PaddedImage::Build(const Instruction& i, const uint8_t* sram,
                        int64_t sram_bytes) {
  const bool depthwise = i.command == DlaCommand::kDepthConv;
  const Axis rows = Rows(i);
  const Axis columns = Columns(i);
  const TensorView input = InputView(i);
  channels_ = depthwise ? i[Reg::kOutC] : input.c;
  phases_ = depthwise ? columns.stride : 1;
  // Before products of them: nothing below overflows.
  if (rows.extent() > kMaxBytes || columns.extent() > kMaxBytes) return false;
  const int64_t phase_columns = (columns.extent() + phases_ - 1) / phases_;
  const int64_t pixels = rows.extent() * phase_columns * phases_;
  if (pixels > kMaxBytes / channels_) return false;
  const int64_t taps = std::min(rows.out * columns.out, kMaxBytes) *
                       std::min(rows.kernel * columns.kernel, kMaxBytes);
  if (pixels > 64 + 4 * taps) return false;

  phase_bytes_ = phase_columns * channels_;
  row_bytes_ = phases_ * phase_bytes_;
  row_stride_ = rows.stride;
  column_step_ = columns.stride / phases_ * channels_;
  dilation_h_ = rows.dilation;
  dilation_w_ = columns.dilation;
  const bool empty =
      rows.begin() == rows.end() || columns.begin() == columns.end();
  if (!empty && input.PixelAddress(rows.end() - 1 - rows.pad,
                                   columns.end() - 1 - columns.pad) +
                        input.c >
                    sram_bytes) {
    return false;
  }
  const int64_t bytes = pixels * channels_ + avx512::kSlack;
  if (static_cast<int64_t>(bytes_.size()) < bytes) bytes_.resize(bytes);
  if (rows.begin() > 0 || rows.end() < rows.extent() || columns.begin() > 0 ||
      columns.end() < columns.extent()) {
    std::fill_n(bytes_.begin(), bytes,
                static_cast<uint8_t>(i[Reg::kInZeroPoint] ^ kSign));
  }
  if (empty) return true;
  for (int64_t y = rows.begin(); y < rows.end(); ++y) {
    CopyRow(
        i,
        sram + input.PixelAddress(y - rows.pad, columns.begin() - columns.pad),
        input.pixel_pitch, columns.begin(), columns.end(),
        bytes_.data() + y * row_bytes_);
  }
  return true;
}

// Columns [begin, end) of the image; `from` is the first one's pixel.
void PaddedImage::CopyRow(const Instruction& i, const uint8_t* from,
                          int64_t pixel_pitch, int64_t begin, int64_t end,
                          uint8_t* row) {
  const int64_t multiplier =
      i.command == DlaCommand::kDepthConv ? i[Reg::kDepthMultiplier] : 1;
  if (multiplier == 1 && phases_ == 1 && pixel_pitch == channels_) {
    Flip(from, (end - begin) * channels_, row + begin * channels_);
    return;
  }
  // Phase by phase: what is written lies together.
  for (int64_t x = begin; x < std::min(end, begin + phases_); ++x) {
    const Pixels pixels{.from = from + (x - begin) * pixel_pitch,
                        .pitch = phases_ * pixel_pitch,
                        .count = (end - x + phases_ - 1) / phases_,
                        .channels = channels_};
    CopyPixels(pixels, multiplier, row + ColumnOffset(x));
  }
}

int64_t PaddedImage::TapOffset(int64_t ky, int64_t kx) const {
  return ky * dilation_h_ * row_bytes_ + ColumnOffset(kx * dilation_w_);
}

}  // namespace edgekiln::simfarm::dla
