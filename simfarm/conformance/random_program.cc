#include "simfarm/conformance/random_program.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "simfarm/conformance/dla_words.h"
#include "simfarm/conformance/stream_writer.h"

namespace edgekiln::simfarm::conformance {
namespace {

constexpr int64_t kDataBytes = 2048;   // Random bytes at the start of flash.
constexpr int64_t kTableEntries = 64;  // Usable table entries behind them.
constexpr int64_t kRamBytes = 1024;

struct Range {
  int64_t begin = 0;
  int64_t end = 0;
};

bool Overlap(const Range& a, const Range& b) {
  return a.begin < b.end && b.begin < a.end;
}

struct View {
  int64_t h = 1, w = 1, c = 1, size = 1;
  int64_t pixel_pitch = 1, row_pitch = 1;
  int64_t address = 0;

  int64_t bytes() const {
    return (h - 1) * row_pitch + (w - 1) * pixel_pitch + c * size;
  }
  Range range() const { return {address, address + bytes()}; }
  bool dense_rows() const { return pixel_pitch == c * size; }
};

// What happened to a byte of SRAM: numbers of commands, from 1 per unit.
struct ByteHistory {
  int64_t compute_write = 0, compute_read = 0;
  int64_t dma_write = 0, dma_read = 0;
  bool written() const { return compute_write > 0 || dma_write > 0; }
};

class Generator {
 public:
  Generator(const DlaChip& chip, Rng& rng)
      : rng_(rng), history_(chip.sram_bytes) {
    case_.chip = chip;
    for (int64_t i = 0; i < kDataBytes; ++i) case_.flash.push_back(RandomByte());
    for (int64_t i = 0; i < kTableEntries; ++i) AppendTableEntry();
    for (int64_t i = 0; i < kRamBytes; ++i) case_.ram.push_back(RandomByte());
  }

  DlaCase Make(int commands) {
    for (int i = 0; i < commands; ++i) AddCommand();
    // A tail of transfers, or none.
    if (rng_.Below(2) == 0) StoreSomething();
    writer_.End();
    case_.code = writer_.code();
    return std::move(case_);
  }

 private:
  bool Chance(int percent) { return rng_.InRange(1, 100) <= percent; }
  int64_t Pick(int64_t low, int64_t high) { return rng_.InRange(low, high); }
  char RandomByte() { return static_cast<char>(rng_.Below(256)); }
  int64_t RandomInt8() { return Pick(-128, 127); }
  int64_t RandomMultiplier() {
    if (Chance(5)) return 0;
    return Chance(10) ? Pick(0, INT32_MAX) : Pick(1 << 30, INT32_MAX);
  }

  void AppendTableEntry() {
    const int64_t bias = Chance(10) ? Pick(INT32_MIN, INT32_MAX)
                                    : Pick(-5000, 5000);
    const int64_t shift = Chance(10) ? Pick(-31, 30) : Pick(-12, 0);
    for (const int64_t value : {bias, RandomMultiplier(), shift}) {
      const int32_t word = static_cast<int32_t>(value);
      char bytes[4];
      std::memcpy(bytes, &word, 4);
      case_.flash.append(bytes, 4);
    }
  }

  void Set(DlaIndex reg, int64_t value) {
    if (Chance(4)) {
      writer_.Write(reg, value);
    } else {
      writer_.Set(reg, value);
    }
  }

  // A place for `bytes` that avoids the operands chosen so far.
  std::optional<int64_t> Place(int64_t bytes, int64_t align) {
    for (int attempt = 0; attempt < 60; ++attempt) {
      if (bytes > case_.chip.sram_bytes) break;
      int64_t address = Pick(0, case_.chip.sram_bytes - bytes);
      address -= address % align;
      const Range range{address, address + bytes};
      if (std::none_of(operands_.begin(), operands_.end(),
                       [&](const Range& o) { return Overlap(o, range); })) {
        return address;
      }
    }
    return std::nullopt;
  }

  void RandomPitches(View& view) {
    view.pixel_pitch = view.c * view.size;
    if (Chance(30)) view.pixel_pitch += Pick(1, 4) * view.size;
    view.row_pitch = view.w * view.pixel_pitch;
    if (Chance(30)) view.row_pitch += Pick(1, 9) * view.size;
  }

  bool Written(const Range& range) const {
    return std::all_of(history_.begin() + range.begin,
                       history_.begin() + range.end,
                       [](const ByteHistory& b) { return b.written(); });
  }

