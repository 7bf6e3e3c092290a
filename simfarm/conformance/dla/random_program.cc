#include "simfarm/conformance/dla/random_program.h"

#include <algorithm>

#include "simfarm/conformance/dla/dla_words.h"
#include "simfarm/conformance/dla/program_builder.h"

namespace edgekiln::simfarm::conformance::dla {
namespace {

class Generator : private ProgramBuilder {
 public:
  Generator(const DlaChip& chip, Rng& rng) : ProgramBuilder(chip, rng) {}

  DlaCase Make(int commands) {
    for (int i = 0; i < commands; ++i) AddCommand();
    // A tail of transfers, or none.
    if (Chance(50)) StoreSomething();
    return Finish();
  }

 private:
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

  // Rarely written, as compilers do: it is 0 at the start.
  void SetWeightZeroPoint() {
    if (Chance(30)) Set(kWeightZeroPoint, Chance(30) ? 0 : RandomInt8());
  }

  // Whether the command is to round half to even.
  bool RandomRounding(DlaOpcode opcode, const View& out) {
    switch (opcode) {
      case kConv:
      case kConvRelu:
      case kDepthConv:
      case kMatMul:
        return out.size == 1 && Chance(40);
      case kPool:
        return pool_kind_ != 1 && Chance(40);
      case kLeakyRelu:
      case kAdd:
      case kRequant:
        return Chance(40);
      default:
        return false;
    }
  }

  // Places the output, issues the command, perhaps stores the result.
  bool Emit(DlaOpcode opcode, View out, bool in_place_possible,
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
    ProgramBuilder::IssueCompute(opcode, out, RandomRounding(opcode, out));
    if (Chance(60)) Store(out);
    return true;
  }

  void AddCommand() {
    BeginCommand();
    switch (Pick(0, 9)) {
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
    SetWeightZeroPoint();
    if (!AddOperand(in, 1) || !AddWeights(weights) || !AddTable(out.c)) return;
    SetIn(in);
    Emit(opcode, out, false, in);
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
    SetWeightZeroPoint();
    if (!AddOperand(in, 1) || !AddWeights(in.c * out.c) || !AddTable(out.c)) {
      return;
    }
    SetIn(in, /*row_pitch=*/false);
    Emit(kMatMul, out, false, in);
  }

  void AddPool() {
    View in{.c = Pick(1, 9)};
    SetWindow(in);
    View out{.h = Pick(1, 4), .w = Pick(1, 4), .c = in.c};
    // Every window meets the input.
    while ((out.h - 1) * stride_h_ - pad_top_ >= in.h) --out.h;
    while ((out.w - 1) * stride_w_ - pad_left_ >= in.w) --out.w;
    RandomPitches(out);
    Set(kPoolKind, pool_kind_ = Pick(0, 2));
    SetLimits();
    if (!AddOperand(in, 1)) return;
    SetIn(in);
    Emit(kPool, out, false, in);
  }

  void AddRequant() {
    View in = RandomView(4);
    View out = in;
    out.size = 1;
    RandomPitches(out);
    SetLimits();
    if (!AddOperand(in, 4) || !AddTable(out.c)) return;
    SetIn(in);
    Emit(kRequant, out, false, in);
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
    static constexpr DlaOpcode kOpcodes[] = {
        kRelu, kLeakyRelu, kAbs, kMin, kMax, kAdd, kAdd, kAdd32, kShift32};
    const DlaOpcode opcode = kOpcodes[Pick(0, std::size(kOpcodes) - 1)];
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
    Emit(opcode, out, !repeats, in);
  }

  int64_t kernel_h_ = 1, kernel_w_ = 1, stride_h_ = 1, stride_w_ = 1;
  int64_t pad_top_ = 0, pad_left_ = 0;
  int64_t pool_kind_ = 0;
};

template <size_t n>
int64_t OneOf(Rng& rng, const int64_t (&values)[n]) {
  return values[rng.Below(n)];
}

}  // namespace

DlaChip RandomChip(Rng& rng) {
  return {.pes = OneOf(rng, {1, 2, 3, 4, 8, 16, 64}),
          .output_parallel = rng.Below(2) == 0,
          .blocking_dma = rng.Below(3) == 0,
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

}  // namespace edgekiln::simfarm::conformance::dla
