#include "simfarm/simulators/rv32/expand.h"

namespace edgekiln::simfarm::rv32 {
namespace {

// Bits [high:low] of `half`, shifted to position `to`.
constexpr uint32_t Bits(uint32_t half, int high, int low, int to = 0) {
  return (half >> low & ((1u << (high - low + 1)) - 1)) << to;
}

// The lowest `bits` of `value` as a two's complement number.
constexpr uint32_t SignExtend(uint32_t value, int bits) {
  const uint32_t sign = 1u << (bits - 1);
  return (value ^ sign) - sign;
}

constexpr uint32_t I(uint32_t opcode, uint32_t funct3, uint32_t rd,
                     uint32_t rs1, uint32_t imm) {
  return imm << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode;
}

constexpr uint32_t S(uint32_t opcode, uint32_t funct3, uint32_t rs1,
                     uint32_t rs2, uint32_t imm) {
  return Bits(imm, 11, 5, 25) | rs2 << 20 | rs1 << 15 | funct3 << 12 |
         Bits(imm, 4, 0, 7) | opcode;
}

constexpr uint32_t R(uint32_t funct7, uint32_t funct3, uint32_t rd,
                     uint32_t rs1, uint32_t rs2) {
  return funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | 0x33;
}

constexpr uint32_t B(uint32_t funct3, uint32_t rs1, uint32_t imm) {
  return Bits(imm, 12, 12, 31) | Bits(imm, 10, 5, 25) | rs1 << 15 |
         funct3 << 12 | Bits(imm, 4, 1, 8) | Bits(imm, 11, 11, 7) | 0x63;
}

constexpr uint32_t J(uint32_t rd, uint32_t imm) {
  return Bits(imm, 20, 20, 31) | Bits(imm, 10, 1, 21) | Bits(imm, 11, 11, 20) |
         Bits(imm, 19, 12, 12) | rd << 7 | 0x6f;
}

constexpr uint32_t kLoad = 0x03;
constexpr uint32_t kFLoad = 0x07;
constexpr uint32_t kImm = 0x13;
constexpr uint32_t kStore = 0x23;
constexpr uint32_t kFStore = 0x27;
constexpr uint32_t kLui = 0x37;
constexpr uint32_t kJalr = 0x67;
constexpr uint32_t kEbreak = 0x00100073;

std::optional<uint32_t> ExpandQuadrant0(uint32_t half) {
  const uint32_t rs1 = 8 + Bits(half, 9, 7);
  const uint32_t rd = 8 + Bits(half, 4, 2);  // Or rs2.
  const uint32_t offset =
      Bits(half, 12, 10, 3) | Bits(half, 6, 6, 2) | Bits(half, 5, 5, 6);
  switch (half >> 13) {
    case 0: {  // c.addi4spn
      const uint32_t imm = Bits(half, 12, 11, 4) | Bits(half, 10, 7, 6) |
                           Bits(half, 6, 6, 2) | Bits(half, 5, 5, 3);
      if (imm == 0) return std::nullopt;
      return I(kImm, 0, rd, 2, imm);
    }
    case 2:
      return I(kLoad, 2, rd, rs1, offset);
    case 3:
      return I(kFLoad, 2, rd, rs1, offset);
    case 6:
      return S(kStore, 2, rs1, rd, offset);
    case 7:
      return S(kFStore, 2, rs1, rd, offset);
    default:
      return std::nullopt;
  }
}

// c.srli, c.srai, c.andi, c.sub, c.xor, c.or, c.and
std::optional<uint32_t> ExpandArithmetic(uint32_t half) {
  const uint32_t rd = 8 + Bits(half, 9, 7);
  const uint32_t shift = Bits(half, 6, 2);
  const bool bit_12 = Bits(half, 12, 12) != 0;
  switch (Bits(half, 11, 10)) {
    case 0:
      if (bit_12) return std::nullopt;
      return I(kImm, 5, rd, rd, shift);
    case 1:
      if (bit_12) return std::nullopt;
      return I(kImm, 5, rd, rd, 0x400 | shift);
    case 2:
      return I(kImm, 7, rd, rd,
               SignExtend(Bits(half, 12, 12, 5) | shift, 6) & 0xfff);
    default:
      break;
  }
  if (bit_12) return std::nullopt;
  const uint32_t rs2 = 8 + Bits(half, 4, 2);
  switch (Bits(half, 6, 5)) {
    case 0:
      return R(0x20, 0, rd, rd, rs2);
    case 1:
      return R(0, 4, rd, rd, rs2);
    case 2:
      return R(0, 6, rd, rd, rs2);
    default:
      return R(0, 7, rd, rd, rs2);
  }
}

// c.addi16sp, c.lui
std::optional<uint32_t> ExpandUpper(uint32_t half) {
  const uint32_t rd = Bits(half, 11, 7);
  if (rd == 2) {
    const uint32_t imm = Bits(half, 12, 12, 9) | Bits(half, 6, 6, 4) |
                         Bits(half, 5, 5, 6) | Bits(half, 4, 3, 7) |
                         Bits(half, 2, 2, 5);
    if (imm == 0) return std::nullopt;
    return I(kImm, 0, 2, 2, SignExtend(imm, 10) & 0xfff);
  }
  const uint32_t imm = SignExtend(Bits(half, 12, 12, 5) | Bits(half, 6, 2), 6);
  if (imm == 0) return std::nullopt;
  return imm << 12 | rd << 7 | kLui;
}

std::optional<uint32_t> ExpandQuadrant1(uint32_t half) {
  const uint32_t rd = Bits(half, 11, 7);
  const uint32_t imm =
      SignExtend(Bits(half, 12, 12, 5) | Bits(half, 6, 2), 6) & 0xfff;
  const uint32_t jump = SignExtend(
      Bits(half, 12, 12, 11) | Bits(half, 11, 11, 4) | Bits(half, 10, 9, 8) |
          Bits(half, 8, 8, 10) | Bits(half, 7, 7, 6) | Bits(half, 6, 6, 7) |
          Bits(half, 5, 3, 1) | Bits(half, 2, 2, 5),
      12);
  const uint32_t branch = SignExtend(
      Bits(half, 12, 12, 8) | Bits(half, 11, 10, 3) | Bits(half, 6, 5, 6) |
          Bits(half, 4, 3, 1) | Bits(half, 2, 2, 5),
      9);
  switch (half >> 13) {
    case 0:
      return I(kImm, 0, rd, rd, imm);
    case 1:
      return J(1, jump);
    case 2:
      return I(kImm, 0, rd, 0, imm);
    case 3:
      return ExpandUpper(half);
    case 4:
      return ExpandArithmetic(half);
    case 5:
      return J(0, jump);
    case 6:
      return B(0, 8 + Bits(half, 9, 7), branch);
    default:
      return B(1, 8 + Bits(half, 9, 7), branch);
  }
}

// c.jr, c.mv, c.ebreak, c.jalr, c.add
std::optional<uint32_t> ExpandMove(uint32_t half) {
  const uint32_t rd = Bits(half, 11, 7);
  const uint32_t rs2 = Bits(half, 6, 2);
  if (Bits(half, 12, 12) == 0) {
    if (rs2 != 0) return R(0, 0, rd, 0, rs2);
    if (rd == 0) return std::nullopt;
    return I(kJalr, 0, 0, rd, 0);
  }
  if (rs2 != 0) return R(0, 0, rd, rd, rs2);
  if (rd == 0) return kEbreak;
  return I(kJalr, 0, 1, rd, 0);
}

std::optional<uint32_t> ExpandQuadrant2(uint32_t half) {
  const uint32_t rd = Bits(half, 11, 7);
  const uint32_t rs2 = Bits(half, 6, 2);
  const uint32_t load =
      Bits(half, 12, 12, 5) | Bits(half, 6, 4, 2) | Bits(half, 3, 2, 6);
  const uint32_t store = Bits(half, 12, 9, 2) | Bits(half, 8, 7, 6);
  switch (half >> 13) {
    case 0:
      if (Bits(half, 12, 12) != 0) return std::nullopt;
      return I(kImm, 1, rd, rd, rs2);
    case 2:
      if (rd == 0) return std::nullopt;
      return I(kLoad, 2, rd, 2, load);
    case 3:
      return I(kFLoad, 2, rd, 2, load);
    case 4:
      return ExpandMove(half);
    case 6:
      return S(kStore, 2, 2, rs2, store);
    case 7:
      return S(kFStore, 2, 2, rs2, store);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<uint32_t> Expand(uint16_t half) {
  switch (half & 3) {
    case 0:
      return ExpandQuadrant0(half);
    case 1:
      return ExpandQuadrant1(half);
    case 2:
      return ExpandQuadrant2(half);
    default:
      return std::nullopt;
  }
}

}  // namespace edgekiln::simfarm::rv32
