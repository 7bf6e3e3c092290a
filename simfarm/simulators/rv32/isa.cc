#include "simfarm/simulators/rv32/isa.h"

#include "absl/strings/strip.h"
#include "simfarm/simulators/rv32/expand.h"

namespace edgekiln::simfarm::rv32 {
namespace {

constexpr uint32_t Funct3(uint32_t bits) { return bits >> 12 & 7; }
constexpr uint32_t Funct7(uint32_t bits) { return bits >> 25; }
constexpr uint32_t Rs2(uint32_t bits) { return bits >> 20 & 31; }

constexpr int32_t ImmI(uint32_t bits) {
  return static_cast<int32_t>(bits) >> 20;
}
constexpr int32_t ImmS(uint32_t bits) {
  return (static_cast<int32_t>(bits) >> 25) * 32 +
         static_cast<int32_t>(bits >> 7 & 31);
}
constexpr int32_t ImmB(uint32_t bits) {
  return (static_cast<int32_t>(bits) >> 31) * 4096 +
         static_cast<int32_t>((bits >> 7 & 1) << 11 | (bits >> 25 & 63) << 5 |
                              (bits >> 8 & 15) << 1);
}
constexpr int32_t ImmJ(uint32_t bits) {
  return (static_cast<int32_t>(bits) >> 31) * (1 << 20) +
         static_cast<int32_t>((bits >> 12 & 255) << 12 |
                              (bits >> 20 & 1) << 11 |
                              (bits >> 21 & 1023) << 1);
}

// Operations by funct3; absent ones are illegal.
using OpRow = std::array<std::optional<Op>, 8>;
constexpr auto kNo = std::nullopt;

std::optional<Op> ImmOp(uint32_t bits) {
  static constexpr OpRow kOps = {Op::kAddi, Op::kSlli, Op::kSlti, Op::kSltiu,
                                 Op::kXori, Op::kSrli, Op::kOri,  Op::kAndi};
  const std::optional<Op> op = kOps[Funct3(bits)];
  if (op == Op::kSlli && Funct7(bits) != 0) return kNo;
  if (op == Op::kSrli && Funct7(bits) == 0x20) return Op::kSrai;
  if (op == Op::kSrli && Funct7(bits) != 0) return kNo;
  return op;
}

std::optional<Op> RegOp(uint32_t bits, Isa isa) {
  static constexpr OpRow kBase = {Op::kAdd, Op::kSll, Op::kSlt, Op::kSltu,
                                  Op::kXor, Op::kSrl, Op::kOr,  Op::kAnd};
  static constexpr OpRow kAlternate = {Op::kSub, kNo,      kNo, kNo,
                                       kNo,      Op::kSra, kNo, kNo};
  static constexpr OpRow kMultiply = {Op::kMul,   Op::kMulh, Op::kMulhsu,
                                      Op::kMulhu, Op::kDiv,  Op::kDivu,
                                      Op::kRem,   Op::kRemu};
  switch (Funct7(bits)) {
    case 0:
      return kBase[Funct3(bits)];
    case 1:
      return isa.m ? kMultiply[Funct3(bits)] : kNo;
    case 0x20:
      return kAlternate[Funct3(bits)];
    default:
      return kNo;
  }
}

std::optional<Op> SystemOp(uint32_t bits) {
  static constexpr OpRow kCsrOps = {kNo, Op::kCsrrw,  Op::kCsrrs,  Op::kCsrrc,
                                    kNo, Op::kCsrrwi, Op::kCsrrsi, Op::kCsrrci};
  switch (bits) {
    case 0x00000073:
      return Op::kEcall;
    case 0x00100073:
      return Op::kEbreak;
    case 0x10500073:
      return Op::kWfi;
    case 0x30200073:
      return Op::kMret;
    default:
      return kCsrOps[Funct3(bits)];
  }
}

// Whether rm is a rounding mode, or says that frm holds it.
bool IsRounding(uint32_t rm) { return rm <= 4 || rm == 7; }

// An op whose funct3 is a rounding mode.
std::optional<Op> Rounded(Op op, uint32_t bits) {
  return IsRounding(Funct3(bits)) ? std::optional(op) : kNo;
}

std::optional<Op> FloatOp(uint32_t bits) {
  static constexpr OpRow kSign = {Op::kFsgnjS, Op::kFsgnjnS, Op::kFsgnjxS};
  static constexpr OpRow kMinMax = {Op::kFminS, Op::kFmaxS};
  static constexpr OpRow kCompare = {Op::kFleS, Op::kFltS, Op::kFeqS};
  const uint32_t rs2 = Rs2(bits);
  const uint32_t funct3 = Funct3(bits);
  switch (Funct7(bits)) {
    case 0x00:
      return Rounded(Op::kFaddS, bits);
    case 0x04:
      return Rounded(Op::kFsubS, bits);
    case 0x08:
      return Rounded(Op::kFmulS, bits);
    case 0x0c:
      return Rounded(Op::kFdivS, bits);
    case 0x2c:
      return rs2 == 0 ? Rounded(Op::kFsqrtS, bits) : kNo;
    case 0x10:
      return kSign[funct3];
    case 0x14:
      return kMinMax[funct3];
    case 0x50:
      return kCompare[funct3];
    case 0x60:
      if (rs2 == 0) return Rounded(Op::kFcvtWS, bits);
      return rs2 == 1 ? Rounded(Op::kFcvtWuS, bits) : kNo;
    case 0x68:
      if (rs2 == 0) return Rounded(Op::kFcvtSW, bits);
      return rs2 == 1 ? Rounded(Op::kFcvtSWu, bits) : kNo;
    case 0x70:
      if (rs2 != 0) return kNo;
      if (funct3 == 0) return Op::kFmvXW;
      return funct3 == 1 ? std::optional(Op::kFclassS) : kNo;
    case 0x78:
      return rs2 == 0 && funct3 == 0 ? std::optional(Op::kFmvWX) : kNo;
    default:
      return kNo;
  }
}

// funct2 selects the precision: 0 is single.
std::optional<Op> FusedOp(Op op, uint32_t bits) {
  return (bits >> 25 & 3) == 0 ? Rounded(op, bits) : kNo;
}

std::optional<Op> FindOp(uint32_t bits, Isa isa) {
  static constexpr OpRow kBranches = {Op::kBeq, Op::kBne, kNo,       kNo,
                                      Op::kBlt, Op::kBge, Op::kBltu, Op::kBgeu};
  static constexpr OpRow kLoads = {Op::kLb,  Op::kLh,  Op::kLw, kNo,
                                   Op::kLbu, Op::kLhu, kNo,     kNo};
  static constexpr OpRow kStores = {Op::kSb, Op::kSh, Op::kSw};
  static constexpr OpRow kFences = {Op::kFence, Op::kFenceI};
  const auto only = [&](uint32_t funct3, Op op) {
    return Funct3(bits) == funct3 ? std::optional(op) : kNo;
  };
  switch (bits & 0x7f) {
    case 0x37:
      return Op::kLui;
    case 0x17:
      return Op::kAuipc;
    case 0x6f:
      return Op::kJal;
    case 0x67:
      return only(0, Op::kJalr);
    case 0x63:
      return kBranches[Funct3(bits)];
    case 0x03:
      return kLoads[Funct3(bits)];
    case 0x23:
      return kStores[Funct3(bits)];
    case 0x13:
      return ImmOp(bits);
    case 0x33:
      return RegOp(bits, isa);
    case 0x0f:
      return kFences[Funct3(bits)];
    case 0x73:
      return SystemOp(bits);
    default:
      break;
  }
  if (!isa.f) return kNo;
  switch (bits & 0x7f) {
    case 0x07:
      return only(2, Op::kFlw);
    case 0x27:
      return only(2, Op::kFsw);
    case 0x43:
      return FusedOp(Op::kFmaddS, bits);
    case 0x47:
      return FusedOp(Op::kFmsubS, bits);
    case 0x4b:
      return FusedOp(Op::kFnmsubS, bits);
    case 0x4f:
      return FusedOp(Op::kFnmaddS, bits);
    case 0x53:
      return FloatOp(bits);
    default:
      return kNo;
  }
}

void ReadOperands(uint32_t bits, Instruction* out) {
  const auto rd = static_cast<uint8_t>(bits >> 7 & 31);
  const auto rs1 = static_cast<uint8_t>(bits >> 15 & 31);
  const auto rs2 = static_cast<uint8_t>(Rs2(bits));
  switch (TraitsOf(out->op).format) {
    case Format::kNone:
      return;
    case Format::kUpper:
      out->rd = rd;
      out->imm = static_cast<int32_t>(bits & 0xfffff000);
      return;
    case Format::kJump:
      out->rd = rd;
      out->imm = ImmJ(bits);
      return;
    case Format::kBranch:
      out->rs1 = rs1;
      out->rs2 = rs2;
      out->imm = ImmB(bits);
      return;
    case Format::kStore:
    case Format::kFStore:
      out->rs1 = rs1;
      out->rs2 = rs2;
      out->imm = ImmS(bits);
      return;
    case Format::kImm:
    case Format::kLoad:
    case Format::kFLoad:
    case Format::kJumpReg:
      out->rd = rd;
      out->rs1 = rs1;
      out->imm = ImmI(bits);
      if (out->op == Op::kSlli || out->op == Op::kSrli || out->op == Op::kSrai)
        out->imm &= 31;
      return;
    case Format::kCsr:
    case Format::kCsrImm:
      out->rd = rd;
      out->rs1 = rs1;
      out->imm = static_cast<int32_t>(bits >> 20);
      return;
    case Format::kReg:
    case Format::kF2ToX:
      out->rd = rd;
      out->rs1 = rs1;
      out->rs2 = rs2;
      return;
    case Format::kF3:
    case Format::kF2:
    case Format::kF1:
    case Format::kFToX:
    case Format::kXToF:
      break;
  }
  const Format format = TraitsOf(out->op).format;
  const bool simple = TraitsOf(out->op).cost == CostClass::kFloatSimple;
  out->rd = rd;
  out->rs1 = rs1;
  if (format == Format::kF3 || format == Format::kF2) out->rs2 = rs2;
  if (format == Format::kF3) out->rs3 = static_cast<uint8_t>(bits >> 27);
  if (!simple) out->rm = static_cast<uint8_t>(Funct3(bits));
}

}  // namespace

std::optional<Isa> ParseIsa(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, "rv32i")) return std::nullopt;
  Isa isa;
  isa.m = absl::ConsumePrefix(&name, "m");
  isa.f = absl::ConsumePrefix(&name, "f");
  isa.c = absl::ConsumePrefix(&name, "c");
  if (!name.empty()) return std::nullopt;
  return isa;
}

