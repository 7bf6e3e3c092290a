#include "simfarm/conformance/dla/naive_command.h"

#include <algorithm>
#include <cstdlib>

namespace edgekiln::simfarm::conformance::dla {
namespace {

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Low 32 bits, as a signed number.
int64_t Wrap32(int64_t value) {
  return static_cast<int32_t>(
      static_cast<uint32_t>(static_cast<uint64_t>(value)));
}

// a / b, halves to the even one; b > 0.
int64_t DivideHalfEven(int64_t a, int64_t b) {
  int64_t low = a / b;
  while (low * b > a) --low;
  const int64_t above = a - low * b;
  const int64_t below = b - above;
  if (above != below) return above < below ? low : low + 1;
  return low % 2 == 0 ? low : low + 1;
}

int64_t Rescale(const NaiveCommand& c, int64_t v, int64_t m, int64_t s) {
  const int64_t n = 31 - s;
  if (c.half_even) return Wrap32(DivideHalfEven(v * m, int64_t{1} << n));
  return Wrap32((v * m + (int64_t{1} << (n - 1))) >> n);
}

int64_t Limit(int64_t v, int64_t low, int64_t high) {
  return v < low ? low : v > high ? high : v;
}

int64_t Clamp(const NaiveCommand& c, int64_t v) {
  return Limit(v, c.r[kClampMin], c.r[kClampMax]);
}

int64_t At(int64_t address, int64_t row_pitch, int64_t pixel_pitch, int64_t h,
           int64_t w, int64_t c, int64_t size) {
  return address + h * row_pitch + w * pixel_pitch + c * size;
}

int64_t InAddress(const NaiveCommand& c, int64_t h, int64_t w, int64_t ch,
                  int64_t size) {
  return At(c.r[kInAddr], c.r[kInRowPitch], c.r[kInPixelPitch], h, w, ch, size);
}

int64_t In2Address(const NaiveCommand& c, int64_t h, int64_t w, int64_t ch,
                   int64_t size) {
  return At(c.r[kIn2Addr], c.r[kIn2RowPitch], c.r[kIn2PixelPitch], h, w, ch,
            size);
}

int64_t OutAddress(const NaiveCommand& c, int64_t h, int64_t w, int64_t ch,
                   int64_t size) {
  return At(c.r[kOutAddr], c.r[kOutRowPitch], c.r[kOutPixelPitch], h, w, ch,
            size);
}

// The input value under a window, or the zero point outside.
int64_t Input(const NaiveCommand& c, const NaiveMemory& m, int64_t y, int64_t x,
              int64_t ch) {
  if (y < 0 || x < 0 || y >= c.r[kInH] || x >= c.r[kInW]) {
    return c.r[kInZeroPoint];
  }
  return m.Load8(InAddress(c, y, x, ch, 1));
}

// The weight at a position of the dense array, less its zero point.
int64_t Weight(const NaiveCommand& c, const NaiveMemory& m, int64_t position) {
  return m.Load8(c.r[kWeightAddr] + position) - c.r[kWeightZeroPoint];
}

// Bias, requantization and store of one accumulator.
void Finish(const NaiveCommand& c, NaiveMemory& m, int64_t h, int64_t w,
            int64_t o, int64_t sum) {
  const int64_t entry = c.r[kTableAddr] + 12 * o;
  const int64_t acc = Wrap32(sum + m.Load32(entry));
  if (c.r[kFlags] == 1) {
    m.Store32(OutAddress(c, h, w, o, 4), acc);
    return;
  }
  const int64_t v = Rescale(c, acc, m.Load32(entry + 4), m.Load32(entry + 8)) +
                    c.r[kOutZeroPoint];
  m.Store8(OutAddress(c, h, w, o, 1),
           c.opcode == kConv ? Limit(v, -128, 127) : Clamp(c, v));
}

void Convolve(const NaiveCommand& c, NaiveMemory& m) {
  const bool depth = c.opcode == kDepthConv;
  for (int64_t oy = 0; oy < c.r[kOutH]; ++oy)
    for (int64_t ox = 0; ox < c.r[kOutW]; ++ox)
      for (int64_t o = 0; o < c.r[kOutC]; ++o) {
        int64_t sum = 0;
        for (int64_t ky = 0; ky < c.r[kKernelH]; ++ky)
          for (int64_t kx = 0; kx < c.r[kKernelW]; ++kx) {
            const int64_t y =
                oy * c.r[kStrideH] - c.r[kPadTop] + ky * c.r[kDilationH];
            const int64_t x =
                ox * c.r[kStrideW] - c.r[kPadLeft] + kx * c.r[kDilationW];
            const int64_t tap = ky * c.r[kKernelW] + kx;
            if (depth) {
              const int64_t in = Input(c, m, y, x, o / c.r[kDepthMultiplier]);
              sum +=
                  (in - c.r[kInZeroPoint]) * Weight(c, m, tap * c.r[kOutC] + o);
              continue;
            }
            for (int64_t i = 0; i < c.r[kInC]; ++i) {
              const int64_t in = Input(c, m, y, x, i);
              const int64_t weight =
                  (o * c.r[kKernelH] * c.r[kKernelW] + tap) * c.r[kInC] + i;
              sum += (in - c.r[kInZeroPoint]) * Weight(c, m, weight);
            }
          }
        Finish(c, m, oy, ox, o, sum);
      }
}

void Multiply(const NaiveCommand& c, NaiveMemory& m) {
  for (int64_t row = 0; row < c.r[kOutW]; ++row)
    for (int64_t o = 0; o < c.r[kOutC]; ++o) {
      int64_t sum = 0;
      for (int64_t i = 0; i < c.r[kInC]; ++i) {
        const int64_t in = m.Load8(c.r[kInAddr] + row * c.r[kInPixelPitch] + i);
        sum += (in - c.r[kInZeroPoint]) * Weight(c, m, o * c.r[kInC] + i);
      }
      Finish(c, m, 0, row, o, sum);
    }
}

int64_t PoolElement(const NaiveCommand& c, const NaiveMemory& m, int64_t oy,
                    int64_t ox, int64_t ch) {
  int64_t sum = 0;
  int64_t count = 0;
  int64_t largest = -128;
  for (int64_t ky = 0; ky < c.r[kKernelH]; ++ky)
    for (int64_t kx = 0; kx < c.r[kKernelW]; ++kx) {
      const int64_t y = oy * c.r[kStrideH] - c.r[kPadTop] + ky;
      const int64_t x = ox * c.r[kStrideW] - c.r[kPadLeft] + kx;
      const bool inside = y >= 0 && x >= 0 && y < c.r[kInH] && x < c.r[kInW];
      if (!inside && c.r[kPoolKind] != 2) continue;
      const int64_t value = Input(c, m, y, x, ch);
      sum += value;
      ++count;
      largest = std::max(largest, value);
    }
  if (c.r[kPoolKind] == 1) return Clamp(c, largest);
  if (c.half_even) {
    const int64_t zero = c.r[kInZeroPoint];
    return Clamp(c, DivideHalfEven(sum - count * zero, count) + zero);
  }
  return Clamp(c,
               sum > 0 ? (sum + count / 2) / count : (sum - count / 2) / count);
}

int64_t AddElement(const NaiveCommand& c, int64_t x, int64_t y) {
  const int64_t a =
      Rescale(c, Wrap32((x - c.r[kInZeroPoint]) << c.r[kLeftShift]),
              c.r[kInMultiplier], c.r[kInShift]);
  const int64_t b =
      Rescale(c, Wrap32((y - c.r[kIn2ZeroPoint]) << c.r[kLeftShift]),
              c.r[kIn2Multiplier], c.r[kIn2Shift]);
  return Clamp(c,
               Rescale(c, Wrap32(a + b), c.r[kOutMultiplier], c.r[kOutShift]) +
                   c.r[kOutZeroPoint]);
}

int64_t Int8Element(const NaiveCommand& c, const NaiveMemory& m, int64_t h,
                    int64_t w, int64_t ch) {
  const int64_t zero = c.r[kInZeroPoint];
  if (c.opcode == kPool) return PoolElement(c, m, h, w, ch);
  if (c.opcode == kRequant) {
    const int64_t entry = c.r[kTableAddr] + 12 * ch;
    const int64_t v = m.Load32(InAddress(c, h, w, ch, 4)) + m.Load32(entry);
    return Clamp(
        c, Rescale(c, Wrap32(v), m.Load32(entry + 4), m.Load32(entry + 8)) +
               c.r[kOutZeroPoint]);
  }
  const int64_t x = m.Load8(InAddress(c, h, w, ch, 1));
  switch (c.opcode) {
    case kRelu:
      return std::max(x, zero);
    case kLeakyRelu:
      return x >= zero ? x
                       : Limit(Rescale(c, x - zero, c.r[kInMultiplier],
                                       c.r[kInShift]) +
                                   zero,
                               -128, 127);
    case kAbs:
      return Limit(std::abs(x - zero) + zero, -128, 127);
    default:
      break;
  }
  const int64_t y = m.Load8(In2Address(c, h, w, ch, 1));
  if (c.opcode == kMin) return std::min(x, y);
  if (c.opcode == kMax) return std::max(x, y);
  return AddElement(c, x, y);
}

int64_t Int32Element(const NaiveCommand& c, const NaiveMemory& m, int64_t h,
                     int64_t w, int64_t ch) {
  const int64_t x = m.Load32(InAddress(c, h, w, ch, 4));
  if (c.opcode == kAdd32) {
    return Wrap32(x + m.Load32(In2Address(c, h, w, ch, 4)));
  }
  const int64_t shift = c.r[kInShift];
  return shift >= 0 ? Wrap32(x << shift) : x >> -shift;
}

void Transfer(const NaiveCommand& c, NaiveMemory& m) {
  for (int64_t row = 0; row < c.r[kDmaRows]; ++row)
    for (int64_t i = 0; i < c.r[kDmaRowBytes]; ++i) {
      // With one row the pitches are not read.
      const int64_t system =
          c.r[kDmaSystemAddr] + (row == 0 ? 0 : row * c.r[kDmaSystemPitch]) + i;
      const int64_t sram =
          c.r[kDmaSramAddr] + (row == 0 ? 0 : row * c.r[kDmaSramPitch]) + i;
      if (c.opcode == kDmaRead) {
        m.Store8(sram, m.System(system));
      } else {
        m.System(system) = static_cast<uint8_t>(m.Load8(sram));
      }
    }
}

}  // namespace

int64_t NaiveMemory::Load8(int64_t address) const {
  return static_cast<int8_t>(sram.at(address));
}

int64_t NaiveMemory::Load32(int64_t address) const {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) {
    value |= static_cast<uint32_t>(sram.at(address + i)) << (8 * i);
  }
  return static_cast<int32_t>(value);
}

