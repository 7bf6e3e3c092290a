#include "simfarm/simulators/rv32/testing/random_program.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/rng.h"
#include "simfarm/simulators/rv32/testing/assembler.h"

namespace edgekiln::simfarm::rv32::testing {
namespace {

// Registers that programs read and never write: sp, gp and s0 point to data;
// tp is scratch of the harness and of its trap handler.
constexpr uint32_t kSp = 2;
constexpr uint32_t kGp = 3;
constexpr uint32_t kTp = 4;
constexpr uint32_t kS0 = 8;

// Each program has its own data, with these parts in it.
constexpr uint32_t kDataBase = kRamBase + (8 << 20);
constexpr uint32_t kDataBytes = 4096;
constexpr uint32_t kGpOffset = 1024;
constexpr uint32_t kSpOffset = 2048;
constexpr uint32_t kS0Offset = 2560;
constexpr int32_t kHashedWords = 704;  // Behind them, what the harness keeps:
// Offsets from gp.
constexpr int32_t kHarness = 0x7c0;
constexpr int32_t kInstretBefore = kHarness;
constexpr int32_t kTraps = kHarness + 4;
constexpr int32_t kTrapHash = kHarness + 8;
constexpr int32_t kSavedX5 = kHarness + 12;
constexpr int32_t kLoopCounter = kHarness + 16;
constexpr uint32_t kRecordsBase = kRamBase + (12 << 20);
constexpr int32_t kRecordBytes = sizeof(ProgramRecord);

constexpr bool IsReserved(uint32_t rd) {
  return rd == kSp || rd == kGp || rd == kTp || rd == kS0;
}

// Emits the harness around programs.
class Image {
 public:
  explicit Image(Isa isa) : isa_(isa) {
    const uint32_t handler_jump = code_.here();
    code_.Word(0);
    EmitTrapHandler();
    code_.Patch(handler_jump,
                Jal(0, static_cast<int32_t>(code_.here() - handler_jump)));
    code_.Li(5, handler_jump + 4).Word(Csrw(kMtvec, 5));
    if (isa.f) code_.Li(5, 3 << 13).Word(Csrrs(0, kMstatus, 5));
  }

  Assembler& code() { return code_; }

  // Starts a program with random registers and memory.
  void Begin(Rng& rng) {
    data_ = kDataBase + kDataBytes * static_cast<uint32_t>(programs_);
    FillMemory(rng);
    for (uint32_t i = 0; isa_.f && i < 32; ++i) {
      code_.Li(5, RandomFloat(rng)).Word(FmvWX(i, 5));
    }
    if (isa_.f) {
      const auto rounding = static_cast<uint32_t>(rng.Below(5));
      code_.Li(5, rounding << 5).Word(Csrw(0x003, 5));
    }
    for (uint32_t i = 1; i < 32; ++i) {
      if (!IsReserved(i)) code_.Li(i, RandomInt(rng));
    }
    code_.Li(kSp, data_ + kSpOffset)
        .Li(kGp, data_ + kGpOffset)
        .Li(kS0, data_ + kS0Offset)
        .Words({Sw(0, kTraps, kGp), Sw(0, kTrapHash, kGp), Csrr(kTp, kMinstret),
                Sw(kTp, kInstretBefore, kGp),
                // Programs may store tp, and this count is absolute.
                Addi(kTp, 0, 0)});
  }

