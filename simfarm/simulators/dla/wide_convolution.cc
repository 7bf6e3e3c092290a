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

int64_t WideConvolution::MaxPreparedBytes(const Instruction& i) {
  const bool windowed = i.command != DlaCommand::kMatMul;
  const int64_t taps = windowed ? i[Reg::kKernelH] * i[Reg::kKernelW] : 1;
  if (i.command == DlaCommand::kDepthConv) {
    return RoundUp(taps, 4) * RoundUp(i[Reg::kOutC], kDepthwiseLanes);
  }
  return RoundUp(i[Reg::kOutC], kLanes) * taps * RoundUp(i[Reg::kInC], 4);
}

bool WideConvolution::Begin(const Instruction& i) {
  // Its products are of int8 weights.
  if (i[Reg::kWeightZeroPoint] != 0) return false;
  if (WeightBytes(i) / i[Reg::kOutC] > kMaxKernelBytes) return false;
  if (!image_.Build(i, sram_, sram_bytes_)) return false;
  output_ = OutputView(i);
  writes_int32_ = WritesInt32(i);
  half_even_ = i.half_even;
  if (i.command != DlaCommand::kDepthConv) {
    SetSegments(i);
    return true;
  }
  const int64_t columns = i[Reg::kKernelW];
  depthwise_.taps = i[Reg::kKernelH] * columns;
  depthwise_.tap_groups = RoundUp(depthwise_.taps, 4) / 4;
  depthwise_.flat =
      output_.c < kDepthwiseLanes && kDepthwiseLanes % output_.c == 0 &&
      (output_.w == 1 || output_.pixel_pitch == output_.pixel_bytes());
  segment_offsets_.assign(depthwise_.tap_groups * 4, 0);
  for (int64_t t = 0; t < depthwise_.taps; ++t) {
    segment_offsets_[t] = image_.TapOffset(t / columns, t % columns);
  }
  return true;
}

bool WideConvolution::HasFewPixels() const {
  return output_.h * output_.w < kFewPixels;
}

void WideConvolution::Prepare(const Instruction& i, const uint8_t* weights,
                              const Table& table, PreparedConstants* prepared) {
  if (i.command == DlaCommand::kDepthConv) {
    PrepareDepthwise(i, weights, table, prepared);
  } else {
    PrepareDense(i, weights, table, prepared);
  }
}

void WideConvolution::Run(const Instruction& i,
                          const PreparedConstants& prepared,
                          const OutputLimits& limits) {
  SetRequantization(prepared, limits);
  if (i.command == DlaCommand::kDepthConv) {
    RunDepthwise(prepared);
  } else {
    RunDense(prepared);
  }
}

void WideConvolution::SetTable(const Table& table, int64_t channels,
                               int64_t period, int32_t offset,
                               PreparedConstants* prepared) const {
  const int64_t padded = RoundUp(channels, kDepthwiseLanes);
  prepared->bias.assign(padded, 0);
  prepared->multiplier.assign(padded, 0);
  prepared->n.assign(padded, 1);
  for (int64_t c = 0; c < channels; ++c) {
    const int64_t from = c % period;
    prepared->bias[c] =
        static_cast<int32_t>(static_cast<uint32_t>(table.bias[from]) -
                             static_cast<uint32_t>(offset) *
                                 static_cast<uint32_t>(weight_sums_[from]));
    if (writes_int32_) continue;
    prepared->multiplier[c] = table.multiplier[from];
    prepared->n[c] = table.n[from];
  }
}

