#ifndef EK_SIMFARM_SIMULATORS_RV32_ISA_H_
#define EK_SIMFARM_SIMULATORS_RV32_ISA_H_

// The instructions of RV32I, M, F, Zicsr and Zifencei as one table. C adds no
// instruction: each compressed form expands to one of these (expand.h).

#include <array>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace edgekiln::simfarm::rv32 {

// Extensions beside I, Zicsr and Zifencei, which every core has.
struct Isa {
  bool m = false;
  bool f = false;
  bool c = false;

  friend bool operator==(const Isa&, const Isa&) = default;
};

// "rv32im", "rv32imc", "rv32imf", "rv32imfc", also without m. Absent for other
// names.
std::optional<Isa> ParseIsa(absl::string_view name);

// Which operands an instruction has. x: integer register, f: float register.
enum class Format : uint8_t {
  kNone,     //
  kUpper,    // x rd, imm[31:12]
  kJump,     // x rd, imm
  kJumpReg,  // x rd, x rs1, imm
  kBranch,   // x rs1, x rs2, imm
  kLoad,     // x rd, x rs1, imm
  kStore,    // x rs1, x rs2, imm
  kImm,      // x rd, x rs1, imm
  kReg,      // x rd, x rs1, x rs2
  kCsr,      // x rd, x rs1, csr
  kCsrImm,   // x rd, uimm in rs1, csr
  kFLoad,    // f rd, x rs1, imm
  kFStore,   // x rs1, f rs2, imm
  kF3,       // f rd, f rs1, f rs2, f rs3, rm
  kF2,       // f rd, f rs1, f rs2, perhaps rm
  kF1,       // f rd, f rs1, rm
  kFToX,     // x rd, f rs1, perhaps rm
  kF2ToX,    // x rd, f rs1, f rs2
  kXToF,     // f rd, x rs1, perhaps rm
};

// What an instruction costs: the columns of CycleCosts (costs.h).
enum class CostClass : uint8_t {
  kAlu,
  kLoad,
  kStore,
  kBranch,
  kJump,
  kJumpReg,
  kMultiply,
  kMultiplyHigh,
  kDivide,
  kCsr,
  kSystem,
  kFloatSimple,
  kFloatAdd,
  kFloatMultiply,
  kFloatMultiplyAdd,
  kFloatDivide,
  kFloatSqrt,
  kFloatConvert,
};