  void End() {
    // instret of the program; then all registers.
    code_.Words({Csrr(kTp, kMinstret), Sw(kTp, kLoopCounter, kGp)});
    const uint32_t record =
        kRecordsBase + static_cast<uint32_t>(kRecordBytes * programs_);
    code_.Li(kTp, record);
    constexpr int32_t kX = 20;
    constexpr int32_t kF = kX + 128;
    for (uint32_t i = 0; i < 32; ++i) {
      code_.Word(Sw(i, kX + 4 * static_cast<int32_t>(i), kTp));
    }
    for (uint32_t i = 0; i < 32; ++i) {
      const int32_t offset = kF + 4 * static_cast<int32_t>(i);
      code_.Word(isa_.f ? Fsw(i, offset, kTp) : Sw(0, offset, kTp));
    }
    code_.Words({isa_.f ? Csrr(5, 0x003) : Addi(5, 0, 0), Sw(5, 16, kTp)});
    code_.Words({Lw(5, kLoopCounter, kGp), Lw(6, kInstretBefore, kGp),
                 Sub(5, 5, 6), Sw(5, 0, kTp), Lw(5, kTraps, kGp), Sw(5, 4, kTp),
                 Lw(5, kTrapHash, kGp), Sw(5, 8, kTp)});
    // x5 = x5 * 31 + word
    code_.Li(5, 0).Li(6, data_).Li(7, kHashedWords);
    code_.Words({Lw(9, 0, 6), Slli(10, 5, 5), Sub(5, 10, 5), Add(5, 5, 9),
                 Addi(6, 6, 4), Addi(7, 7, -1), Bne(7, 0, -24),
                 Sw(5, 12, kTp)});
    ++programs_;
  }

  std::string Finish() {
    code_.Li(5, kRecordsBase)
        .Li(6, kRecordsBase + static_cast<uint32_t>(kRecordBytes * programs_))
        .Li(7, kConsoleAddress);
    code_.Words({Lbu(9, 0, 5), Sw(9, 0, 7), Addi(5, 5, 1), Bltu(5, 6, -12)});
    code_.Li(5, kExitAddress).Li(6, 0x5555);
    code_.Words({Sw(6, 0, 5), Jal(0, 0)});
    return BuildElf(kRamBase, code_.bytes(), {});
  }

 private:
  // Counts and hashes the trap, and goes on behind the instruction.
  void EmitTrapHandler() {
    const auto mix = [&](uint32_t csr) {
      code_.Words({Lw(5, kTrapHash, kGp), Slli(kTp, 5, 5), Sub(5, kTp, 5),
                   Csrr(kTp, csr), Add(5, 5, kTp), Sw(5, kTrapHash, kGp)});
    };
    code_.Words({Sw(5, kSavedX5, kGp), Lw(5, kTraps, kGp), Addi(5, 5, 1),
                 Sw(5, kTraps, kGp)});
    mix(kMcause);
    mix(kMepc);
    // Of ebreak it may be 0 or pc.
    code_.Words({Csrr(5, kMcause), Addi(5, 5, -3), Beq(5, 0, 4 + 4 * 6)});
    mix(kMtval);
    // Two or four bytes?
    code_.Words({Csrr(kTp, kMepc), Lhu(5, 0, kTp), Andi(5, 5, 3),
                 Addi(5, 5, -3), Addi(kTp, kTp, 2), Bne(5, 0, 8),
                 Addi(kTp, kTp, 2), Csrw(kMepc, kTp), Lw(5, kSavedX5, kGp),
                 kMret});
  }

  void FillMemory(Rng& rng) {
    code_.Li(5, data_).Li(6, data_ + kDataBytes).Li(7, RandomInt(rng));
    // x7 = x7 * 33 + 1, xored with itself shifted.
    code_.Words({Sw(7, 0, 5), Slli(9, 7, 5), Add(7, 7, 9), Addi(7, 7, 1),
                 Addi(5, 5, 4), Bltu(5, 6, -20)});
  }

  static uint32_t RandomInt(Rng& rng) {
    constexpr std::array<uint32_t, 8> kSpecial = {
        0, 1, ~0u, 0x80000000, 0x7fffffff, 2, 31, 0xffff8000};
    if (rng.Below(3) == 0) return kSpecial[rng.Below(kSpecial.size())];
    return static_cast<uint32_t>(rng.Next() >> (32 + rng.Below(32)));
  }

