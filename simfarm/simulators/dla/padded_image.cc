#include "simfarm/simulators/dla/padded_image.h"

#include <algorithm>

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

void Flip(const uint8_t* from, int64_t count, uint8_t* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = from[i] ^ kSign;
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
  for (int64_t x = begin; x < end; ++x, from += pixel_pitch) {
    uint8_t* to = row + ColumnOffset(x);
    if (multiplier == 1) {
      Flip(from, channels_, to);
      continue;
    }
    for (int64_t c = 0; c < channels_; c += multiplier) {
      std::fill_n(to + c, std::min(multiplier, channels_ - c),
                  static_cast<uint8_t>(from[c / multiplier] ^ kSign));
    }
  }
}

int64_t PaddedImage::TapOffset(int64_t ky, int64_t kx) const {
  return ky * dilation_h_ * row_bytes_ + ColumnOffset(kx * dilation_w_);
}

}  // namespace edgekiln::simfarm::dla
