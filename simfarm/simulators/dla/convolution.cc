#include "simfarm/simulators/dla/convolution.h"

#include <algorithm>

#include "base/status_macros.h"

namespace edgekiln::simfarm::dla {
namespace {

using Reg = DlaRegister;

// Where a window meets the input along one axis: taps [begin, end).
struct Taps {
  int64_t origin;  // Input position of tap 0.
  int64_t begin;
  int64_t end;
};

Taps TapsInside(int64_t out, int64_t stride, int64_t pad, int64_t dilation,
                int64_t kernel, int64_t in) {
  const int64_t origin = out * stride - pad;
  const int64_t begin = origin >= 0 ? 0 : (-origin + dilation - 1) / dilation;
  const int64_t end =
      origin >= in ? 0 : std::min(kernel, (in - 1 - origin) / dilation + 1);
  return {origin, std::min(begin, kernel), std::max(end, int64_t{0})};
}

Taps RowTaps(const Instruction& i, int64_t oy) {
  return TapsInside(oy, i[Reg::kStrideH], i[Reg::kPadTop], i[Reg::kDilationH],
                    i[Reg::kKernelH], i[Reg::kInH]);
}

Taps ColumnTaps(const Instruction& i, int64_t ox) {
  return TapsInside(ox, i[Reg::kStrideW], i[Reg::kPadLeft], i[Reg::kDilationW],
                    i[Reg::kKernelW], i[Reg::kInW]);
}

void Widen(const uint8_t* bytes, int64_t count, int16_t zero_point,
           int16_t* out) {
  const auto* values = reinterpret_cast<const int8_t*>(bytes);
  for (int64_t i = 0; i < count; ++i) {
    out[i] = static_cast<int16_t>(values[i] - zero_point);
  }
}

int32_t Dot(const int16_t* x, const uint8_t* weights, int32_t zero_point,
            int64_t count) {
  const auto* w = reinterpret_cast<const int8_t*>(weights);
  uint32_t sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    sum += static_cast<uint32_t>(int32_t{x[i]} * (int32_t{w[i]} - zero_point));
  }
  return static_cast<int32_t>(sum);
}

// sums[c] += (x[c] - zero_point) * w[c]. The product of a 9-bit difference and
// an int8 fits 16 bits.
void MultiplyAdd(const uint8_t* x, const uint8_t* w, int16_t zero_point,
                 int64_t channels, int32_t* sums) {
  const auto* values = reinterpret_cast<const int8_t*>(x);
  const auto* weights = reinterpret_cast<const int8_t*>(w);
  auto* wrapping = reinterpret_cast<uint32_t*>(sums);
  for (int64_t c = 0; c < channels; ++c) {
    const int16_t difference = static_cast<int16_t>(values[c] - zero_point);
    const int16_t product = static_cast<int16_t>(difference * weights[c]);
    wrapping[c] += static_cast<uint32_t>(static_cast<int32_t>(product));
  }
}

}  // namespace

ConvolutionUnit::ConvolutionUnit(const StreamContext& context, uint8_t* sram,
                                 int64_t sram_bytes)
    : context_(context),
      sram_(sram),
      micro_kernel_(GetMicroKernel(context.cpu_path)) {
  if (UsesAvx512(context.cpu_path)) wide_.emplace(sram, sram_bytes);
}

absl::Status ConvolutionUnit::Execute(const Instruction& i) {
  return ExecuteWith(i, sram_ + i[Reg::kWeightAddr], sram_ + i[Reg::kTableAddr],
                     nullptr);
}

absl::Status ConvolutionUnit::ExecuteWith(const Instruction& i,
                                          const uint8_t* weights,
                                          const uint8_t* table,
                                          KeptConstants* kept) {
  weight_bytes_ = weights;
  weight_zero_point_ = static_cast<int32_t>(i[Reg::kWeightZeroPoint]);
  table_bytes_ = table;
  input_ = InputView(i);
  output_ = OutputView(i);
  writes_int32_ = WritesInt32(i);
  half_even_ = i.half_even;
  limits_ = {.zero_point = static_cast<int32_t>(i[Reg::kOutZeroPoint])};
  if (i.command != DlaCommand::kConv) {
    limits_.min = static_cast<int32_t>(i[Reg::kClampMin]);
    limits_.max = static_cast<int32_t>(i[Reg::kClampMax]);
  }
  if (wide_ && wide_->Begin(i)) return ExecuteWide(i, kept);
  EK_RETURN_IF_ERROR(ReadTable(i, context_, table_bytes_, &table_));
  if (i.command == DlaCommand::kDepthConv) {
    Depthwise(i);
  } else {
    Dense(i);
  }
  return absl::OkStatus();
}