  // Commands of the other unit that a command must wait for.
  int64_t NeededWait(bool dma, const std::vector<Range>& reads,
                     const std::vector<Range>& writes) const {
    int64_t wait = 0;
    for (const Range& range : reads) {
      for (int64_t at = range.begin; at < range.end; ++at) {
        const ByteHistory& byte = history_[at];
        wait = std::max(wait, dma ? byte.compute_write : byte.dma_write);
      }
    }
    for (const Range& range : writes) {
      for (int64_t at = range.begin; at < range.end; ++at) {
        const ByteHistory& byte = history_[at];
        wait = std::max({wait, dma ? byte.compute_write : byte.dma_write,
                         dma ? byte.compute_read : byte.dma_read});
      }
    }
    return wait;
  }

  void Issue(DlaOpcode opcode, const std::vector<Range>& reads,
             const std::vector<Range>& writes) {
    const bool dma = opcode == kDmaRead || opcode == kDmaWrite;
    const int64_t issued =
        dma ? writer_.issued_compute() : writer_.issued_dma();
    int64_t wait = NeededWait(dma, reads, writes);
    if (Chance(25)) wait = Pick(wait, issued);
    writer_.Command(opcode, wait);
    const int64_t number =
        dma ? writer_.issued_dma() : writer_.issued_compute();
    for (const Range& range : reads) {
      for (int64_t at = range.begin; at < range.end; ++at) {
        (dma ? history_[at].dma_read : history_[at].compute_read) = number;
      }
    }
    for (const Range& range : writes) {
      for (int64_t at = range.begin; at < range.end; ++at) {
        (dma ? history_[at].dma_write : history_[at].compute_write) = number;
      }
    }
  }

  // Brings `bytes` bytes from a random place, as one row or several.
  void Load(int64_t address, int64_t bytes, bool table) {
    int64_t rows = 1;
    for (const int64_t candidate : {2, 3, 5}) {
      if (!table && bytes % candidate == 0 && Chance(30)) rows = candidate;
    }
    const int64_t row_bytes = bytes / rows;
    int64_t pitch = Pick(0, row_bytes + 8);
    const int64_t extent = (rows - 1) * pitch + row_bytes;
    int64_t system = 0;
    if (table) {
      system = kDataBytes + 12 * Pick(0, kTableEntries - bytes / 12);
    } else if (Chance(50) || extent > kRamBytes) {
      system = Pick(0, kDataBytes - extent);
    } else {
      system = static_cast<int64_t>(kRamBase) + Pick(0, kRamBytes - extent);
    }
    Set(kDmaSystemAddr, system);
    Set(kDmaSramAddr, address);
    Set(kDmaRowBytes, row_bytes);
    Set(kDmaRows, rows);
    if (rows > 1) {
      Set(kDmaSystemPitch, pitch);
      Set(kDmaSramPitch, row_bytes);
    }
    Issue(kDmaRead, {}, {{address, address + bytes}});
  }

  // An operand somewhere in SRAM, holding values. False if there is no room.
  bool AddOperand(View& view, int64_t align) {
    const auto address = Place(view.bytes(), align);
    if (!address) return false;
    view.address = *address;
    if (!Written(view.range()) || Chance(50)) {
      Load(view.address, view.bytes(), false);
    }
    operands_.push_back(view.range());
    return true;
  }

  bool AddTable(int64_t channels) {
    const auto address = Place(12 * channels, 4);
    if (!address) return false;
    Load(*address, 12 * channels, true);
    operands_.push_back({*address, *address + 12 * channels});
    Set(kTableAddr, *address);
    return true;
  }

  bool AddWeights(int64_t bytes) {
    View weights{.c = bytes};
    if (!AddOperand(weights, 1)) return false;
    Set(kWeightAddr, weights.address);
    return true;
  }

  void SetIn(const View& view, bool row_pitch = true) {
    Set(kInAddr, view.address);
    if (row_pitch) Set(kInRowPitch, view.row_pitch);
    Set(kInPixelPitch, view.pixel_pitch);
  }

  void SetIn2(const View& view) {
    Set(kIn2Addr, view.address);
    Set(kIn2RowPitch, view.row_pitch);
    Set(kIn2PixelPitch, view.pixel_pitch);
  }

  void SetOut(const View& view) {
    Set(kOutAddr, view.address);
    Set(kOutRowPitch, view.row_pitch);
    Set(kOutPixelPitch, view.pixel_pitch);
    Set(kOutH, view.h);
    Set(kOutW, view.w);
    Set(kOutC, view.c);
  }

  void SetLimits() {
    const int64_t a = Chance(50) ? -128 : RandomInt8();
    const int64_t b = Chance(50) ? 127 : RandomInt8();
    Set(kClampMin, std::min(a, b));
    Set(kClampMax, std::max(a, b));
    Set(kOutZeroPoint, RandomInt8());
  }

