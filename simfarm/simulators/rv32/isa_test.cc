#include "simfarm/simulators/rv32/isa.h"

#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "simfarm/simulators/rv32/expand.h"
#include "simfarm/simulators/rv32/testing/assembler.h"

namespace edgekiln::simfarm::rv32 {
namespace {

using namespace rv32::testing;  // NOLINT: encoders, by the manual's names.

constexpr Isa kAll = {.m = true, .f = true, .c = true};

TEST(ParseIsaTest, NamesSayWhichExtensionsThereAre) {
  EXPECT_EQ(ParseIsa("rv32i"), Isa{});
  EXPECT_EQ(ParseIsa("rv32im"), (Isa{.m = true}));
  EXPECT_EQ(ParseIsa("rv32imc"), (Isa{.m = true, .c = true}));
  EXPECT_EQ(ParseIsa("rv32imf"), (Isa{.m = true, .f = true}));
  EXPECT_EQ(ParseIsa("rv32imfc"), kAll);
  for (const char* name : {"", "rv64im", "rv32", "rv32ic_", "rv32imcf"}) {
    EXPECT_FALSE(ParseIsa(name).has_value()) << name;
  }
}

struct DecodeCase {
  const char* name;
  uint32_t bits;
  Instruction expected;
};

// Words as GNU as encodes them. One of each form, and the ends of immediates.
const DecodeCase kDecodeCases[] = {
    {"lui", 0xfffff5b7, {.op = Op::kLui, .rd = 11, .imm = -4096}},
    {"auipc", 0x00001517, {.op = Op::kAuipc, .rd = 10, .imm = 0x1000}},
    {"jal_back", 0xffdff0ef, {.op = Op::kJal, .rd = 1, .imm = -4}},
    {"jal_far", 0x7ffff06f, {.op = Op::kJal, .imm = 0xffffe}},
    {"jalr", 0x80008067, {.op = Op::kJalr, .rs1 = 1, .imm = -2048}},
    {"beq", 0x80b50063, {.op = Op::kBeq, .rs1 = 10, .rs2 = 11, .imm = -4096}},
    {"bne", 0x7eb51fe3, {.op = Op::kBne, .rs1 = 10, .rs2 = 11, .imm = 4094}},
    {"blt", 0x00b54463, {.op = Op::kBlt, .rs1 = 10, .rs2 = 11, .imm = 8}},
    {"bge", 0x00b55463, {.op = Op::kBge, .rs1 = 10, .rs2 = 11, .imm = 8}},
    {"bltu", 0x00b56463, {.op = Op::kBltu, .rs1 = 10, .rs2 = 11, .imm = 8}},
    {"bgeu", 0x00b57463, {.op = Op::kBgeu, .rs1 = 10, .rs2 = 11, .imm = 8}},
    {"lb", 0x80058503, {.op = Op::kLb, .rd = 10, .rs1 = 11, .imm = -2048}},
    {"lh", 0x7ff59503, {.op = Op::kLh, .rd = 10, .rs1 = 11, .imm = 2047}},
    {"lw", 0x0045a503, {.op = Op::kLw, .rd = 10, .rs1 = 11, .imm = 4}},
    {"lbu", 0x0045c503, {.op = Op::kLbu, .rd = 10, .rs1 = 11, .imm = 4}},
    {"lhu", 0x0045d503, {.op = Op::kLhu, .rd = 10, .rs1 = 11, .imm = 4}},
    {"sb", 0x80a58023, {.op = Op::kSb, .rs1 = 11, .rs2 = 10, .imm = -2048}},
    {"sh", 0x7ea59fa3, {.op = Op::kSh, .rs1 = 11, .rs2 = 10, .imm = 2047}},
    {"sw", 0x00a5a223, {.op = Op::kSw, .rs1 = 11, .rs2 = 10, .imm = 4}},
    {"addi", 0x80058513, {.op = Op::kAddi, .rd = 10, .rs1 = 11, .imm = -2048}},
    {"slti", 0x00a5a513, {.op = Op::kSlti, .rd = 10, .rs1 = 11, .imm = 10}},
    {"sltiu", 0x00a5b513, {.op = Op::kSltiu, .rd = 10, .rs1 = 11, .imm = 10}},
    {"xori", 0xfff5c513, {.op = Op::kXori, .rd = 10, .rs1 = 11, .imm = -1}},
    {"ori", 0x00a5e513, {.op = Op::kOri, .rd = 10, .rs1 = 11, .imm = 10}},
    {"andi", 0x00a5f513, {.op = Op::kAndi, .rd = 10, .rs1 = 11, .imm = 10}},
    {"slli", 0x01f59513, {.op = Op::kSlli, .rd = 10, .rs1 = 11, .imm = 31}},
    {"srli", 0x01f5d513, {.op = Op::kSrli, .rd = 10, .rs1 = 11, .imm = 31}},
    {"srai", 0x41f5d513, {.op = Op::kSrai, .rd = 10, .rs1 = 11, .imm = 31}},
    {"add", 0x00c58533, {.op = Op::kAdd, .rd = 10, .rs1 = 11, .rs2 = 12}},
    {"sub", 0x40c58533, {.op = Op::kSub, .rd = 10, .rs1 = 11, .rs2 = 12}},
    {"sll", 0x00c59533, {.op = Op::kSll, .rd = 10, .rs1 = 11, .rs2 = 12}},
    {"slt", 0x00c5a533, {.op = Op::kSlt, .rd = 10, .rs1 = 11, .rs2 = 12}},
    {"sltu", 0x00c5b533, {.op = Op::kSltu, .rd = 10, .rs1 = 11, .rs2 = 12}},
    {"xor", 0x00c5c533, {.op = Op::kXor, .rd = 10, .rs1 = 11, .rs2 = 12}},
    {"srl", 0x00c5d533, {.op = Op::kSrl, .rd = 10, .rs1 = 11, .rs2 = 12}},
    {"sra", 0x40c5d533, {.op = Op::kSra, .rd = 10, .rs1 = 11, .rs2 = 12}},
    {"or", 0x00c5e533, {.op = Op::kOr, .rd = 10, .rs1 = 11, .rs2 = 12}},
    {"and", 0x00c5f533, {.op = Op::kAnd, .rd = 10, .rs1 = 11, .rs2 = 12}},
    {"mul", 0x02c58533, {.op = Op::kMul, .rd = 10, .rs1 = 11, .rs2 = 12}},
    {"mulh", 0x02c59533, {.op = Op::kMulh, .rd = 10, .rs1 = 11, .rs2 = 12}},
    {"mulhsu", 0x02c5a533, {.op = Op::kMulhsu, .rd = 10, .rs1 = 11, .rs2 = 12}},
    {"mulhu", 0x02c5b533, {.op = Op::kMulhu, .rd = 10, .rs1 = 11, .rs2 = 12}},
    {"div", 0x02c5c533, {.op = Op::kDiv, .rd = 10, .rs1 = 11, .rs2 = 12}},
    {"divu", 0x02c5d533, {.op = Op::kDivu, .rd = 10, .rs1 = 11, .rs2 = 12}},
    {"rem", 0x02c5e533, {.op = Op::kRem, .rd = 10, .rs1 = 11, .rs2 = 12}},
    {"remu", 0x02c5f533, {.op = Op::kRemu, .rd = 10, .rs1 = 11, .rs2 = 12}},
    {"fence", 0x0ff0000f, {.op = Op::kFence}},
    {"fence_i", 0x0000100f, {.op = Op::kFenceI}},
    {"ecall", 0x00000073, {.op = Op::kEcall}},
    {"ebreak", 0x00100073, {.op = Op::kEbreak}},
    {"mret", 0x30200073, {.op = Op::kMret}},
    {"wfi", 0x10500073, {.op = Op::kWfi}},
    {"csrrw",
     0x30559573,
     {.op = Op::kCsrrw, .rd = 10, .rs1 = 11, .imm = 0x305}},
    {"csrrs",
     0xc025a573,
     {.op = Op::kCsrrs, .rd = 10, .rs1 = 11, .imm = 0xc02}},
    {"csrrc",
     0x3045b573,
     {.op = Op::kCsrrc, .rd = 10, .rs1 = 11, .imm = 0x304}},
    {"csrrwi",
     0x300fd573,
     {.op = Op::kCsrrwi, .rd = 10, .rs1 = 31, .imm = 0x300}},
    {"csrrsi",
     0x30046573,
     {.op = Op::kCsrrsi, .rd = 10, .rs1 = 8, .imm = 0x300}},
    {"csrrci",
     0x30047573,
     {.op = Op::kCsrrci, .rd = 10, .rs1 = 8, .imm = 0x300}},
    {"flw", 0x0045a507, {.op = Op::kFlw, .rd = 10, .rs1 = 11, .imm = 4}},
    {"fsw", 0x00a5a227, {.op = Op::kFsw, .rs1 = 11, .rs2 = 10, .imm = 4}},
    {"fmadd_s",
     0x68c5f543,
     {.op = Op::kFmaddS, .rd = 10, .rs1 = 11, .rs2 = 12, .rs3 = 13, .rm = 7}},
    {"fmsub_s",
     0x68c58547,
     {.op = Op::kFmsubS, .rd = 10, .rs1 = 11, .rs2 = 12, .rs3 = 13}},
    {"fnmsub_s",
     0x68c5854b,
     {.op = Op::kFnmsubS, .rd = 10, .rs1 = 11, .rs2 = 12, .rs3 = 13}},
    {"fnmadd_s",
     0x68c5854f,
     {.op = Op::kFnmaddS, .rd = 10, .rs1 = 11, .rs2 = 12, .rs3 = 13}},
    {"fadd_s",
     0x00c5c553,
     {.op = Op::kFaddS, .rd = 10, .rs1 = 11, .rs2 = 12, .rm = 4}},
    {"fsub_s",
     0x08c5f553,
     {.op = Op::kFsubS, .rd = 10, .rs1 = 11, .rs2 = 12, .rm = 7}},
    {"fmul_s",
     0x10c5f553,
     {.op = Op::kFmulS, .rd = 10, .rs1 = 11, .rs2 = 12, .rm = 7}},
    {"fdiv_s",
     0x18c5f553,
     {.op = Op::kFdivS, .rd = 10, .rs1 = 11, .rs2 = 12, .rm = 7}},
    {"fsqrt_s", 0x5805f553, {.op = Op::kFsqrtS, .rd = 10, .rs1 = 11, .rm = 7}},
    {"fsgnj_s",
     0x20c58553,
     {.op = Op::kFsgnjS, .rd = 10, .rs1 = 11, .rs2 = 12}},
    {"fsgnjn_s",
     0x20c59553,
     {.op = Op::kFsgnjnS, .rd = 10, .rs1 = 11, .rs2 = 12}},
    {"fsgnjx_s",
     0x20c5a553,
     {.op = Op::kFsgnjxS, .rd = 10, .rs1 = 11, .rs2 = 12}},
    {"fmin_s", 0x28c58553, {.op = Op::kFminS, .rd = 10, .rs1 = 11, .rs2 = 12}},
    {"fmax_s", 0x28c59553, {.op = Op::kFmaxS, .rd = 10, .rs1 = 11, .rs2 = 12}},
    {"fcvt_w_s", 0xc0059553, {.op = Op::kFcvtWS, .rd = 10, .rs1 = 11, .rm = 1}},
    {"fcvt_wu_s",
     0xc0159553,
     {.op = Op::kFcvtWuS, .rd = 10, .rs1 = 11, .rm = 1}},
    {"fmv_x_w", 0xe0058553, {.op = Op::kFmvXW, .rd = 10, .rs1 = 11}},
    {"fclass_s", 0xe0059553, {.op = Op::kFclassS, .rd = 10, .rs1 = 11}},
    {"feq_s", 0xa0c5a553, {.op = Op::kFeqS, .rd = 10, .rs1 = 11, .rs2 = 12}},
    {"flt_s", 0xa0c59553, {.op = Op::kFltS, .rd = 10, .rs1 = 11, .rs2 = 12}},
    {"fle_s", 0xa0c58553, {.op = Op::kFleS, .rd = 10, .rs1 = 11, .rs2 = 12}},
    {"fcvt_s_w", 0xd005f553, {.op = Op::kFcvtSW, .rd = 10, .rs1 = 11, .rm = 7}},
    {"fcvt_s_wu",
     0xd015f553,
     {.op = Op::kFcvtSWu, .rd = 10, .rs1 = 11, .rm = 7}},
    {"fmv_w_x", 0xf0058553, {.op = Op::kFmvWX, .rd = 10, .rs1 = 11}},
};

class DecodeTest : public ::testing::TestWithParam<DecodeCase> {};

TEST_P(DecodeTest, GivesOperationAndOperands) {
  const std::optional<Instruction> decoded = Decode(GetParam().bits, kAll);
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->op, GetParam().expected.op);
  EXPECT_EQ(decoded->rd, GetParam().expected.rd);
  EXPECT_EQ(decoded->rs1, GetParam().expected.rs1);
  EXPECT_EQ(decoded->rs2, GetParam().expected.rs2);
  EXPECT_EQ(decoded->imm, GetParam().expected.imm);
  EXPECT_TRUE(*decoded == GetParam().expected);
}
INSTANTIATE_TEST_SUITE_P(All, DecodeTest, ::testing::ValuesIn(kDecodeCases),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

TEST(DecodeTest, EachOperationHasACase) {
  std::array<bool, kNumOps> seen = {};
  for (const DecodeCase& each : kDecodeCases) {
    seen[static_cast<size_t>(each.expected.op)] = true;
  }
  for (int i = 0; i < kNumOps; ++i) EXPECT_TRUE(seen[static_cast<size_t>(i)]);
}

TEST(DecodeTest, WhatACoreLacksIsIllegal) {
  EXPECT_TRUE(Decode(0x02c58533, {.m = true}).has_value());  // mul
  EXPECT_FALSE(Decode(0x02c58533, {.f = true, .c = true}).has_value());
  EXPECT_TRUE(Decode(0x00c5f553, {.f = true}).has_value());  // fadd.s
  EXPECT_FALSE(Decode(0x00c5f553, {.m = true, .c = true}).has_value());
  EXPECT_TRUE(Decode(0x0001, {.c = true}).has_value());  // c.nop
  EXPECT_FALSE(Decode(0x0001, {.m = true, .f = true}).has_value());
  EXPECT_TRUE(Decode(0x6188, {.f = true, .c = true}).has_value());  // c.flw
  EXPECT_FALSE(Decode(0x6188, {.c = true}).has_value());
}

struct ReservedCase {
  const char* name;
  uint32_t bits;
};

const ReservedCase kReserved[] = {
    {"zero", 0x00000000},          {"ones", 0xffffffff},
    {"slli_64", 0x02059513},       {"srai_bit", 0x6005d513},
    {"add_funct7", 0x04c58533},    {"sub_funct3", 0x40c59533},
    {"load_funct3", 0x0045b503},   {"store_funct3", 0x00a5b223},
    {"branch_funct3", 0x00b52463}, {"jalr_funct3", 0x00009067},
    {"fence_funct3", 0x0000200f},  {"sret", 0x10200073},
    {"ecall_rd", 0x000000f3},      {"system_funct3", 0x00004073},
    {"atomic", 0x0005252f},        {"fld", 0x0045b507},
    {"fadd_d", 0x02c5f553},        {"fadd_rm5", 0x00c5d553},
    {"fadd_rm6", 0x00c5e553},      {"fmadd_rm5", 0x68c5d543},
    {"fmadd_d", 0x6ac5f543},       {"fsqrt_rs2", 0x5815f553},
    {"fcvt_l_s", 0xc0259553},      {"fmv_rm", 0xf0059553},
    {"fmv_x_rs2", 0xe0158553},     {"fsgnj_rm3", 0x20c5b553},
    {"fmin_rm2", 0x28c5a553},      {"feq_rm3", 0xa0c5b553},
};

TEST(DecodeTest, ReservedEncodingsAreIllegal) {
  for (const ReservedCase& each : kReserved) {
    EXPECT_FALSE(Decode(each.bits, kAll).has_value()) << each.name;
  }
}

struct ExpandCase {
  const char* name;
  uint16_t half;
  uint32_t expected;
};

// Halves as GNU as encodes them.
const ExpandCase kExpandCases[] = {
    {"c.addi4spn", 0x1fe8, Addi(10, 2, 1020)},
    {"c.addi4spn 4", 0x0048, Addi(10, 2, 4)},
    {"c.lw", 0x41c8, Lw(10, 4, 11)},
    {"c.lw 124", 0x5de8, Lw(10, 124, 11)},
    {"c.sw", 0xc1c8, Sw(10, 4, 11)},
    {"c.flw", 0x61c8, Flw(10, 4, 11)},
    {"c.fsw", 0xe1c8, Fsw(10, 4, 11)},
    {"c.nop", 0x0001, kNop},
    {"c.addi -32", 0x1501, Addi(10, 10, -32)},
    {"c.addi 31", 0x057d, Addi(10, 10, 31)},
    {"c.jal", 0x2001, Jal(1, 0)},
    {"c.jal -2048", 0x3001, Jal(1, -2048)},
    {"c.li", 0x557d, Addi(10, 0, -1)},
    {"c.addi16sp 496", 0x617d, Addi(2, 2, 496)},
    {"c.addi16sp -512", 0x7101, Addi(2, 2, -512)},
    {"c.lui", 0x757d, Lui(10, 0xfffff)},
    {"c.lui 31", 0x657d, Lui(10, 31)},
    {"c.srli", 0x817d, EncodeI(31, 10, 5, 10, 0x13)},
    {"c.srai", 0x857d, EncodeI(0x41f, 10, 5, 10, 0x13)},
    {"c.andi", 0x997d, Andi(10, 10, -1)},
    {"c.sub", 0x8d0d, Sub(10, 10, 11)},
    {"c.xor", 0x8d2d, EncodeR(0, 11, 10, 4, 10, 0x33)},
    {"c.or", 0x8d4d, EncodeR(0, 11, 10, 6, 10, 0x33)},
    {"c.and", 0x8d6d, EncodeR(0, 11, 10, 7, 10, 0x33)},
    {"c.j 2046", 0xaffd, Jal(0, 2046)},
    {"c.beqz -256", 0xd101, Beq(10, 0, -256)},
    {"c.bnez 254", 0xed7d, Bne(10, 0, 254)},
    {"c.slli", 0x057e, Slli(10, 10, 31)},
    {"c.lwsp", 0x4512, Lw(10, 4, 2)},
    {"c.lwsp 252", 0x557e, Lw(10, 252, 2)},
    {"c.flwsp", 0x6512, Flw(10, 4, 2)},
    {"c.jr", 0x8502, Jalr(0, 10, 0)},
    {"c.mv", 0x852e, Add(10, 0, 11)},
    {"c.ebreak", 0x9002, kEbreak},
    {"c.jalr", 0x9502, Jalr(1, 10, 0)},
    {"c.add", 0x952e, Add(10, 10, 11)},
    {"c.swsp", 0xc22a, Sw(10, 4, 2)},
    {"c.fswsp", 0xe22a, Fsw(10, 4, 2)},
};

TEST(ExpandTest, GivesTheWordOfTheSameMeaning) {
  for (const ExpandCase& each : kExpandCases) {
    const std::optional<uint32_t> word = Expand(each.half);
    ASSERT_TRUE(word.has_value()) << each.name;
    EXPECT_EQ(*word, each.expected) << each.name << std::hex << " " << *word;
  }
}

const ReservedCase kReservedHalves[] = {
    {"all zeros", 0x0000},
    {"c.addi4spn 0", 0x0008},
    {"c.fld", 0x21c8},
    {"c.fsd", 0xa1c8},
    {"quadrant 0 funct3 4", 0x8000},
    {"c.addi16sp 0", 0x6101},
    {"c.lui 0", 0x6501},
    {"c.srli 32", 0x9101},
    {"c.srai 32", 0x9501},
    {"c.subw", 0x9d0d},
    {"c.addw", 0x9d2d},
    {"c.slli 32", 0x1502},
    {"c.lwsp x0", 0x4012},
    {"c.fldsp", 0x2512},
    {"c.fsdsp", 0xa22a},
    {"c.jr x0", 0x8002},
};

TEST(ExpandTest, ReservedHalvesHaveNoMeaning) {
  for (const ReservedCase& each : kReservedHalves) {
    EXPECT_FALSE(Expand(static_cast<uint16_t>(each.bits)).has_value())
        << each.name;
  }
}

TEST(UseOfTest, KnowsReadAndWrittenRegisters) {
  const RegisterUse add = UseOf(*Decode(Add(10, 11, 12), kAll));
  EXPECT_EQ(add.x_read, 1u << 11 | 1u << 12);
  EXPECT_EQ(add.x_written, 1u << 10);
  // x0 counts as neither.
  const RegisterUse nop = UseOf(*Decode(kNop, kAll));
  EXPECT_EQ(nop.x_read | nop.x_written, 0u);
  const RegisterUse fsw = UseOf(*Decode(Fsw(0, 4, 11), kAll));
  EXPECT_EQ(fsw.x_read, 1u << 11);
  EXPECT_EQ(fsw.f_read, 1u);
}

}  // namespace
}  // namespace edgekiln::simfarm::rv32
