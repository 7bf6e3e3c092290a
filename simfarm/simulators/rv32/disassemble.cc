#include "simfarm/simulators/rv32/disassemble.h"

#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace edgekiln::simfarm::rv32 {
namespace {

constexpr int kRa = 1;
constexpr uint8_t kDynamicRounding = 7;

constexpr std::array<absl::string_view, 32> kX = {
    "zero", "ra", "sp", "gp", "tp",  "t0",  "t1", "t2", "s0", "s1", "a0",
    "a1",   "a2", "a3", "a4", "a5",  "a6",  "a7", "s2", "s3", "s4", "s5",
    "s6",   "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6"};
constexpr std::array<absl::string_view, 32> kF = {
    "ft0", "ft1", "ft2",  "ft3",  "ft4", "ft5", "ft6",  "ft7",
    "fs0", "fs1", "fa0",  "fa1",  "fa2", "fa3", "fa4",  "fa5",
    "fa6", "fa7", "fs2",  "fs3",  "fs4", "fs5", "fs6",  "fs7",
    "fs8", "fs9", "fs10", "fs11", "ft8", "ft9", "ft10", "ft11"};
constexpr std::array<absl::string_view, 8> kRounding = {
    "rne", "rtz", "rdn", "rup", "rmm", "rm5", "rm6", "dyn"};

absl::string_view X(uint8_t index) { return kX[index & 31]; }
absl::string_view F(uint8_t index) { return kF[index & 31]; }

// "FcvtWuS" is "fcvt.wu.s".
std::string Mnemonic(Op op) {
  static constexpr std::array<absl::string_view, kNumOps> kNames = {
#define EK_RV32_NAME(name, format, cost) #name,
      EK_RV32_OPS(EK_RV32_NAME)
#undef EK_RV32_NAME
  };
  std::string mnemonic;
  for (const char c : kNames[static_cast<size_t>(op)]) {
    if (absl::ascii_isupper(c) && !mnemonic.empty()) mnemonic += '.';
    mnemonic += absl::ascii_tolower(c);
  }
  return mnemonic;
}

std::string CsrName(int32_t number) {
  struct Csr {
    int32_t number;
    absl::string_view name;
  };
  static constexpr Csr kCsrs[] = {
      {0x001, "fflags"},    {0x002, "frm"},       {0x003, "fcsr"},
      {0x300, "mstatus"},   {0x301, "misa"},      {0x304, "mie"},
      {0x305, "mtvec"},     {0x310, "mstatush"},  {0x340, "mscratch"},
      {0x341, "mepc"},      {0x342, "mcause"},    {0x343, "mtval"},
      {0x344, "mip"},       {0xb00, "mcycle"},    {0xb02, "minstret"},
      {0xb80, "mcycleh"},   {0xb82, "minstreth"}, {0xc00, "cycle"},
      {0xc02, "instret"},   {0xc80, "cycleh"},    {0xc82, "instreth"},
      {0xf11, "mvendorid"}, {0xf12, "marchid"},   {0xf13, "mimpid"},
      {0xf14, "mhartid"}};
  for (const Csr& csr : kCsrs) {
    if (csr.number == number) return std::string(csr.name);
  }
  return absl::StrFormat("0x%x", number);
}

std::string Target(const Instruction& i, uint32_t pc) {
  return absl::StrFormat("0x%x", pc + static_cast<uint32_t>(i.imm));
}

std::string ShortBranch(const Instruction& i, uint32_t pc) {
  struct Short {
    Op op;
    absl::string_view against_zero;  // rs2 is x0.
    absl::string_view zero_against;  // rs1 is x0.
  };
  static constexpr Short kShorts[] = {{Op::kBeq, "beqz", ""},
                                      {Op::kBne, "bnez", ""},
                                      {Op::kBlt, "bltz", "bgtz"},
                                      {Op::kBge, "bgez", "blez"}};
  for (const Short& each : kShorts) {
    if (each.op != i.op) continue;
    if (i.rs1 == 0 && !each.zero_against.empty()) {
      return absl::StrCat(each.zero_against, " ", X(i.rs2), ",", Target(i, pc));
    }
    if (i.rs2 == 0) {
      return absl::StrCat(each.against_zero, " ", X(i.rs1), ",", Target(i, pc));
    }
  }
  return "";
}

std::string ShortJump(const Instruction& i, uint32_t pc) {
  if (i.op == Op::kJal) {
    if (i.rd == 0) return absl::StrCat("j ", Target(i, pc));
    return i.rd == kRa ? absl::StrCat("jal ", Target(i, pc)) : "";
  }
  if (i.rd != 0 && i.rd != kRa) return "";
  if (i.rd == 0 && i.rs1 == kRa && i.imm == 0) return "ret";
  const absl::string_view name = i.rd == 0 ? "jr " : "jalr ";
  return i.imm == 0 ? absl::StrCat(name, X(i.rs1))
                    : absl::StrCat(name, i.imm, "(", X(i.rs1), ")");
}

std::string ShortArithmetic(const Instruction& i) {
  const auto two = [&](absl::string_view name, uint8_t source) {
    return absl::StrCat(name, " ", X(i.rd), ",", X(source));
  };
  switch (i.op) {
    case Op::kAddi:
      if (i.rs1 == 0 && i.rd == 0 && i.imm == 0) return "nop";
      if (i.rs1 == 0) return absl::StrCat("li ", X(i.rd), ",", i.imm);
      return i.imm == 0 ? two("mv", i.rs1) : "";
    case Op::kAdd:
      return i.rs1 == 0 ? two("mv", i.rs2) : "";
    case Op::kXori:
      return i.imm == -1 ? two("not", i.rs1) : "";
    case Op::kAndi:
      return i.imm == 255 ? two("zext.b", i.rs1) : "";
    case Op::kSub:
      return i.rs1 == 0 ? two("neg", i.rs2) : "";
    case Op::kSltiu:
      return i.imm == 1 ? two("seqz", i.rs1) : "";
    case Op::kSltu:
      return i.rs1 == 0 ? two("snez", i.rs2) : "";
    case Op::kSlt:
      if (i.rs2 == 0) return two("sltz", i.rs1);
      return i.rs1 == 0 ? two("sgtz", i.rs2) : "";
    default:
      return "";
  }
}

std::string ShortFloat(const Instruction& i) {
  if (i.rs1 != i.rs2) return "";
  absl::string_view name;
  if (i.op == Op::kFsgnjS) name = "fmv.s ";
  if (i.op == Op::kFsgnjnS) name = "fneg.s ";
  if (i.op == Op::kFsgnjxS) name = "fabs.s ";
  return name.empty() ? "" : absl::StrCat(name, F(i.rd), ",", F(i.rs1));
}

std::string ShortCsr(const Instruction& i) {
  const std::string csr = CsrName(i.imm);
  const std::string operand = TraitsOf(i.op).format == Format::kCsrImm
                                  ? absl::StrCat(i.rs1)
                                  : std::string(X(i.rs1));
  if (i.op == Op::kCsrrs && i.rs1 == 0) {
    return absl::StrCat("csrr ", X(i.rd), ",", csr);
  }
  if (i.rd != 0) return "";
  // csrrw, csrrsi: the second r is for what is read.
  std::string name = Mnemonic(i.op);
  name.erase(3, 1);
  return absl::StrCat(name, " ", csr, ",", operand);
}

// The pseudo-instruction; empty if there is none.
std::string Short(const Instruction& i, uint32_t pc) {
  switch (TraitsOf(i.op).format) {
    case Format::kBranch:
      return ShortBranch(i, pc);
    case Format::kJump:
    case Format::kJumpReg:
      return ShortJump(i, pc);
    case Format::kImm:
    case Format::kReg:
      return ShortArithmetic(i);
    case Format::kF2:
      return ShortFloat(i);
    case Format::kCsr:
    case Format::kCsrImm:
      return ShortCsr(i);
    default:
      return "";
  }
}

bool IsRounded(Op op) {
  switch (TraitsOf(op).format) {
    case Format::kF3:
    case Format::kF1:
      return true;
    case Format::kF2:
    case Format::kFToX:
    case Format::kXToF:
      return TraitsOf(op).cost != CostClass::kFloatSimple;
    default:
      return false;
  }
}

std::string Operands(const Instruction& i, uint32_t pc) {
  switch (TraitsOf(i.op).format) {
    case Format::kNone:
      return "";
    case Format::kUpper:
      return absl::StrFormat("%s,0x%x", X(i.rd),
                             static_cast<uint32_t>(i.imm) >> 12);
    case Format::kJump:
      return absl::StrCat(X(i.rd), ",", Target(i, pc));
    case Format::kBranch:
      return absl::StrCat(X(i.rs1), ",", X(i.rs2), ",", Target(i, pc));
    case Format::kJumpReg:
    case Format::kLoad:
      return absl::StrCat(X(i.rd), ",", i.imm, "(", X(i.rs1), ")");
    case Format::kStore:
      return absl::StrCat(X(i.rs2), ",", i.imm, "(", X(i.rs1), ")");
    case Format::kFLoad:
      return absl::StrCat(F(i.rd), ",", i.imm, "(", X(i.rs1), ")");
    case Format::kFStore:
      return absl::StrCat(F(i.rs2), ",", i.imm, "(", X(i.rs1), ")");
    case Format::kImm:
      return absl::StrCat(X(i.rd), ",", X(i.rs1), ",", i.imm);
    case Format::kReg:
      return absl::StrCat(X(i.rd), ",", X(i.rs1), ",", X(i.rs2));
    case Format::kCsr:
      return absl::StrCat(X(i.rd), ",", CsrName(i.imm), ",", X(i.rs1));
    case Format::kCsrImm:
      return absl::StrCat(X(i.rd), ",", CsrName(i.imm), ",", i.rs1);
    case Format::kF3:
      return absl::StrCat(F(i.rd), ",", F(i.rs1), ",", F(i.rs2), ",", F(i.rs3));
    case Format::kF2:
      return absl::StrCat(F(i.rd), ",", F(i.rs1), ",", F(i.rs2));
    case Format::kF1:
      return absl::StrCat(F(i.rd), ",", F(i.rs1));
    case Format::kFToX:
      return absl::StrCat(X(i.rd), ",", F(i.rs1));
    case Format::kF2ToX:
      return absl::StrCat(X(i.rd), ",", F(i.rs1), ",", F(i.rs2));
    case Format::kXToF:
      return absl::StrCat(F(i.rd), ",", X(i.rs1));
  }
  return "";
}

}  // namespace

std::string Disassemble(const Instruction& instruction, uint32_t pc) {
  if (std::string text = Short(instruction, pc); !text.empty()) return text;
  std::string text = Mnemonic(instruction.op);
  const std::string operands = Operands(instruction, pc);
  if (!operands.empty()) absl::StrAppend(&text, " ", operands);
  if (IsRounded(instruction.op) && instruction.rm != kDynamicRounding) {
    absl::StrAppend(&text, ",", kRounding[instruction.rm & 7]);
  }
  return text;
}

}  // namespace edgekiln::simfarm::rv32