  // Places the output, issues the command, perhaps stores the result.
  bool IssueCompute(DlaOpcode opcode, View out, bool in_place_possible,
                    const View& in) {
    const bool in_place = in_place_possible && Chance(30);
    if (in_place) {
      out.address = in.address;
      out.row_pitch = in.row_pitch;
      out.pixel_pitch = in.pixel_pitch;
    } else {
      const auto address = Place(out.bytes(), out.size);
      if (!address) return false;
      out.address = *address;
    }
    SetOut(out);
    Issue(opcode, operands_, PixelsOf(out));
    if (Chance(60)) Store(out);
    return true;
  }

  static std::vector<Range> PixelsOf(const View& view) {
    std::vector<Range> pixels;
    for (int64_t y = 0; y < view.h; ++y) {
      for (int64_t x = 0; x < view.w; ++x) {
        const int64_t at =
            view.address + y * view.row_pitch + x * view.pixel_pitch;
        pixels.push_back({at, at + view.c * view.size});
      }
    }
    return pixels;
  }

  void Store(const View& view) {
    const int64_t row_bytes =
        view.dense_rows() ? view.w * view.pixel_pitch : view.c * view.size;
    const int64_t rows = view.dense_rows() ? view.h : 1;
    const int64_t pitch = row_bytes + Pick(0, 5);
    const int64_t extent = (rows - 1) * pitch + row_bytes;
    if (extent > kRamBytes) return;
    Set(kDmaSystemAddr,
        static_cast<int64_t>(kRamBase) + Pick(0, kRamBytes - extent));
    Set(kDmaSramAddr, view.address);
    Set(kDmaRowBytes, row_bytes);
    Set(kDmaRows, rows);
    std::vector<Range> reads;
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t at = view.address + row * view.row_pitch;
      reads.push_back({at, at + row_bytes});
    }
    if (rows > 1) {
      Set(kDmaSystemPitch, pitch);
      Set(kDmaSramPitch, view.row_pitch);
    }
    Issue(kDmaWrite, reads, {});
  }

  void StoreSomething() {
    for (int64_t at = 0; at < case_.chip.sram_bytes; ++at) {
      if (!history_[at].written()) continue;
      Store({.address = at});
      return;
    }
  }

  void AddCommand() {
    operands_.clear();
    switch (rng_.Below(10)) {
      case 0:
      case 1:
        AddConvolution(Chance(50) ? kConv : kConvRelu);
        break;
      case 2:
      case 3:
        AddConvolution(kDepthConv);
        break;
      case 4:
        AddMatMul();
        break;
      case 5:
        AddPool();
        break;
      case 6:
        AddRequant();
        break;
      default:
        AddElementWise();
    }
  }

  void SetWindow(View& in) {
    in.h = Pick(1, 6);
    in.w = Pick(1, 6);
    RandomPitches(in);
    Set(kInH, in.h);
    Set(kInW, in.w);
    Set(kKernelH, kernel_h_ = Pick(1, 3));
    Set(kKernelW, kernel_w_ = Pick(1, 4));
    Set(kStrideH, stride_h_ = Pick(1, 3));
    Set(kStrideW, stride_w_ = Pick(1, 3));
    Set(kDilationH, Pick(1, 2));
    Set(kDilationW, Chance(70) ? 1 : 3);
    Set(kPadTop, pad_top_ = Pick(0, kernel_h_ - 1));
    Set(kPadLeft, pad_left_ = Pick(0, kernel_w_ - 1));
    Set(kInZeroPoint, RandomInt8());
  }

  void AddConvolution(DlaOpcode opcode) {
    View in{.c = Pick(1, 7)};
    SetWindow(in);
    View out{.h = Pick(1, 4), .w = Pick(1, 4), .c = Pick(1, 20)};
    const bool depth = opcode == kDepthConv;
    int64_t weights = kernel_h_ * kernel_w_;
    if (depth) {
      const int64_t multiplier = Chance(60) ? 1 : Pick(2, 4);
      Set(kDepthMultiplier, multiplier);
      out.c = Pick(1, in.c * multiplier);
      weights *= out.c;
    } else {
      weights *= in.c * out.c;
    }
    const bool int32 = Chance(25);
    out.size = int32 ? 4 : 1;
    RandomPitches(out);
    Set(kInC, in.c);
    Set(kFlags, int32 ? 1 : 0);
    SetLimits();
    if (!AddOperand(in, 1) || !AddWeights(weights) || !AddTable(out.c)) return;
    SetIn(in);
    IssueCompute(opcode, out, false, in);
  }

