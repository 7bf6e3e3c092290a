// Disassembly: by hand, and as binutils has it.

#include "simfarm/simulators/rv32/disassemble.h"

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "simfarm/simulators/rv32/testing/assembler.h"
#include "tests/support/skip.h"

namespace edgekiln::simfarm::rv32 {
namespace {

using namespace rv32::testing;  // NOLINT: encoders, by the manual's names.

constexpr Isa kAll = {.m = true, .f = true, .c = true};
constexpr uint32_t kPc = 0x20000000;

std::string TextOf(uint32_t bits) {
  const auto instruction = Decode(bits, kAll);
  return instruction.has_value() ? Disassemble(*instruction, kPc) : "illegal";
}

struct Case {
  uint32_t bits;
  const char* text;
};

const Case kCases[] = {
    {Addi(10, 11, -3), "addi a0,a1,-3"},
    {kNop, "nop"},
    {Addi(10, 0, 5), "li a0,5"},
    {Lui(10, 0x12345), "lui a0,0x12345"},
    {Lw(10, 8, 2), "lw a0,8(sp)"},
    {Sw(10, -4, 8), "sw a0,-4(s0)"},
    {Bne(10, 11, -8), "bne a0,a1,0x1ffffff8"},
    {Beq(10, 0, 16), "beqz a0,0x20000010"},
    {Jal(0, 2048), "j 0x20000800"},
    {Jal(1, 2048), "jal 0x20000800"},
    {kRet, "ret"},
    {Jalr(1, 10, 4), "jalr 4(a0)"},
    {MulDiv(1, 10, 11, 12), "mulh a0,a1,a2"},
    {Csrr(10, kMcycle), "csrr a0,mcycle"},
    {Csrw(kMtvec, 10), "csrw mtvec,a0"},
    {Flw(10, 4, 11), "flw fa0,4(a1)"},
    {FmvWX(10, 11), "fmv.w.x fa0,a1"},
    {0xc0051553, "fcvt.w.s a0,fa0,rtz"},
    {0x4501, "li a0,0"},       // c.li
    {0x953e, "add a0,a0,a5"},  // c.add
    {0x4108, "lw a0,0(a0)"},   // c.lw
    {0x0785, "addi a5,a5,1"},  // c.addi
    {kFenceI, "fence.i"},
    {kEcall, "ecall"},
};

TEST(DisassembleTest, Reads) {
  for (const Case& each : kCases) {
    EXPECT_EQ(TextOf(each.bits), each.text) << std::hex << each.bits;
  }
}

// What the two write in another way: numbers, names of symbols, and registers
// that are implied.
std::string Normal(std::string text) {
  for (char& c : text) c = c == '\t' ? ' ' : c;
  text = text.substr(0, text.find_first_of("#<"));
  absl::StripAsciiWhitespace(&text);
  std::vector<std::string> operands =
      absl::StrSplit(text, absl::ByAnyChar(" ,"), absl::SkipEmpty());
  if (operands.empty()) return "";
  int64_t number = 0;
  const bool immediate =
      operands.size() == 4 && (absl::SimpleAtoi(operands[3], &number) ||
                               absl::SimpleHexAtoi(operands[3], &number));
  std::string& name = operands[0];
  // Older binutils write `add` for `addi`.
  if (immediate && name.find('i') == std::string::npos) {
    name = name == "sltu" ? "sltiu" : name + "i";
  }
  if (name.size() == 5 && absl::StartsWith(name, "csr")) name.resize(4);
  for (size_t i = 1; i < operands.size(); ++i) {
    if (absl::StartsWith(operands[i], "0x") &&
        absl::SimpleHexAtoi(operands[i], &number)) {
      operands[i] = absl::StrCat(number);
    }
  }
  return absl::StrJoin(operands, " ");
}

std::vector<std::string> Objdump(const std::string& code) {
  const std::string base =
      absl::StrCat(::testing::TempDir(), "/ek_disassemble_", getpid());
  std::ofstream(base + ".bin", std::ios::binary) << code;
  const std::string command =
      absl::StrCat("riscv64-unknown-elf-objdump -D -z -b binary -m riscv:rv32 ",
                   "--no-show-raw-insn ", base, ".bin > ", base, ".txt");
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  std::ifstream file(base + ".txt");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    const size_t tab = line.find(":\t");
    if (tab != std::string::npos) lines.push_back(line.substr(tab + 2));
  }
  std::remove((base + ".bin").c_str());
  std::remove((base + ".txt").c_str());
  return lines;
}

// What the two name in another way: fences, whose operands the core ignores,
// and CSRs that it lacks or that have instructions of their own.
bool IsCompared(const Instruction& instruction) {
  switch (TraitsOf(instruction.op).format) {
    case Format::kNone:
      return instruction.op != Op::kFence && instruction.op != Op::kFenceI;
    case Format::kCsr:
    case Format::kCsrImm:
      return instruction.imm >= 0x300 &&
             !absl::StrContains(Disassemble(instruction, 0), "0x");
    default:
      return true;
  }
}

// Hints are instructions that do nothing; binutils names some of them after
// what later extensions make of them.
bool IsHint(const Instruction& instruction) {
  const RegisterUse use = UseOf(instruction);
  const Format format = TraitsOf(instruction.op).format;
  const bool computes = format == Format::kUpper || format == Format::kImm ||
                        format == Format::kReg;
  const bool changes = instruction.op == Op::kLui || instruction.imm != 0 ||
                       format == Format::kReg ||
                       instruction.rd != instruction.rs1;
  return computes &&
         (use.x_written == 0 || (instruction.length_bytes == 2 && !changes));
}

void ExpectAsBinutils(const std::vector<uint32_t>& words) {
  std::string code;
  std::vector<Instruction> instructions;
  std::vector<uint32_t> addresses;
  for (const uint32_t bits : words) {
    const auto instruction = Decode(bits, kAll);
    if (!instruction.has_value() || IsHint(*instruction) ||
        !IsCompared(*instruction)) {
      continue;
    }
    instructions.push_back(*instruction);
    addresses.push_back(static_cast<uint32_t>(code.size()));
    for (int i = 0; i < instruction->length_bytes; ++i) {
      code += static_cast<char>(bits >> (8 * i));
    }
  }
  const std::vector<std::string> theirs = Objdump(code);
  ASSERT_EQ(theirs.size(), instructions.size());
  int differences = 0;
  for (size_t i = 0; i < instructions.size() && differences < 20; ++i) {
    const std::string ours = Disassemble(instructions[i], addresses[i]);
    if (Normal(ours) == Normal(theirs[i])) continue;
    ++differences;
    ADD_FAILURE() << ours << " is to be " << theirs[i];
  }
}

bool HasObjdump() {
  return std::system("command -v riscv64-unknown-elf-objdump >/dev/null") == 0;
}
constexpr char kNoObjdump[] =
    "no riscv64-unknown-elf-objdump; tools/install_packages firmware";

TEST(DisassembleTest, EveryHalfwordIsAsBinutilsHasIt) {
  if (!HasObjdump()) EK_SKIP(kNoObjdump);
  std::vector<uint32_t> words;
  for (uint32_t half = 0; half < 0x10000; ++half) {
    if ((half & 3) != 3) words.push_back(half);
  }
  ExpectAsBinutils(words);
}

TEST(DisassembleTest, RandomWordsAreAsBinutilsHasThem) {
  if (!HasObjdump()) EK_SKIP(kNoObjdump);
  std::mt19937 random(1);
  std::vector<uint32_t> words;
  for (int i = 0; i < 200'000; ++i) {
    words.push_back(static_cast<uint32_t>(random()) | 3);
  }
  // CSRs are too rare among random words.
  for (const uint32_t csr : {kMstatus, kMtvec, kMcycle, kMinstret}) {
    for (uint32_t funct3 = 0; funct3 < 8; ++funct3) {
      for (const uint32_t rd : {0, 10}) {
        for (const uint32_t rs1 : {0, 11}) {
          words.push_back(
              EncodeI(static_cast<int32_t>(csr), rs1, funct3, rd, 0x73));
        }
      }
    }
  }
  ExpectAsBinutils(words);
}

}  // namespace
}  // namespace edgekiln::simfarm::rv32