void WideConvolution::SetRequantization(const PreparedConstants& prepared,
                                        const OutputLimits& limits) {
  requantization_ = {.bias = prepared.bias.data(),
                     .multiplier = prepared.multiplier.data(),
                     .n = prepared.n.data(),
                     .limits = limits,
                     .writes_int32 = writes_int32_,
                     .half_even = half_even_};
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

void WideConvolution::RunFewPixels(const Instruction& i, const uint8_t* weights,
                                   const Table& table,
                                   const OutputLimits& limits) {
  const int64_t count = shape_.segments * shape_.segment_bytes;
  const int32_t offset = static_cast<int32_t>(128 + i[Reg::kInZeroPoint]);
  Reserve(patch_, count + avx512::kSlack);
  Reserve(sums_, output_.c);
  weight_sums_.assign(output_.c, 0);
  SetTable(table, output_.c, output_.c, 0, &few_);
  SetRequantization(few_, limits);
  for (int64_t p = 0; p < output_.h * output_.w; ++p) {
    const int64_t oy = p / output_.w;
    const int64_t ox = p % output_.w;
    for (int64_t s = 0; s < shape_.segments; ++s) {
      std::memcpy(patch_.data() + s * shape_.segment_bytes,
                  image_.Pixel(oy, ox) + segment_offsets_[s],
                  shape_.segment_bytes);
    }
    avx512::MultiplyRows(patch_.data(), weights, output_.c, count, offset,
                         sums_.data());
    avx512::Requantize(sums_.data(), output_.c, requantization_,
                       sram_ + output_.PixelAddress(oy, ox));
  }
}

void WideConvolution::PrepareDense(const Instruction& i, const uint8_t* weights,
                                   const Table& table,
                                   PreparedConstants* prepared) {
  const int64_t vectors = RoundUp(output_.c, kLanes) / kLanes;
  Reserve(prepared->weights, vectors * shape_.vector_bytes());
  Reserve(weight_sums_, vectors * kLanes);
  avx512::PackWeights(weights, shape_,
                      reinterpret_cast<int8_t*>(prepared->weights.data()),
                      weight_sums_.data());
  SetTable(table, output_.c, output_.c,
           static_cast<int32_t>(128 + i[Reg::kInZeroPoint]), prepared);
}

void WideConvolution::RunDense(const PreparedConstants& prepared) {
  const auto* packed = reinterpret_cast<const int8_t*>(prepared.weights.data());
  const int64_t vectors = RoundUp(output_.c, kLanes) / kLanes;
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

void WideConvolution::PrepareDepthwise(const Instruction& i,
                                       const uint8_t* weights,
                                       const Table& table,
                                       PreparedConstants* prepared) {
  weight_sums_.assign(output_.c, 0);
  for (int64_t t = 0; t < depthwise_.taps; ++t) {
    for (int64_t c = 0; c < output_.c; ++c) {
      weight_sums_[c] =
          WrapAdd(weight_sums_[c], LoadInt8(weights + t * output_.c + c));
    }
  }
  SetTable(table, depthwise_.flat ? kDepthwiseLanes : output_.c, output_.c,
           static_cast<int32_t>(128 + i[Reg::kInZeroPoint]), prepared);
  Reserve(prepared->weights, RoundUp(output_.c, kDepthwiseLanes) /
                                 kDepthwiseLanes * depthwise_.group_bytes());
  uint8_t* packed = prepared->weights.data();
  for (int64_t first = 0; first < output_.c; first += kDepthwiseLanes) {
    const int64_t channels = std::min(kDepthwiseLanes, output_.c - first);
    for (int64_t g = 0; g < depthwise_.tap_groups; ++g) {
      uint8_t rows[4][kDepthwiseLanes] = {};
      for (int64_t t = 0; t < std::min<int64_t>(4, depthwise_.taps - 4 * g);
           ++t) {
        std::memcpy(rows[t], weights + (4 * g + t) * output_.c + first,
                    channels);
        for (int64_t c = channels; depthwise_.flat && c < kDepthwiseLanes;
             ++c) {
          rows[t][c] = rows[t][c - channels];
        }
      }
      avx512::PackDepthwise(rows, packed);
      packed += 4 * kDepthwiseLanes;
    }
  }
}

void WideConvolution::RunDepthwise(const PreparedConstants& prepared) {
  for (int64_t c = 0; c < output_.c; c += kDepthwiseLanes) {
    DepthwiseChannels(prepared, c, std::min(kDepthwiseLanes, output_.c - c));
  }
}

void WideConvolution::DepthwiseChannels(const PreparedConstants& prepared,
                                        int64_t first, int64_t channels) {
  avx512::DepthwiseRow row{
      .tap_offsets = segment_offsets_.data(),
      .tap_groups = depthwise_.tap_groups,
      .weights = prepared.weights.data() +
                 first / kDepthwiseLanes * depthwise_.group_bytes(),
      .pixels = output_.w,
      .input_step = image_.column_step(),
      .output_step = output_.pixel_pitch,
      .channels = channels,
      .last_channels = channels,
      .requantization = requantization_.From(first)};
  if (depthwise_.flat) {
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