  static uint32_t RandomFloat(Rng& rng) {
    constexpr std::array<uint32_t, 16> kSpecial = {
        0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000,
        0x7fc00000, 0x7f800001, 0xffc12345, 0x00000001, 0x007fffff, 0x00800000,
        0x7f7fffff, 0x4f000000, 0xcf000000, 0x4f7fffff};
    const auto bits = static_cast<uint32_t>(rng.Next());
    switch (rng.Below(4)) {
      case 0:
        return kSpecial[rng.Below(kSpecial.size())];
      case 1:  // Near 1, so that sums cancel and round.
        return (bits & 0x80ffffff) | 0x3f000000;
      case 2:  // Near the smallest.
        return bits & 0x81ffffff;
      default:
        return bits;
    }
  }

  const Isa isa_;
  Assembler code_{kRamBase};
  int64_t programs_ = 0;
  uint32_t data_ = 0;
};

// Emits random instructions.
class Generator {
 public:
  Generator(Isa isa, bool traps, Rng& rng, Assembler* code)
      : isa_(isa), traps_(traps), rng_(rng), code_(*code) {}

  void Emit() {
    switch (rng_.Below(isa_.f ? 18 : 12)) {
      case 0:
      case 1:
        return EmitAccess();
      case 2:
        return EmitBranch();
      case 3:
        return EmitJump();
      case 4:
        return EmitLoop();
      case 5:
        return EmitCsr();
      case 6:
        if (traps_ && rng_.Below(4) == 0) return EmitTrap();
        return EmitWord(0x13);
      case 7:
      case 8:
        if (isa_.c) return EmitHalf();
        return EmitWord(0x33);
      case 9:
        return EmitWord(0x13);
      case 10:
        return EmitWord(rng_.Below(2) == 0 ? 0x37 : 0x17);
      case 11:
        return EmitAnyWord();
      case 12:
      case 13:
        return EmitWord(0x43 + 4 * static_cast<uint32_t>(rng_.Below(4)));
      default:
        return EmitWord(0x53);
    }
  }

 private:
  static constexpr std::array<uint32_t, 9> kFunct7 = {
      0x00, 0x01, 0x20, 0x00, 0x01, 0x04, 0x21, 0x40, 0x7f};
  static constexpr std::array<uint32_t, 13> kFloatFunct7 = {
      0x00, 0x04, 0x08, 0x0c, 0x2c, 0x10, 0x14,
      0x50, 0x60, 0x68, 0x70, 0x78, 0x01};

  uint32_t Bits(int count) {
    return static_cast<uint32_t>(rng_.Below(uint64_t{1} << count));
  }
  uint32_t Register() { return Bits(5); }
  uint32_t Target() {
    uint32_t rd = Register();
    while (IsReserved(rd)) rd = Register();
    return rd;
  }

  // Whether the instruction is illegal, or computes something from registers
  // alone and writes one that it may.
  bool IsHarmless(uint32_t bits) const {
    const std::optional<Instruction> decoded = Decode(bits, isa_);
    if (!decoded.has_value()) return traps_;
    const RegisterUse use = UseOf(*decoded);
    constexpr uint32_t kReservedMask =
        1u << kSp | 1u << kGp | 1u << kTp | 1u << kS0;
    if ((use.x_written & kReservedMask) != 0) return false;
    switch (TraitsOf(decoded->op).format) {
      case Format::kUpper:
      case Format::kImm:
      case Format::kReg:
      case Format::kF3:
      case Format::kF2:
      case Format::kF1:
      case Format::kFToX:
      case Format::kF2ToX:
      case Format::kXToF:
        return true;
      default:
        return decoded->op == Op::kFence || decoded->op == Op::kFenceI;
    }
  }

  // A random word with this opcode; its other fields are mostly, but not only,
  // legal ones.
  void EmitWord(uint32_t opcode) {
    uint32_t bits = 0;
    do {
      bits = (Bits(25) << 7) | opcode;
      const bool as_is = rng_.Below(16) == 0;
      if (!as_is && opcode == 0x33) {
        bits = (bits & 0x01ffffff) | kFunct7[rng_.Below(kFunct7.size())] << 25;
      } else if (!as_is && opcode == 0x53) {
        bits = (bits & 0x01ffffff) |
               kFloatFunct7[rng_.Below(kFloatFunct7.size())] << 25;
        // rs2 is part of some opcodes.
        if (rng_.Below(2) == 0) bits &= ~(0x1eu << 20);
      } else if (!as_is && opcode == 0x13 && (bits & 0x3000) == 0x1000) {
        bits &= 0x41ffffff;
      } else if (!as_is && opcode >= 0x43 && opcode <= 0x4f) {
        bits &= ~(3u << 25);
      }
    } while (!IsHarmless(bits));
    code_.Word(bits);
  }