std::optional<Instruction> Decode(uint32_t bits, Isa isa) {
  Instruction instruction;
  if ((bits & 3) != 3) {
    if (!isa.c) return std::nullopt;
    const std::optional<uint32_t> expanded =
        Expand(static_cast<uint16_t>(bits));
    if (!expanded.has_value()) return std::nullopt;
    bits = *expanded;
    instruction.length_bytes = 2;
  }
  const std::optional<Op> op = FindOp(bits, isa);
  if (!op.has_value()) return std::nullopt;
  instruction.op = *op;
  ReadOperands(bits, &instruction);
  return instruction;
}

RegisterUse UseOf(const Instruction& instruction) {
  const uint32_t rd = 1u << instruction.rd;
  const uint32_t rs1 = 1u << instruction.rs1;
  const uint32_t rs2 = 1u << instruction.rs2;
  const uint32_t rs3 = 1u << instruction.rs3;
  RegisterUse use;
  switch (TraitsOf(instruction.op).format) {
    case Format::kNone:
      break;
    case Format::kUpper:
    case Format::kJump:
    case Format::kCsrImm:
      use = {.x_written = rd};
      break;
    case Format::kBranch:
    case Format::kStore:
      use = {.x_read = rs1 | rs2};
      break;
    case Format::kImm:
    case Format::kLoad:
    case Format::kJumpReg:
    case Format::kCsr:
      use = {.x_read = rs1, .x_written = rd};
      break;
    case Format::kReg:
      use = {.x_read = rs1 | rs2, .x_written = rd};
      break;
    case Format::kFLoad:
    case Format::kXToF:
      use = {.x_read = rs1, .f_written = rd};
      break;
    case Format::kFStore:
      use = {.x_read = rs1, .f_read = rs2};
      break;
    case Format::kF3:
      use = {.f_read = rs1 | rs2 | rs3, .f_written = rd};
      break;
    case Format::kF2:
      use = {.f_read = rs1 | rs2, .f_written = rd};
      break;
    case Format::kF1:
      use = {.f_read = rs1, .f_written = rd};
      break;
    case Format::kFToX:
      use = {.f_read = rs1, .x_written = rd};
      break;
    case Format::kF2ToX:
      use = {.f_read = rs1 | rs2, .x_written = rd};
      break;
  }
  use.x_read &= ~1u;
  use.x_written &= ~1u;
  return use;
}

}  // namespace edgekiln::simfarm::rv32