// X(name, format, cost class)
// clang-format off
#define EK_RV32_OPS(X)                                                        \
  X(Lui, kUpper, kAlu) X(Auipc, kUpper, kAlu) X(Jal, kJump, kJump)            \
  X(Jalr, kJumpReg, kJumpReg)                                                 \
  X(Beq, kBranch, kBranch) X(Bne, kBranch, kBranch) X(Blt, kBranch, kBranch)  \
  X(Bge, kBranch, kBranch) X(Bltu, kBranch, kBranch)                          \
  X(Bgeu, kBranch, kBranch)                                                   \
  X(Lb, kLoad, kLoad) X(Lh, kLoad, kLoad) X(Lw, kLoad, kLoad)                 \
  X(Lbu, kLoad, kLoad) X(Lhu, kLoad, kLoad)                                   \
  X(Sb, kStore, kStore) X(Sh, kStore, kStore) X(Sw, kStore, kStore)           \
  X(Addi, kImm, kAlu) X(Slti, kImm, kAlu) X(Sltiu, kImm, kAlu)                \
  X(Xori, kImm, kAlu) X(Ori, kImm, kAlu) X(Andi, kImm, kAlu)                  \
  X(Slli, kImm, kAlu) X(Srli, kImm, kAlu) X(Srai, kImm, kAlu)                 \
  X(Add, kReg, kAlu) X(Sub, kReg, kAlu) X(Sll, kReg, kAlu)                    \
  X(Slt, kReg, kAlu) X(Sltu, kReg, kAlu) X(Xor, kReg, kAlu)                   \
  X(Srl, kReg, kAlu) X(Sra, kReg, kAlu) X(Or, kReg, kAlu)                     \
  X(And, kReg, kAlu)                                                          \
  X(Mul, kReg, kMultiply) X(Mulh, kReg, kMultiplyHigh)                        \
  X(Mulhsu, kReg, kMultiplyHigh) X(Mulhu, kReg, kMultiplyHigh)                \
  X(Div, kReg, kDivide) X(Divu, kReg, kDivide) X(Rem, kReg, kDivide)          \
  X(Remu, kReg, kDivide)                                                      \
  X(Fence, kNone, kSystem) X(FenceI, kNone, kSystem)                          \
  X(Ecall, kNone, kSystem) X(Ebreak, kNone, kSystem)                          \
  X(Mret, kNone, kSystem) X(Wfi, kNone, kSystem)                              \
  X(Csrrw, kCsr, kCsr) X(Csrrs, kCsr, kCsr) X(Csrrc, kCsr, kCsr)              \
  X(Csrrwi, kCsrImm, kCsr) X(Csrrsi, kCsrImm, kCsr)                           \
  X(Csrrci, kCsrImm, kCsr)                                                    \
  X(Flw, kFLoad, kLoad) X(Fsw, kFStore, kStore)                               \
  X(FmaddS, kF3, kFloatMultiplyAdd) X(FmsubS, kF3, kFloatMultiplyAdd)         \
  X(FnmsubS, kF3, kFloatMultiplyAdd) X(FnmaddS, kF3, kFloatMultiplyAdd)       \
  X(FaddS, kF2, kFloatAdd) X(FsubS, kF2, kFloatAdd)                           \
  X(FmulS, kF2, kFloatMultiply) X(FdivS, kF2, kFloatDivide)                   \
  X(FsqrtS, kF1, kFloatSqrt)                                                  \
  X(FsgnjS, kF2, kFloatSimple) X(FsgnjnS, kF2, kFloatSimple)                  \
  X(FsgnjxS, kF2, kFloatSimple) X(FminS, kF2, kFloatSimple)                   \
  X(FmaxS, kF2, kFloatSimple)                                                 \
  X(FcvtWS, kFToX, kFloatConvert) X(FcvtWuS, kFToX, kFloatConvert)            \
  X(FmvXW, kFToX, kFloatSimple) X(FclassS, kFToX, kFloatSimple)               \
  X(FeqS, kF2ToX, kFloatSimple) X(FltS, kF2ToX, kFloatSimple)                 \
  X(FleS, kF2ToX, kFloatSimple)                                               \
  X(FcvtSW, kXToF, kFloatConvert) X(FcvtSWu, kXToF, kFloatConvert)            \
  X(FmvWX, kXToF, kFloatSimple)
// clang-format on

enum class Op : uint8_t {
#define EK_RV32_NAME(name, format, cost) k##name,
  EK_RV32_OPS(EK_RV32_NAME)
#undef EK_RV32_NAME
};

struct OpTraits {
  Format format;
  CostClass cost;
};

inline constexpr std::array kOpTraits = {
#define EK_RV32_TRAITS(name, format, cost) \
  OpTraits{Format::format, CostClass::cost},
    EK_RV32_OPS(EK_RV32_TRAITS)
#undef EK_RV32_TRAITS
};
inline constexpr int kNumOps = static_cast<int>(kOpTraits.size());

constexpr const OpTraits& TraitsOf(Op op) {
  return kOpTraits[static_cast<size_t>(op)];
}

// One decoded instruction. Operands that its format lacks are 0.
struct Instruction {
  Op op = Op::kAddi;
  uint8_t rd = 0;
  uint8_t rs1 = 0;  // Also the operand of Csrr*i.
  uint8_t rs2 = 0;
  uint8_t rs3 = 0;
  uint8_t rm = 0;  // Rounding mode of float arithmetic, 7: that of frm.
  uint8_t length_bytes = 4;
  int32_t imm = 0;  // The CSR's number of kCsr and kCsrImm.

  friend bool operator==(const Instruction&, const Instruction&) = default;
};

// What `instruction` does to registers: one bit each. x0 is never among them.
struct RegisterUse {
  uint32_t x_read = 0;
  uint32_t f_read = 0;
  uint32_t x_written = 0;
  uint32_t f_written = 0;
};
RegisterUse UseOf(const Instruction& instruction);

// The instruction with these bits; of a compressed one the low 16. Absent if it
// is illegal in `isa`: reserved, or of an extension that `isa` lacks. What only
// the state of the core decides (unknown CSRs, frm) is left to execution.
std::optional<Instruction> Decode(uint32_t bits, Isa isa);

}  // namespace edgekiln::simfarm::rv32

#endif  // EK_SIMFARM_SIMULATORS_RV32_ISA_H_