void NaiveMemory::Store8(int64_t address, int64_t value) {
  sram.at(address) = static_cast<uint8_t>(value);
  sram_written.at(address) = true;
}

void NaiveMemory::Store32(int64_t address, int64_t value) {
  for (int i = 0; i < 4; ++i) Store8(address + i, value >> (8 * i));
}

uint8_t& NaiveMemory::System(int64_t address) {
  const int64_t base = static_cast<int64_t>(kRamBase);
  return address >= base ? ram.at(address - base) : flash.at(address);
}

int64_t NaiveOccupancy(const NaiveCommand& c, const DlaChip& chip) {
  const auto& r = c.r;
  const int64_t p = chip.pes;
  if (c.dma()) {
    return chip.dma_setup_cycles +
           CeilDiv(r[kDmaRows] * r[kDmaRowBytes], chip.dma_bytes_per_cycle);
  }
  const bool matrix = c.opcode == kMatMul;
  const int64_t out_h = matrix ? 1 : r[kOutH];
  const int64_t window = matrix ? 1 : r[kKernelH] * r[kKernelW];
  const int64_t elements = out_h * r[kOutW] * r[kOutC];
  switch (c.opcode) {
    case kConv:
    case kConvRelu:
    case kMatMul:
    case kDepthConv: {
      const int64_t q = r[kFlags] == 1 ? 0 : CeilDiv(elements, p);
      int64_t steps = out_h * r[kOutW] * window;
      if (c.opcode == kDepthConv) {
        steps *= CeilDiv(r[kOutC], p);
      } else if (chip.output_parallel) {
        steps *= r[kInC] * CeilDiv(r[kOutC], p);
      } else {
        steps *= r[kOutC] * CeilDiv(r[kInC], p);
      }
      return chip.fill_cycles + std::max(steps, q);
    }
    case kPool:
      return CeilDiv(elements * window, p);
    default:
      return CeilDiv(elements, p);
  }
}

void NaiveExecute(const NaiveCommand& c, NaiveMemory& m) {
  switch (c.opcode) {
    case kDmaRead:
    case kDmaWrite:
      return Transfer(c, m);
    case kConv:
    case kConvRelu:
    case kDepthConv:
      return Convolve(c, m);
    case kMatMul:
      return Multiply(c, m);
    default:
      break;
  }
  const bool wide = c.opcode == kAdd32 || c.opcode == kShift32;
  for (int64_t h = 0; h < c.r[kOutH]; ++h)
    for (int64_t w = 0; w < c.r[kOutW]; ++w)
      for (int64_t ch = 0; ch < c.r[kOutC]; ++ch) {
        if (wide) {
          m.Store32(OutAddress(c, h, w, ch, 4), Int32Element(c, m, h, w, ch));
        } else {
          m.Store8(OutAddress(c, h, w, ch, 1), Int8Element(c, m, h, w, ch));
        }
      }
}

}  // namespace edgekiln::simfarm::conformance::dla