  // Any opcode, reserved ones as well.
  void EmitAnyWord() {
    uint32_t bits = 0;
    do {
      bits = Bits(32) | 3;
    } while (!IsHarmless(bits));
    code_.Word(bits);
  }

  void EmitHalf() {
    uint32_t bits = 0;
    do {
      bits = Bits(16);
    } while ((bits & 3) == 3 || !IsHarmless(bits));
    code_.Half(bits);
  }

  void EmitAccess() {
    const uint32_t base = std::array{kSp, kGp, kS0}[rng_.Below(3)];
    const int32_t low = base == kGp ? -1024 : 0;
    const auto width_log2 = static_cast<uint32_t>(rng_.Below(3));
    const auto offset =
        static_cast<int32_t>(rng_.InRange(low, 255)) & -(1 << width_log2);
    const uint32_t value = Register();
    switch (rng_.Below(isa_.c ? 5 : 4)) {
      case 0:
        if (isa_.f && width_log2 == 2 && rng_.Below(2) == 0) {
          code_.Word(Flw(value, offset, base));
          return;
        }
        code_.Word(EncodeI(offset, base, width_log2, Target(), 0x03));
        return;
      case 1:
        // lbu and lhu.
        code_.Word(EncodeI(offset, base, 4 | (width_log2 & 1), Target(), 0x03));
        return;
      case 4:
        return EmitCompressedAccess();
      default:
        if (isa_.f && width_log2 == 2 && rng_.Below(2) == 0) {
          code_.Word(Fsw(value, offset, base));
          return;
        }
        code_.Word(EncodeS(offset, value, base, width_log2, 0x23));
        return;
    }
  }

  // c.lw, c.sw, c.lwsp, c.swsp, and of floats.
  void EmitCompressedAccess() {
    const bool is_float = isa_.f && rng_.Below(2) == 0;
    const bool store = rng_.Below(2) == 0;
    const uint32_t funct3 = (is_float ? 3 : 2) | (store ? 4 : 0);
    if (rng_.Below(2) == 0) {
      uint32_t value = Bits(3);
      while (!store && !is_float && 8 + value == kS0) value = Bits(3);
      // rs1 is s0, offsets from 0 to 124.
      code_.Half(funct3 << 13 | Bits(3) << 10 | (kS0 - 8) << 7 | Bits(2) << 5 |
                 value << 2);
      return;
    }
    if (store) {
      code_.Half(funct3 << 13 | Bits(6) << 7 | Register() << 2 | 2);
      return;
    }
    uint32_t rd = is_float ? Register() : Target();
    if (!is_float && rd == 0) rd = 1;
    code_.Half(funct3 << 13 | Bits(1) << 12 | rd << 7 | Bits(5) << 2 | 2);
  }

  void EmitFew() {
    const uint64_t count = rng_.Below(5);
    for (uint64_t i = 0; i < count; ++i) {
      EmitWord(rng_.Below(2) == 0 ? 0x13 : 0x33);
      if (isa_.c && rng_.Below(2) == 0) EmitHalf();
    }
  }

  void EmitBranch() {
    static constexpr std::array<uint32_t, 6> kFunct3 = {0, 1, 4, 5, 6, 7};
    const uint32_t at = code_.here();
    const uint32_t funct3 = kFunct3[rng_.Below(kFunct3.size())];
    const uint32_t rs1 = Register();
    const uint32_t rs2 = rng_.Below(4) == 0 ? rs1 : Register();
    code_.Word(0);
    EmitFew();
    code_.Patch(
        at, EncodeB(static_cast<int32_t>(code_.here() - at), rs2, rs1, funct3));
  }

