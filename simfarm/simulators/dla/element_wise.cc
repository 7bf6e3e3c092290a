#include "simfarm/simulators/dla/element_wise.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/status_macros.h"
#include "simfarm/simulators/arithmetic.h"
#include "simfarm/simulators/dla/avx512.h"
#include "simfarm/simulators/dla/micro_kernel.h"
#include "simfarm/simulators/dla/table.h"

namespace edgekiln::simfarm::dla {
namespace {

using Reg = DlaRegister;

OutputLimits ClampLimits(const Instruction& i, int32_t zero_point) {
  return {.zero_point = zero_point,
          .min = static_cast<int32_t>(i[Reg::kClampMin]),
          .max = static_cast<int32_t>(i[Reg::kClampMax])};
}

// rescale() with the registers of one operand.
struct Factor {
  int32_t multiplier;
  int n;
  bool half_even;
  int32_t operator()(int32_t value) const {
    return Rescale(value, multiplier, n, half_even);
  }
};

Factor FactorOf(const Instruction& i, Reg multiplier, Reg shift) {
  return {static_cast<int32_t>(i[multiplier]), static_cast<int>(31 - i[shift]),
          i.half_even};
}

// fn(a, c) gives the output for input byte or word a of channel c.
template <typename Fn>
void MapInt8(const Instruction& i, uint8_t* sram, Fn fn) {
  const TensorView in = InputView(i);
  const TensorView out = OutputView(i);
  for (int64_t y = 0; y < out.h; ++y) {
    for (int64_t x = 0; x < out.w; ++x) {
      const uint8_t* a = sram + in.PixelAddress(y, x);
      uint8_t* o = sram + out.PixelAddress(y, x);
      for (int64_t c = 0; c < out.c; ++c) {
        o[c] = static_cast<uint8_t>(fn(LoadInt8(a + c)));
      }
    }
  }
}

template <typename Fn>
void MapTwoInt8(const Instruction& i, uint8_t* sram, Fn fn) {
  const TensorView in = InputView(i);
  const TensorView in2 = Input2View(i);
  const TensorView out = OutputView(i);
  for (int64_t y = 0; y < out.h; ++y) {
    for (int64_t x = 0; x < out.w; ++x) {
      const uint8_t* a = sram + in.PixelAddress(y, x);
      const uint8_t* b = sram + in2.PixelAddress(y, x);
      uint8_t* o = sram + out.PixelAddress(y, x);
      for (int64_t c = 0; c < out.c; ++c) {
        o[c] = static_cast<uint8_t>(fn(LoadInt8(a + c), LoadInt8(b + c)));
      }
    }
  }
}

// int32 inputs; `store` writes the result of fn.
template <typename Fn>
void MapInt32(const Instruction& i, uint8_t* sram, Fn fn) {
  const TensorView in = InputView(i);
  const TensorView in2 = HasSecondInput(i.command) ? Input2View(i) : in;
  const TensorView out = OutputView(i);
  for (int64_t y = 0; y < out.h; ++y) {
    for (int64_t x = 0; x < out.w; ++x) {
      const uint8_t* a = sram + in.PixelAddress(y, x);
      const uint8_t* b = sram + in2.PixelAddress(y, x);
      uint8_t* o = sram + out.PixelAddress(y, x);
      for (int64_t c = 0; c < out.c; ++c) {
        fn(LoadInt32(a + 4 * c), LoadInt32(b + 4 * c), c,
           o + c * out.element_bytes);
      }
    }
  }
}

// E_ADD row by row, or pixel by pixel where they do not lie together.
void ExecuteWideAdd(const Instruction& i, uint8_t* sram) {
  const TensorView in = InputView(i);
  const TensorView in2 = Input2View(i);
  const TensorView out = OutputView(i);
  avx512::Addition addition{
      .zero_point = {static_cast<int32_t>(i[Reg::kInZeroPoint]),
                     static_cast<int32_t>(i[Reg::kIn2ZeroPoint])},
      .left_shift = static_cast<int>(i[Reg::kLeftShift]),
      .half_even = i.half_even,
      .limits = ClampLimits(i, static_cast<int32_t>(i[Reg::kOutZeroPoint]))};
  const Factor factors[] = {FactorOf(i, Reg::kInMultiplier, Reg::kInShift),
                            FactorOf(i, Reg::kIn2Multiplier, Reg::kIn2Shift),
                            FactorOf(i, Reg::kOutMultiplier, Reg::kOutShift)};
  for (int f = 0; f < 3; ++f) {
    addition.multiplier[f] = factors[f].multiplier;
    addition.n[f] = factors[f].n;
  }
  const bool dense = in.pixel_pitch == out.c && in2.pixel_pitch == out.c &&
                     out.pixel_pitch == out.c;
  const int64_t pixels = dense ? 1 : out.w;
  for (int64_t y = 0; y < out.h; ++y) {
    for (int64_t x = 0; x < pixels; ++x) {
      avx512::Add(addition, sram + in.PixelAddress(y, x),
                  sram + in2.PixelAddress(y, x), out.w / pixels * out.c,
                  sram + out.PixelAddress(y, x));
    }
  }
}

void ExecuteAdd(const Instruction& i, uint8_t* sram) {
  const int32_t zero_a = static_cast<int32_t>(i[Reg::kInZeroPoint]);
  const int32_t zero_b = static_cast<int32_t>(i[Reg::kIn2ZeroPoint]);
  const int left = static_cast<int>(i[Reg::kLeftShift]);
  const Factor factor_a = FactorOf(i, Reg::kInMultiplier, Reg::kInShift);
  const Factor factor_b = FactorOf(i, Reg::kIn2Multiplier, Reg::kIn2Shift);
  const Factor factor_out = FactorOf(i, Reg::kOutMultiplier, Reg::kOutShift);
  const OutputLimits limits =
      ClampLimits(i, static_cast<int32_t>(i[Reg::kOutZeroPoint]));
  const auto shifted = [left](int32_t value) {
    return static_cast<int32_t>(static_cast<uint32_t>(value) << left);
  };
  MapTwoInt8(i, sram, [&](int32_t a, int32_t b) {
    return limits.Apply(factor_out(
        WrapAdd(factor_a(shifted(a - zero_a)), factor_b(shifted(b - zero_b)))));
  });
}

void ExecuteLeakyRelu(const Instruction& i, uint8_t* sram) {
  const int32_t zero = static_cast<int32_t>(i[Reg::kInZeroPoint]);
  const Factor factor = FactorOf(i, Reg::kInMultiplier, Reg::kInShift);
  const OutputLimits limits{.zero_point = zero};
  MapInt8(i, sram, [&](int32_t x) {
    return x >= zero ? static_cast<uint8_t>(x) : limits.Apply(factor(x - zero));
  });
}

void ExecuteShift(const Instruction& i, uint8_t* sram) {
  const int shift = static_cast<int>(i[Reg::kInShift]);
  MapInt32(i, sram, [shift](int32_t a, int32_t, int64_t, uint8_t* out) {
    StoreInt32(shift >= 0
                   ? static_cast<int32_t>(static_cast<uint32_t>(a) << shift)
                   : a >> -shift,
               out);
  });
}

void RequantizePixels(const Instruction& i, const Table& table,
                      const OutputLimits& limits, uint8_t* sram) {
  const TensorView in = InputView(i);
  const TensorView out = OutputView(i);
  const avx512::Requantization requantization{
      .bias = table.bias.data(),
      .multiplier = table.multiplier.data(),
      .n = table.n.data(),
      .limits = limits,
      .half_even = i.half_even};
  for (int64_t y = 0; y < out.h; ++y) {
    for (int64_t x = 0; x < out.w; ++x) {
      avx512::Requantize(
          reinterpret_cast<const int32_t*>(sram + in.PixelAddress(y, x)), out.c,
          requantization, sram + out.PixelAddress(y, x));
    }
  }
}

absl::Status ExecuteRequant(const Instruction& i, const StreamContext& context,
                            uint8_t* sram) {
  Table table;
  EK_RETURN_IF_ERROR(ReadTable(i, context, sram + i[Reg::kTableAddr], &table));
  const OutputLimits limits =
      ClampLimits(i, static_cast<int32_t>(i[Reg::kOutZeroPoint]));
  if (UsesAvx512(context.cpu_path)) {
    RequantizePixels(i, table, limits, sram);
    return absl::OkStatus();
  }
  MapInt32(i, sram, [&](int32_t a, int32_t, int64_t c, uint8_t* out) {
    *out = limits.Apply(Rescale(WrapAdd(a, table.bias[c]), table.multiplier[c],
                                table.n[c], i.half_even));
  });
  return absl::OkStatus();
}

// Rounds to nearest, halves away from zero.
int64_t RoundedMean(int64_t sum, int64_t n) {
  return sum > 0 ? (sum + n / 2) / n : (sum - n / 2) / n;
}

// Rounds to nearest, halves to the even one.
int64_t MeanHalfEven(int64_t sum, int64_t n) {
  const int64_t whole = sum / n;
  const int64_t rest = 2 * std::abs(sum % n);
  const bool away = rest > n || (rest == n && whole % 2 != 0);
  return whole + (away ? (sum < 0 ? -1 : 1) : 0);
}

// Part [begin, end) of a window that lies inside the input.
struct Window {
  int64_t begin, end;
};

Window Inside(int64_t out, int64_t stride, int64_t pad, int64_t kernel,
              int64_t in) {
  const int64_t origin = out * stride - pad;
  return {std::max(origin, int64_t{0}), std::min(origin + kernel, in)};
}

// Average of one output pixel; `sums` has a place per channel.
void AveragePixel(const Instruction& i, const TensorView& in, Window rows,
                  Window columns, const uint8_t* sram,
                  std::vector<int64_t>& sums) {
  std::fill(sums.begin(), sums.end(), 0);
  for (int64_t y = rows.begin; y < rows.end; ++y) {
    for (int64_t x = columns.begin; x < columns.end; ++x) {
      const uint8_t* values = sram + in.PixelAddress(y, x);
      for (int64_t c = 0; c < in.c; ++c) {
        sums[c] += LoadInt8(values + c);
      }
    }
  }
  const int64_t inside = std::max<int64_t>(rows.end - rows.begin, 0) *
                         std::max<int64_t>(columns.end - columns.begin, 0);
  int64_t n = inside;
  int64_t padding = 0;
  if (i[Reg::kPoolKind] == target::kDlaPoolAveragePadded) {
    n = i[Reg::kKernelH] * i[Reg::kKernelW];
    padding = (n - inside) * i[Reg::kInZeroPoint];
  }
  const int64_t zero_point = i[Reg::kInZeroPoint];
  for (int64_t& sum : sums) {
    sum = i.half_even
              ? MeanHalfEven(sum + padding - n * zero_point, n) + zero_point
              : RoundedMean(sum + padding, n);
  }
}

}  // namespace

absl::Status ExecuteElementWise(const Instruction& i,
                                const StreamContext& context, uint8_t* sram) {
  const int32_t zero = static_cast<int32_t>(i[Reg::kInZeroPoint]);
  switch (i.command) {
    case DlaCommand::kActRelu:
      MapInt8(i, sram, [zero](int32_t x) { return std::max(x, zero); });
      break;
    case DlaCommand::kActLrelu:
      ExecuteLeakyRelu(i, sram);
      break;
    case DlaCommand::kAbs:
      MapInt8(i, sram, [zero](int32_t x) {
        return std::min(std::abs(x - zero) + zero, 127);
      });
      break;
    case DlaCommand::kMin:
      MapTwoInt8(i, sram, [](int32_t a, int32_t b) { return std::min(a, b); });
      break;
    case DlaCommand::kMax:
      MapTwoInt8(i, sram, [](int32_t a, int32_t b) { return std::max(a, b); });
      break;
    case DlaCommand::kAdd:
      if (UsesAvx512(context.cpu_path)) {
        ExecuteWideAdd(i, sram);
      } else {
        ExecuteAdd(i, sram);
      }
      break;
    case DlaCommand::kAdd32:
      MapInt32(i, sram, [](int32_t a, int32_t b, int64_t, uint8_t* out) {
        StoreInt32(WrapAdd(a, b), out);
      });
      break;
    case DlaCommand::kShift32:
      ExecuteShift(i, sram);
      break;
    default:
      return ExecuteRequant(i, context, sram);
  }
  return absl::OkStatus();
}

// The largest of so many channels in a window, in registers: the compiler
// knows how many there are.
template <int kChannels>
void MaximumOf(const TensorView& in, Window rows, Window columns,
               const uint8_t* sram, int64_t first, const OutputLimits& limits,
               uint8_t* out) {
  int8_t largest[kChannels];
  std::fill_n(largest, kChannels, static_cast<int8_t>(limits.min));
  for (int64_t y = rows.begin; y < rows.end; ++y) {
    for (int64_t x = columns.begin; x < columns.end; ++x) {
      int8_t values[kChannels];
      std::memcpy(values, sram + in.PixelAddress(y, x) + first, kChannels);
      for (int c = 0; c < kChannels; ++c) {
        largest[c] = values[c] > largest[c] ? values[c] : largest[c];
      }
    }
  }
  const auto high = static_cast<int8_t>(limits.max);
  for (int8_t& value : largest) value = value > high ? high : value;
  std::memcpy(out + first, largest, kChannels);
}

// Maximum of one output pixel.
void MaximumPixel(const TensorView& in, Window rows, Window columns,
                  const uint8_t* sram, const OutputLimits& limits,
                  uint8_t* pixel) {
  int64_t c = 0;
  for (; c + 16 <= in.c; c += 16) {
    MaximumOf<16>(in, rows, columns, sram, c, limits, pixel);
  }
  for (; c + 8 <= in.c; c += 8) {
    MaximumOf<8>(in, rows, columns, sram, c, limits, pixel);
  }
  for (; c < in.c; ++c) {
    MaximumOf<1>(in, rows, columns, sram, c, limits, pixel);
  }
}

void ExecutePool(const Instruction& i, uint8_t* sram) {
  const TensorView in = InputView(i);
  const TensorView out = OutputView(i);
  const OutputLimits limits = ClampLimits(i, 0);
  const bool maximum = i[Reg::kPoolKind] == target::kDlaPoolMax;
  std::vector<int64_t> sums(maximum ? 0 : out.c);
  for (int64_t oy = 0; oy < out.h; ++oy) {
    const Window rows =
        Inside(oy, i[Reg::kStrideH], i[Reg::kPadTop], i[Reg::kKernelH], in.h);
    for (int64_t ox = 0; ox < out.w; ++ox) {
      const Window columns = Inside(ox, i[Reg::kStrideW], i[Reg::kPadLeft],
                                    i[Reg::kKernelW], in.w);
      uint8_t* pixel = sram + out.PixelAddress(oy, ox);
      if (maximum) {
        MaximumPixel(in, rows, columns, sram, limits, pixel);
        continue;
      }
      AveragePixel(i, in, rows, columns, sram, sums);
      for (int64_t c = 0; c < out.c; ++c) {
        pixel[c] = static_cast<uint8_t>(
            std::clamp<int64_t>(sums[c], limits.min, limits.max));
      }
    }
  }
}

}  // namespace edgekiln::simfarm::dla
