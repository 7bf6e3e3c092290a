#ifndef EK_SIMFARM_SIMULATORS_RV32_TESTING_ASSEMBLER_H_
#define EK_SIMFARM_SIMULATORS_RV32_TESTING_ASSEMBLER_H_

// Encodes RV32 instructions for tests. Written from the instruction set manual
// and not from the decoder, so that the two check each other.

#include <cstdint>
#include <string>
#include <vector>

#include "simfarm/simulators/rv32/elf.h"

namespace edgekiln::simfarm::rv32::testing {

// The formats of the manual. Immediates are taken modulo their width.
constexpr uint32_t EncodeR(uint32_t funct7, uint32_t rs2, uint32_t rs1,
                           uint32_t funct3, uint32_t rd, uint32_t opcode) {
  return funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode;
}
constexpr uint32_t EncodeI(int32_t imm, uint32_t rs1, uint32_t funct3,
                           uint32_t rd, uint32_t opcode) {
  return (static_cast<uint32_t>(imm) & 0xfff) << 20 | rs1 << 15 | funct3 << 12 |
         rd << 7 | opcode;
}
constexpr uint32_t EncodeS(int32_t imm, uint32_t rs2, uint32_t rs1,
                           uint32_t funct3, uint32_t opcode) {
  const auto bits = static_cast<uint32_t>(imm);
  return (bits >> 5 & 0x7f) << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 |
         (bits & 0x1f) << 7 | opcode;
}
constexpr uint32_t EncodeB(int32_t offset, uint32_t rs2, uint32_t rs1,
                           uint32_t funct3) {
  const auto bits = static_cast<uint32_t>(offset);
  return (bits >> 12 & 1) << 31 | (bits >> 5 & 0x3f) << 25 | rs2 << 20 |
         rs1 << 15 | funct3 << 12 | (bits >> 1 & 0xf) << 8 |
         (bits >> 11 & 1) << 7 | 0x63;
}
constexpr uint32_t EncodeU(uint32_t upper, uint32_t rd, uint32_t opcode) {
  return upper << 12 | rd << 7 | opcode;
}
constexpr uint32_t EncodeJ(int32_t offset, uint32_t rd) {
  const auto bits = static_cast<uint32_t>(offset);
  return (bits >> 20 & 1) << 31 | (bits >> 1 & 0x3ff) << 21 |
         (bits >> 11 & 1) << 20 | (bits >> 12 & 0xff) << 12 | rd << 7 | 0x6f;
}

// By the manual's names, operands in the order of assembler text.
constexpr uint32_t Lui(uint32_t rd, uint32_t upper) {
  return EncodeU(upper, rd, 0x37);
}
constexpr uint32_t Auipc(uint32_t rd, uint32_t upper) {
  return EncodeU(upper, rd, 0x17);
}
constexpr uint32_t Jal(uint32_t rd, int32_t offset) {
  return EncodeJ(offset, rd);
}
constexpr uint32_t Jalr(uint32_t rd, uint32_t rs1, int32_t offset) {
  return EncodeI(offset, rs1, 0, rd, 0x67);
}
constexpr uint32_t Beq(uint32_t rs1, uint32_t rs2, int32_t offset) {
  return EncodeB(offset, rs2, rs1, 0);
}
constexpr uint32_t Bne(uint32_t rs1, uint32_t rs2, int32_t offset) {
  return EncodeB(offset, rs2, rs1, 1);
}
constexpr uint32_t Bltu(uint32_t rs1, uint32_t rs2, int32_t offset) {
  return EncodeB(offset, rs2, rs1, 6);
}
constexpr uint32_t Lb(uint32_t rd, int32_t offset, uint32_t rs1) {
  return EncodeI(offset, rs1, 0, rd, 0x03);
}
constexpr uint32_t Lh(uint32_t rd, int32_t offset, uint32_t rs1) {
  return EncodeI(offset, rs1, 1, rd, 0x03);
}
constexpr uint32_t Lw(uint32_t rd, int32_t offset, uint32_t rs1) {
  return EncodeI(offset, rs1, 2, rd, 0x03);
}
constexpr uint32_t Lbu(uint32_t rd, int32_t offset, uint32_t rs1) {
  return EncodeI(offset, rs1, 4, rd, 0x03);
}
constexpr uint32_t Lhu(uint32_t rd, int32_t offset, uint32_t rs1) {
  return EncodeI(offset, rs1, 5, rd, 0x03);
}
constexpr uint32_t Sb(uint32_t rs2, int32_t offset, uint32_t rs1) {
  return EncodeS(offset, rs2, rs1, 0, 0x23);
}
constexpr uint32_t Sh(uint32_t rs2, int32_t offset, uint32_t rs1) {
  return EncodeS(offset, rs2, rs1, 1, 0x23);
}
constexpr uint32_t Sw(uint32_t rs2, int32_t offset, uint32_t rs1) {
  return EncodeS(offset, rs2, rs1, 2, 0x23);
}
constexpr uint32_t Addi(uint32_t rd, uint32_t rs1, int32_t imm) {
  return EncodeI(imm, rs1, 0, rd, 0x13);
}
constexpr uint32_t Andi(uint32_t rd, uint32_t rs1, int32_t imm) {
  return EncodeI(imm, rs1, 7, rd, 0x13);
}
constexpr uint32_t Slli(uint32_t rd, uint32_t rs1, int32_t shift) {
  return EncodeI(shift, rs1, 1, rd, 0x13);
}
constexpr uint32_t Add(uint32_t rd, uint32_t rs1, uint32_t rs2) {
  return EncodeR(0, rs2, rs1, 0, rd, 0x33);
}
constexpr uint32_t Sub(uint32_t rd, uint32_t rs1, uint32_t rs2) {
  return EncodeR(0x20, rs2, rs1, 0, rd, 0x33);
}
// funct3: 0 mul, 1 mulh, 2 mulhsu, 3 mulhu, 4 div, 5 divu, 6 rem, 7 remu.
constexpr uint32_t MulDiv(uint32_t funct3, uint32_t rd, uint32_t rs1,
                          uint32_t rs2) {
  return EncodeR(1, rs2, rs1, funct3, rd, 0x33);
}
constexpr uint32_t Csrrw(uint32_t rd, uint32_t csr, uint32_t rs1) {
  return EncodeI(static_cast<int32_t>(csr), rs1, 1, rd, 0x73);
}
constexpr uint32_t Csrrs(uint32_t rd, uint32_t csr, uint32_t rs1) {
  return EncodeI(static_cast<int32_t>(csr), rs1, 2, rd, 0x73);
}
constexpr uint32_t Csrr(uint32_t rd, uint32_t csr) { return Csrrs(rd, csr, 0); }
constexpr uint32_t Csrw(uint32_t csr, uint32_t rs1) {
  return Csrrw(0, csr, rs1);
}
constexpr uint32_t Flw(uint32_t rd, int32_t offset, uint32_t rs1) {
  return EncodeI(offset, rs1, 2, rd, 0x07);
}
constexpr uint32_t Fsw(uint32_t rs2, int32_t offset, uint32_t rs1) {
  return EncodeS(offset, rs2, rs1, 2, 0x27);
}
constexpr uint32_t FmvWX(uint32_t rd, uint32_t rs1) {
  return EncodeR(0x78, 0, rs1, 0, rd, 0x53);
}
inline constexpr uint32_t kEcall = 0x00000073;
inline constexpr uint32_t kEbreak = 0x00100073;
inline constexpr uint32_t kMret = 0x30200073;
inline constexpr uint32_t kWfi = 0x10500073;
inline constexpr uint32_t kFenceI = 0x0000100f;
inline constexpr uint32_t kNop = 0x00000013;
inline constexpr uint32_t kRet = 0x00008067;

// CSRs that tests name.
inline constexpr uint32_t kMstatus = 0x300;
inline constexpr uint32_t kMie = 0x304;
inline constexpr uint32_t kMtvec = 0x305;
inline constexpr uint32_t kMepc = 0x341;
inline constexpr uint32_t kMcause = 0x342;
inline constexpr uint32_t kMtval = 0x343;
inline constexpr uint32_t kMcycle = 0xb00;
inline constexpr uint32_t kMinstret = 0xb02;

// Code that grows, at an address.
class Assembler {
 public:
  explicit Assembler(uint32_t base) : base_(base) {}

  uint32_t here() const { return base_ + static_cast<uint32_t>(bytes_.size()); }
  const std::string& bytes() const { return bytes_; }

  Assembler& Word(uint32_t instruction);
  Assembler& Half(uint32_t instruction);
  Assembler& Words(const std::vector<uint32_t>& instructions);
  // Always two instructions.
  Assembler& Li(uint32_t rd, uint32_t value);
  // jal to an address.
  Assembler& JumpTo(uint32_t rd, uint32_t target);
  // Replaces what is at `address`.
  void Patch(uint32_t address, uint32_t instruction);

 private:
  uint32_t base_;
  std::string bytes_;
};

// An executable with one segment at `base`, which is also the entry.
std::string BuildElf(uint32_t base, const std::string& bytes,
                     const std::vector<Function>& functions);

}  // namespace edgekiln::simfarm::rv32::testing

#endif  // EK_SIMFARM_SIMULATORS_RV32_TESTING_ASSEMBLER_H_
