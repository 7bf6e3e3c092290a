#include "simfarm/simulators/dla/wide_convolution.h"

#include <algorithm>
#include <cstring>

namespace edgekiln::simfarm::dla {
namespace {

using Reg = DlaRegister;
using avx512::kDepthwiseLanes;
using avx512::kLanes;

// Packing the weights pays from so many pixels on.
constexpr int64_t kFewPixels = 4;
// Of a channel's weights: the loops address 16 channels with 32 bits.
constexpr int64_t kMaxKernelBytes = int64_t{1} << 26;

int64_t RoundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Grows only: what a buffer holds beyond its part in use does not matter.
template <typename T>
void Reserve(std::vector<T>& buffer, int64_t size) {
  if (static_cast<int64_t>(buffer.size()) < size) buffer.resize(size);
}

}  // namespace

bool WideConvolution::Execute(const Instruction& i, const Table& table,
                              const OutputLimits& limits) {
  if (WeightBytes(i) / i[Reg::kOutC] > kMaxKernelBytes) return false;
  if (!image_.Build(i, sram_, sram_bytes_)) return false;
  output_ = OutputView(i);
  requantization_ = {.limits = limits, .writes_int32 = WritesInt32(i)};
  if (i.command == DlaCommand::kDepthConv) {
    Depthwise(i, table);
  } else if (output_.h * output_.w < kFewPixels) {
    FewPixels(i, table);
  } else {
    Dense(i, table);
  }
  return true;
}

void WideConvolution::SetTable(const Table& table, int64_t channels,
                               int64_t period, int32_t offset) {
  const int64_t padded = RoundUp(channels, kDepthwiseLanes);
  bias_.assign(padded, 0);
  multiplier_.assign(padded, 0);
  n_.assign(padded, 1);
  for (int64_t c = 0; c < channels; ++c) {
    const int64_t from = c % period;
    bias_[c] =
        static_cast<int32_t>(static_cast<uint32_t>(table.bias[from]) -
                             static_cast<uint32_t>(offset) *
                                 static_cast<uint32_t>(weight_sums_[from]));
    if (requantization_.writes_int32) continue;
    multiplier_[c] = table.multiplier[from];
    n_[c] = table.n[from];
  }
  requantization_.bias = bias_.data();
  requantization_.multiplier = multiplier_.data();
  requantization_.n = n_.data();
}

void WideConvolution::SetSegments(const Instruction& i) {
  shape_ = {.channels = output_.c, .segments = 1};
  segment_offsets_.assign(1, 0);
  if (i.command == DlaCommand::kMatMul) {
    shape_.segment_bytes = i[Reg::kInC];
    return;
  }
  const int64_t columns = i[Reg::kKernelW];
  const int64_t together = image_.RowsAreSegments() ? columns : 1;
  shape_.segments = i[Reg::kKernelH] * columns / together;
  shape_.segment_bytes = together * i[Reg::kInC];
  segment_offsets_.resize(shape_.segments);
  for (int64_t s = 0; s < shape_.segments; ++s) {
    const int64_t tap = s * together;
    segment_offsets_[s] = image_.TapOffset(tap / columns, tap % columns);
  }
}

void WideConvolution::FewPixels(const Instruction& i, const Table& table) {
  SetSegments(i);
  const int64_t count = shape_.segments * shape_.segment_bytes;
  const int32_t offset = static_cast<int32_t>(128 + i[Reg::kInZeroPoint]);
  Reserve(patch_, count + avx512::kSlack);
  Reserve(sums_, output_.c);
  weight_sums_.assign(output_.c, 0);
  SetTable(table, output_.c, output_.c, 0);
  for (int64_t p = 0; p < output_.h * output_.w; ++p) {
    const int64_t oy = p / output_.w;
    const int64_t ox = p % output_.w;
    for (int64_t s = 0; s < shape_.segments; ++s) {
      std::memcpy(patch_.data() + s * shape_.segment_bytes,
                  image_.Pixel(oy, ox) + segment_offsets_[s],
                  shape_.segment_bytes);
    }
    avx512::MultiplyRows(patch_.data(), sram_ + i[Reg::kWeightAddr], output_.c,
                         count, offset, sums_.data());
    avx512::Requantize(sums_.data(), output_.c, requantization_,
                       sram_ + output_.PixelAddress(oy, ox));
  }
}

void WideConvolution::Dense(const Instruction& i, const Table& table) {
  SetSegments(i);
  const int64_t vectors = RoundUp(output_.c, kLanes) / kLanes;
  Reserve(weights_, vectors * shape_.vector_bytes());
  Reserve(weight_sums_, vectors * kLanes);
  auto* packed = reinterpret_cast<int8_t*>(weights_.data());
  avx512::PackWeights(sram_ + i[Reg::kWeightAddr], shape_, packed,
                      weight_sums_.data());
  SetTable(table, output_.c, output_.c,
           static_cast<int32_t>(128 + i[Reg::kInZeroPoint]));
  avx512::ConvolutionBlock block;
  block.segment_offsets = segment_offsets_.data();
  block.shape = shape_;
  for (int64_t v = 0; v < vectors; v += block.vectors) {
    block.vectors = std::min(avx512::kMaxVectors, vectors - v);
    block.channels = std::min(block.vectors * kLanes, output_.c - v * kLanes);
    block.weights = packed + v * shape_.vector_bytes();
    block.requantization = requantization_.From(v * kLanes);
    Blocks(v * kLanes, &block);
  }
}

// All pixels of the block's channels, in parts of about the same size.
void WideConvolution::Blocks(int64_t first_channel,
                             avx512::ConvolutionBlock* block) {
  const int64_t most = avx512::MaxPixels(block->vectors);
  int64_t left = output_.h * output_.w;
  int64_t parts = (left + most - 1) / most;
  int64_t oy = 0;
  int64_t ox = 0;
  for (; parts > 0; --parts) {
    block->num_pixels = (left + parts - 1) / parts;
    left -= block->num_pixels;
    for (int64_t p = 0; p < block->num_pixels; ++p) {
      block->pixels[p] = image_.Pixel(oy, ox);
      block->outputs[p] = sram_ + output_.PixelAddress(oy, ox) +
                          first_channel * output_.element_bytes;
      if (++ox == output_.w) {
        ox = 0;
        ++oy;
      }
    }
    avx512::Convolve(*block);
  }
}

void WideConvolution::Depthwise(const Instruction& i, const Table& table) {
  const int64_t columns = i[Reg::kKernelW];
  const int64_t taps = i[Reg::kKernelH] * columns;
  segment_offsets_.assign(RoundUp(taps, 4), 0);
  weight_sums_.assign(output_.c, 0);
  for (int64_t t = 0; t < taps; ++t) {
    segment_offsets_[t] = image_.TapOffset(t / columns, t % columns);
    const uint8_t* weights = sram_ + i[Reg::kWeightAddr] + t * output_.c;
    for (int64_t c = 0; c < output_.c; ++c) {
      weight_sums_[c] = WrapAdd(weight_sums_[c], LoadInt8(weights + c));
    }
  }
  // Few channels: several pixels share a vector where that gives the same
  // bytes in the same places.
  const bool flat =
      output_.c < kDepthwiseLanes && kDepthwiseLanes % output_.c == 0 &&
      (output_.w == 1 || output_.pixel_pitch == output_.pixel_bytes());
  SetTable(table, flat ? kDepthwiseLanes : output_.c, output_.c,
           static_cast<int32_t>(128 + i[Reg::kInZeroPoint]));
  for (int64_t c = 0; c < output_.c; c += kDepthwiseLanes) {
    DepthwiseChannels(i, c, std::min(kDepthwiseLanes, output_.c - c), flat);
  }
}

void WideConvolution::DepthwiseChannels(const Instruction& i, int64_t first,
                                        int64_t channels, bool flat) {
  const int64_t taps = i[Reg::kKernelH] * i[Reg::kKernelW];
  const int64_t groups = RoundUp(taps, 4) / 4;
  Reserve(weights_, groups * 4 * kDepthwiseLanes);
  for (int64_t g = 0; g < groups; ++g) {
    uint8_t rows[4][kDepthwiseLanes] = {};
    for (int64_t t = 0; t < std::min<int64_t>(4, taps - 4 * g); ++t) {
      const uint8_t* from =
          sram_ + i[Reg::kWeightAddr] + (4 * g + t) * output_.c + first;
      std::memcpy(rows[t], from, channels);
      for (int64_t c = channels; flat && c < kDepthwiseLanes; ++c) {
        rows[t][c] = rows[t][c - channels];
      }
    }
    avx512::PackDepthwise(rows, weights_.data() + g * 4 * kDepthwiseLanes);
  }
  avx512::DepthwiseRow row{.tap_offsets = segment_offsets_.data(),
                           .tap_groups = groups,
                           .weights = weights_.data(),
                           .pixels = output_.w,
                           .input_step = image_.column_step(),
                           .output_step = output_.pixel_pitch,
                           .channels = channels,
                           .last_channels = channels,
                           .requantization = requantization_.From(first)};
  if (flat) {
    const int64_t values = output_.w * output_.c;
    row.pixels = RoundUp(values, kDepthwiseLanes) / kDepthwiseLanes;
    row.input_step = kDepthwiseLanes;
    row.output_step = kDepthwiseLanes * output_.element_bytes;
    row.channels = kDepthwiseLanes;
    row.last_channels = values - (row.pixels - 1) * kDepthwiseLanes;
  }
  for (int64_t oy = 0; oy < output_.h; ++oy) {
    row.input = image_.Pixel(oy, 0) + first;
    row.output =
        sram_ + output_.PixelAddress(oy, 0) + first * output_.element_bytes;
    avx512::ConvolveDepthwise(row);
  }
}

}  // namespace edgekiln::simfarm::dla