absl::Status ConvolutionUnit::ExecuteWide(const Instruction& i,
                                          KeptConstants* kept) {
  if (kept != nullptr) {
    std::call_once(kept->once,
                   [&] { kept->status = Prepare(i, &kept->prepared); });
    EK_RETURN_IF_ERROR(kept->status);
    wide_->Run(i, kept->prepared, limits_);
    return absl::OkStatus();
  }
  if (i.command != DlaCommand::kDepthConv && wide_->HasFewPixels()) {
    EK_RETURN_IF_ERROR(ReadTable(i, context_, table_bytes_, &table_));
    wide_->RunFewPixels(i, weight_bytes_, table_, limits_);
    return absl::OkStatus();
  }
  EK_RETURN_IF_ERROR(Prepare(i, &prepared_));
  wide_->Run(i, prepared_, limits_);
  return absl::OkStatus();
}

absl::Status ConvolutionUnit::Prepare(const Instruction& i,
                                      PreparedConstants* prepared) {
  EK_RETURN_IF_ERROR(ReadTable(i, context_, table_bytes_, &table_));
  wide_->Prepare(i, weight_bytes_, table_, prepared);
  return absl::OkStatus();
}

void ConvolutionUnit::Dense(const Instruction& i) {
  kernel_ = WeightBytes(i) / i[Reg::kOutC];
  pairs_ = (kernel_ + 1) / 2;
  // An odd last value is multiplied by a weight of 0, but must exist.
  patches_.assign(kPixels * 2 * pairs_, 0);
  if (output_.h * output_.w < kPixels) {
    DenseFewPixels(i);
  } else {
    DenseBlocks(i);
  }
}

// Packing the weights pays from four pixels on.
void ConvolutionUnit::DenseFewPixels(const Instruction& i) {
  sums_.resize(output_.c);
  for (int64_t oy = 0; oy < output_.h; ++oy) {
    for (int64_t ox = 0; ox < output_.w; ++ox) {
      GatherPatch(i, oy, ox, patches_.data());
      for (int64_t o = 0; o < output_.c; ++o) {
        sums_[o] = Dot(patches_.data(), weight_bytes_ + o * kernel_,
                       weight_zero_point_, kernel_);
      }
      StorePixel(oy, ox, 0, output_.c, sums_.data());
    }
  }
}

void ConvolutionUnit::DenseBlocks(const Instruction& i) {
  PackWeights();
  const int64_t pixels = output_.h * output_.w;
  int32_t acc[kPixels * kChannels];
  for (int64_t first = 0; first < pixels; first += kPixels) {
    const int64_t count = std::min(kPixels, pixels - first);
    for (int64_t p = 0; p < count; ++p) {
      GatherPatch(i, (first + p) / output_.w, (first + p) % output_.w,
                  patches_.data() + p * 2 * pairs_);
    }
    for (int64_t c = 0; c < output_.c; c += kChannels) {
      micro_kernel_(patches_.data(), weights_.data() + c * 2 * pairs_, pairs_,
                    acc);
      for (int64_t p = 0; p < count; ++p) {
        StorePixel((first + p) / output_.w, (first + p) % output_.w, c,
                   std::min(kChannels, output_.c - c), acc + p * kChannels);
      }
    }
  }
}

// To [channel block][pair][channel][2], as the micro kernel reads them.
void ConvolutionUnit::PackWeights() {
  const int64_t blocks = (output_.c + kChannels - 1) / kChannels;
  weights_.assign(blocks * pairs_ * kChannels * 2, 0);
  const auto weight = [&](int64_t o, int64_t k) {
    return static_cast<int16_t>(LoadInt8(weight_bytes_ + o * kernel_ + k) -
                                weight_zero_point_);
  };
  for (int64_t o = 0; o < output_.c; ++o) {
    int16_t* out = weights_.data() + (o / kChannels) * pairs_ * kChannels * 2 +
                   (o % kChannels) * 2;
    for (int64_t k = 0; k + 1 < kernel_; k += 2) {
      out[k * kChannels] = weight(o, k);
      out[k * kChannels + 1] = weight(o, k + 1);
    }
    if (kernel_ % 2 != 0) {
      out[(kernel_ - 1) * kChannels] = weight(o, kernel_ - 1);
    }
  }
}