  void EmitJump() {
    const uint32_t rd = Target();
    if (rng_.Below(2) == 0) {
      const uint32_t at = code_.here();
      code_.Word(0);
      EmitFew();
      code_.Patch(at, Jal(rd, static_cast<int32_t>(code_.here() - at)));
      return;
    }
    const uint32_t at = code_.here();
    code_.Word(Auipc(kTp, 0)).Word(0);
    EmitFew();
    // The lowest bit of the target does not count.
    const auto odd = static_cast<int32_t>(rng_.Below(2));
    code_.Patch(at + 4,
                Jalr(rd, kTp, static_cast<int32_t>(code_.here() - at) + odd));
  }

  void EmitLoop() {
    code_.Words({Addi(kTp, 0, static_cast<int32_t>(rng_.InRange(1, 20))),
                 Sw(kTp, kLoopCounter, kGp)});
    const uint32_t top = code_.here();
    EmitFew();
    EmitAccess();
    EmitFew();
    code_.Words({Lw(kTp, kLoopCounter, kGp), Addi(kTp, kTp, -1),
                 Sw(kTp, kLoopCounter, kGp)});
    code_.Word(Bne(kTp, 0, static_cast<int32_t>(top - code_.here())));
  }

  void EmitCsr() {
    constexpr uint32_t kMscratch = 0x340;
    constexpr uint32_t kUnknown = 0x5c0;
    uint32_t csr = traps_ && rng_.Below(8) == 0 ? kUnknown : kMscratch;
    if (isa_.f && rng_.Below(2) == 0) {
      // fflags, or fcsr, where reserved roundings make others trap.
      csr = traps_ && rng_.Below(2) == 0 ? 3 : 1;
    }
    uint32_t funct3 = Bits(3);
    if ((funct3 & 3) == 0) funct3 = 1;
    code_.Word(
        EncodeI(static_cast<int32_t>(csr), Register(), funct3, Target(), 0x73));
  }

  void EmitTrap() {
    static constexpr std::array<uint32_t, 4> kTraps = {0x00000073, 0x00100073,
                                                       0x10200073, 0xc0001073};
    code_.Word(kTraps[rng_.Below(kTraps.size())]);
  }

  const Isa isa_;
  const bool traps_;
  Rng& rng_;
  Assembler& code_;
};

}  // namespace

std::string Describe(const ProgramRecord& record) {
  std::string text = absl::StrFormat(
      "instret %d traps %d trap_hash %08x memory_hash %08x "
      "fcsr %02x\nx",
      record.instret, record.traps, record.trap_hash, record.memory_hash,
      record.fcsr);
  for (const uint32_t x : record.x) absl::StrAppendFormat(&text, " %08x", x);
  absl::StrAppend(&text, "\nf");
  for (const uint32_t f : record.f) absl::StrAppendFormat(&text, " %08x", f);
  return text;
}

std::string RandomPrograms(Isa isa, uint64_t seed, int programs, int length) {
  Rng rng(seed);
  Image image(isa);
  for (int i = 0; i < programs; ++i) {
    image.Begin(rng);
    Generator generator(isa, i % 2 != 0, rng, &image.code());
    for (int j = 0; j < length; ++j) generator.Emit();
    image.End();
  }
  return image.Finish();
}

std::string AllHalfwords(Isa isa, int shard, int shards) {
  Rng rng(static_cast<uint64_t>(shard));
  Image image(isa);
  image.Begin(rng);
  for (int half = shard; half < 65536; half += shards) {
    if ((half & 3) == 3) continue;
    const auto bits = static_cast<uint32_t>(half);
    const std::optional<Instruction> decoded = Decode(bits, isa);
    bool harmless = true;
    if (decoded.has_value()) {
      const Format format = TraitsOf(decoded->op).format;
      harmless = (format == Format::kImm || format == Format::kReg ||
                  format == Format::kUpper) &&
                 !IsReserved(decoded->rd);
    }
    if (harmless) image.code().Half(bits);
  }
  image.End();
  return image.Finish();
}

}  // namespace edgekiln::simfarm::rv32::testing