  void AddMatMul() {
    View in{.w = Pick(1, 6), .c = Pick(1, 30)};
    RandomPitches(in);
    View out{.w = in.w, .c = Pick(1, 20)};
    const bool int32 = Chance(25);
    out.size = int32 ? 4 : 1;
    RandomPitches(out);
    Set(kInC, in.c);
    Set(kFlags, int32 ? 1 : 0);
    Set(kInZeroPoint, RandomInt8());
    SetLimits();
    if (!AddOperand(in, 1) || !AddWeights(in.c * out.c) || !AddTable(out.c)) {
      return;
    }
    SetIn(in, /*row_pitch=*/false);
    IssueCompute(kMatMul, out, false, in);
  }

  void AddPool() {
    View in{.c = Pick(1, 9)};
    SetWindow(in);
    View out{.h = Pick(1, 4), .w = Pick(1, 4), .c = in.c};
    // Every window meets the input.
    while ((out.h - 1) * stride_h_ - pad_top_ >= in.h) --out.h;
    while ((out.w - 1) * stride_w_ - pad_left_ >= in.w) --out.w;
    RandomPitches(out);
    Set(kPoolKind, Pick(0, 2));
    SetLimits();
    if (!AddOperand(in, 1)) return;
    SetIn(in);
    IssueCompute(kPool, out, false, in);
  }

  void AddRequant() {
    View in = RandomView(4);
    View out = in;
    out.size = 1;
    RandomPitches(out);
    SetLimits();
    if (!AddOperand(in, 4) || !AddTable(out.c)) return;
    SetIn(in);
    IssueCompute(kRequant, out, false, in);
  }

  View RandomView(int64_t size) {
    View view{.h = Pick(1, 4), .w = Pick(1, 4), .c = Pick(1, 12), .size = size};
    RandomPitches(view);
    return view;
  }

  void SetFactors() {
    Set(kInMultiplier, RandomMultiplier());
    Set(kInShift, Chance(20) ? Pick(-31, 30) : Pick(-6, 2));
    Set(kIn2Multiplier, RandomMultiplier());
    Set(kIn2Shift, Chance(20) ? Pick(-31, 30) : Pick(-6, 2));
    Set(kOutMultiplier, RandomMultiplier());
    Set(kOutShift, Chance(20) ? Pick(-31, 30) : Pick(-20, -10));
    Set(kLeftShift, Chance(20) ? Pick(0, 24) : 20);
  }

  void AddElementWise() {
    static constexpr DlaOpcode kOpcodes[] = {kRelu, kLeakyRelu, kAbs, kMin, kMax,
                                             kAdd, kAdd, kAdd32, kShift32};
    const DlaOpcode opcode = kOpcodes[rng_.Below(std::size(kOpcodes))];
    const bool int32 = opcode == kAdd32 || opcode == kShift32;
    View in = RandomView(int32 ? 4 : 1);
    // Broadcast: every row, or every pixel, the same.
    if (Chance(10)) in.row_pitch = 0;
    if (Chance(5)) in.pixel_pitch = 0;
    const bool repeats = in.row_pitch == 0 || in.pixel_pitch == 0;
    Set(kInZeroPoint, RandomInt8());
    Set(kIn2ZeroPoint, RandomInt8());
    SetFactors();
    SetLimits();
    if (!AddOperand(in, in.size)) return;
    SetIn(in);
    if (opcode == kMin || opcode == kMax || opcode == kAdd ||
        opcode == kAdd32) {
      View in2 = in;
      RandomPitches(in2);
      if (!AddOperand(in2, in2.size)) return;
      SetIn2(in2);
    }
    View out = in;
    RandomPitches(out);
    IssueCompute(opcode, out, !repeats, in);
  }

  Rng& rng_;
  DlaCase case_;
  StreamWriter writer_;
  std::vector<ByteHistory> history_;
  std::vector<Range> operands_;  // Of the command being made.
  int64_t kernel_h_ = 1, kernel_w_ = 1, stride_h_ = 1, stride_w_ = 1;
  int64_t pad_top_ = 0, pad_left_ = 0;
};

template <size_t n>
int64_t OneOf(Rng& rng, const int64_t (&values)[n]) {
  return values[rng.Below(n)];
}

}  // namespace

DlaChip RandomChip(Rng& rng) {
  return {.pes = OneOf(rng, {1, 2, 3, 4, 8, 16, 64}),
          .output_parallel = rng.Below(2) == 0,
          .sram_bytes = rng.InRange(3000, 6000),
          .fill_cycles = rng.InRange(0, 9),
          .dma_bytes_per_cycle = OneOf(rng, {1, 3, 16}),
          .dma_setup_cycles = OneOf(rng, {0, 1, 20}),
          .queue_depth = rng.InRange(1, 5),
          .register_write_cycles = rng.InRange(1, 2),
          .decode_cycles = rng.InRange(1, 5)};
}

DlaCase RandomProgram(const DlaChip& chip, int commands, Rng& rng) {
  return Generator(chip, rng).Make(commands);
}

}  // namespace edgekiln::simfarm::conformance