void ConvolutionUnit::GatherPatch(const Instruction& i, int64_t oy, int64_t ox,
                                  int16_t* patch) const {
  const int16_t zero_point = static_cast<int16_t>(i[Reg::kInZeroPoint]);
  if (i.command == DlaCommand::kMatMul) {
    Widen(sram_ + input_.PixelAddress(0, ox), kernel_, zero_point, patch);
    return;
  }
  const Taps rows = RowTaps(i, oy);
  const Taps columns = ColumnTaps(i, ox);
  const int64_t row_values = i[Reg::kKernelW] * input_.c;
  const int64_t dilation_w = i[Reg::kDilationW];
  const bool inside = rows.begin == 0 && rows.end == i[Reg::kKernelH] &&
                      columns.begin == 0 && columns.end == i[Reg::kKernelW];
  // What lies outside counts as the zero point: the difference 0.
  if (!inside) std::fill(patch, patch + kernel_, int16_t{0});
  if (columns.begin >= columns.end) return;
  const bool adjacent =
      dilation_w == 1 && input_.pixel_pitch == input_.pixel_bytes();
  for (int64_t ky = rows.begin; ky < rows.end; ++ky) {
    const int64_t y = rows.origin + ky * i[Reg::kDilationH];
    int16_t* row = patch + ky * row_values;
    if (adjacent) {
      Widen(sram_ + input_.PixelAddress(y, columns.origin + columns.begin),
            (columns.end - columns.begin) * input_.c, zero_point,
            row + columns.begin * input_.c);
      continue;
    }
    for (int64_t kx = columns.begin; kx < columns.end; ++kx) {
      Widen(sram_ + input_.PixelAddress(y, columns.origin + kx * dilation_w),
            input_.c, zero_point, row + kx * input_.c);
    }
  }
}

void ConvolutionUnit::StorePixel(int64_t oy, int64_t ox, int64_t first_channel,
                                 int64_t channels, const int32_t* acc) const {
  uint8_t* out = sram_ + output_.PixelAddress(oy, ox) +
                 first_channel * output_.element_bytes;
  const int32_t* bias = table_.bias.data() + first_channel;
  if (writes_int32_) {
    for (int64_t c = 0; c < channels; ++c) {
      StoreInt32(WrapAdd(acc[c], bias[c]), out + 4 * c);
    }
    return;
  }
  const int32_t* multiplier = table_.multiplier.data() + first_channel;
  const int32_t* n = table_.n.data() + first_channel;
  for (int64_t c = 0; c < channels; ++c) {
    out[c] = limits_.Apply(
        Rescale(WrapAdd(acc[c], bias[c]), multiplier[c], n[c], half_even_));
  }
}

void ConvolutionUnit::Depthwise(const Instruction& i) {
  sums_.resize(output_.c);
  for (int64_t oy = 0; oy < output_.h; ++oy) {
    for (int64_t ox = 0; ox < output_.w; ++ox) DepthwisePixel(i, oy, ox);
  }
}

void ConvolutionUnit::DepthwisePixel(const Instruction& i, int64_t oy,
                                     int64_t ox) {
  const Taps rows = RowTaps(i, oy);
  const Taps columns = ColumnTaps(i, ox);
  const int16_t zero_point = static_cast<int16_t>(i[Reg::kInZeroPoint]);
  const int64_t multiplier = i[Reg::kDepthMultiplier];
  std::fill(sums_.begin(), sums_.end(), 0);
  for (int64_t ky = rows.begin; ky < rows.end; ++ky) {
    const int64_t y = rows.origin + ky * i[Reg::kDilationH];
    for (int64_t kx = columns.begin; kx < columns.end; ++kx) {
      const uint8_t* x =
          sram_ +
          input_.PixelAddress(y, columns.origin + kx * i[Reg::kDilationW]);
      const uint8_t* w =
          weight_bytes_ + (ky * i[Reg::kKernelW] + kx) * output_.c;
      if (multiplier == 1 && weight_zero_point_ == 0) {
        MultiplyAdd(x, w, zero_point, output_.c, sums_.data());
        continue;
      }
      for (int64_t o = 0; o < output_.c; ++o) {
        const int32_t difference = LoadInt8(x + o / multiplier) - zero_point;
        sums_[o] = WrapAdd(sums_[o],
                           difference * (LoadInt8(w + o) - weight_zero_point_));
      }
    }
  }
  StorePixel(oy, ox, 0, output_.c, sums_.data());
}

}  // namespace edgekiln::simfarm::dla
