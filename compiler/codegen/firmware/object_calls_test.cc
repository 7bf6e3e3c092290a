#include "compiler/codegen/firmware/object_calls.h"

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "compiler/codegen/firmware/stack_bound.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

template <typename T>
std::string Bytes(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Where code or data begins, as compilers for Arm mark it.
struct Mark {
  std::string name;
  uint32_t at = 0;
};
struct Function {
  std::string name;
  bool is_local = false;
  std::string code = std::string(8, '\0');
  std::vector<Mark> marks = {};
};
// A reference at byte 4 of the code of one function, or of .data.
struct Reference {
  int from = 0;  // A function; -1: data.
  std::string to;
  uint32_t type = R_RISCV_CALL_PLT;
};

// Sections: none, symbols, their names, .data and its relocations, then code
// and relocations of each function. What is no function is undefined.
std::string ObjectFile(const std::vector<Function>& functions,
                       const std::vector<Reference>& references,
                       uint16_t machine = EM_RISCV) {
  constexpr uint32_t kData = 3, kCode = 5;
  std::string names("\0", 1);
  std::vector<std::string> symbol_names = {""};
  std::string symbols = Bytes(Elf32_Sym{});
  const auto add = [&](const std::string& name, uint32_t section, int type,
                       bool is_local, uint32_t at = 0) {
    Elf32_Sym symbol = {};
    symbol.st_name = static_cast<uint32_t>(names.size());
    symbol.st_shndx = static_cast<uint16_t>(section);
    symbol.st_info = static_cast<uint8_t>(
        ELF32_ST_INFO(is_local ? STB_LOCAL : STB_GLOBAL, type));
    // Thumb code begins at an odd address.
    symbol.st_value = machine == EM_ARM && type == STT_FUNC ? 1 : at;
    names += name + '\0';
    symbols += Bytes(symbol);
    symbol_names.push_back(name);
  };
  for (size_t i = 0; i < functions.size(); ++i) {
    add(functions[i].name, kCode + 2 * static_cast<uint32_t>(i), STT_FUNC,
        functions[i].is_local);
    for (const Mark& mark : functions[i].marks) {
      add(mark.name, kCode + 2 * static_cast<uint32_t>(i), STT_NOTYPE, true,
          mark.at);
    }
  }
  std::vector<std::string> relocations(functions.size() + 1);
  for (const Reference& reference : references) {
    size_t index = 0;
    while (index < symbol_names.size() && symbol_names[index] != reference.to) {
      ++index;
    }
    if (index == symbol_names.size()) {
      add(reference.to, SHN_UNDEF, STT_NOTYPE, false);
    }
    Elf32_Rel entry = {};
    entry.r_offset = 4;
    entry.r_info = ELF32_R_INFO(static_cast<uint32_t>(index), reference.type);
    relocations[static_cast<size_t>(reference.from + 1)] += Bytes(entry);
  }
  std::vector<Elf32_Shdr> sections(1);
  std::string contents;
  const auto section = [&](uint32_t type, const std::string& bytes,
                           uint32_t flags, uint32_t link, uint32_t info) {
    Elf32_Shdr header = {};
    header.sh_type = type;
    header.sh_flags = flags;
    header.sh_offset =
        static_cast<uint32_t>(sizeof(Elf32_Ehdr) + contents.size());
    header.sh_size = static_cast<uint32_t>(bytes.size());
    header.sh_link = link;
    header.sh_info = info;
    sections.push_back(header);
    contents += bytes;
  };
  section(SHT_SYMTAB, symbols, 0, 2, 0);
  section(SHT_STRTAB, names, 0, 0, 0);
  section(SHT_PROGBITS, std::string(8, '\0'), SHF_ALLOC | SHF_WRITE, 0, 0);
  section(SHT_REL, relocations[0], 0, 1, kData);
  for (size_t i = 0; i < functions.size(); ++i) {
    section(SHT_PROGBITS, functions[i].code, SHF_ALLOC | SHF_EXECINSTR, 0, 0);
    section(SHT_REL, relocations[i + 1], 0, 1,
            kCode + 2 * static_cast<uint32_t>(i));
  }
  Elf32_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS32;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_REL;
  header.e_machine = machine;
  header.e_shentsize = sizeof(Elf32_Shdr);
  header.e_shnum = static_cast<uint16_t>(sections.size());
  header.e_shoff = static_cast<uint32_t>(sizeof(header) + contents.size());
  std::string file = Bytes(header) + contents;
  for (const Elf32_Shdr& each : sections) file += Bytes(each);
  return file;
}

const std::string kAuipc = Bytes(uint32_t{0x00000097});  // auipc ra, 0
const std::string kJalr = Bytes(uint32_t{0x000080e7});   // jalr ra, 0(ra)
const std::string kBlx = Bytes(uint16_t{0x4788});        // blx r1

// tbb [pc, r0], a table whose first two bytes are those of blx r0, bx lr.
const std::string kTableBranch =
    std::string("\xdf\xe8\x00\xf0", 4) + "\x80\x47\x03\x04" + "\x70\x47";
// tbh [pc, r0, lsl #1], a table whose second entry is that of bx r1, bx lr.
const std::string kWideTableBranch = std::string("\xdf\xe8\x10\xf0", 4) +
                                     std::string("\x02\0\x08\x47", 4) +
                                     "\x70\x47";

constexpr char kFrames[] =
    "net.c:1:a\t16\tstatic\nnet.c:5:b\t32\tstatic\nnet.c:9:c\t64\tdynamic\n";

struct Case {
  std::string name;
  std::vector<Function> functions;
  std::vector<Reference> references;
  int64_t bytes;
  uint16_t machine = EM_RISCV;
};

class ObjectCallsTest : public testing::TestWithParam<Case> {};

TEST_P(ObjectCallsTest, StackIsBounded) {
  const Case& test = GetParam();
  const auto graph = ObjectCallGraph(
      ObjectFile(test.functions, test.references, test.machine), kFrames);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto bytes = BoundStack({*graph});
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(*bytes, test.bytes) << *graph;
}

INSTANTIATE_TEST_SUITE_P(
    All, ObjectCallsTest,
    testing::Values(
        Case{"NoCalls", {{"a"}, {"b"}}, {}, 32},
        Case{"ACall", {{"a"}, {"b"}}, {{0, "b"}}, 48},
        Case{"OfAStaticFunction", {{"b", true}, {"a"}}, {{1, "b"}}, 48},
        Case{"ByAJump", {{"a"}, {"b"}}, {{0, "b", R_RISCV_RVC_JUMP}}, 48},
        Case{"OfArm", {{"a"}, {"b"}}, {{0, "b", R_ARM_THM_PC22}}, 48, EM_ARM},
        Case{"Recursion", {{"a"}, {"b"}}, {{0, "b"}, {1, "a"}}, 0},
        Case{"OfItself", {{"a"}}, {{0, "a"}}, 0},
        Case{"OfAnother", {{"a"}}, {{0, "elsewhere"}}, 0},
        Case{"DynamicFrame", {{"a"}, {"c"}}, {{0, "c"}}, 0},
        Case{"NoFrame", {{"a"}, {"d"}}, {}, 0},
        Case{"AnAddressInCode", {{"a"}, {"b"}}, {{0, "b", R_RISCV_HI20}}, 32},
        Case{"AnAddressInData", {{"a"}, {"b"}}, {{-1, "b", R_RISCV_32}}, 32},
        Case{"ByPointer", {{"a", false, kJalr}, {"b"}}, {}, 0},
        // The jalr behind the auipc that the linker completes.
        Case{"ByAPair",
             {{"a", false, std::string(4, '\0') + kAuipc + kJalr}, {"b"}},
             {{0, "b"}},
             48},
        Case{"ByATable",
             {{"a",
               false,
               kTableBranch,
               {{"$t.0", 0}, {"$d.1", 4}, {"$t.2", 8}}},
              {"b"}},
             {},
             32,
             EM_ARM},
        Case{"ByAWideTable",
             {{"a", false, kWideTableBranch, {{"$t", 0}, {"$d", 4}, {"$t", 8}}},
              {"b"}},
             {},
             32,
             EM_ARM},
        Case{"BehindATable",
             {{"a",
               false,
               kTableBranch + kBlx,
               {{"$t", 0}, {"$d", 4}, {"$t", 8}}},
              {"b"}},
             {},
             0,
             EM_ARM},
        Case{"TableWithoutMarks",
             {{"a", false, kTableBranch}, {"b"}},
             {},
             0,
             EM_ARM},
        Case{"ByPointerOfArm", {{"a", false, kBlx}, {"b"}}, {}, 0, EM_ARM}),
    [](const auto& info) { return info.param.name; });

TEST(ObjectCallGraphTest, CallsOfOthersAreEdges) {
  const auto graph =
      ObjectCallGraph(ObjectFile({{"a"}}, {{0, "__mulsf3"}}), kFrames);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(*BoundStack({*graph},
                        {"node: { title: \"__mulsf3\" label: \"__mulsf3\\n40 "
                         "bytes (static)\" }\n"}),
            56);
}

TEST(ObjectCallGraphTest, CalleesOfPointersAreThoseThatSourcesTell) {
  const auto graph = ObjectCallGraph(
      ObjectFile({{"a", false, kJalr}, {"b"}, {"d"}}, {{-1, "b", R_RISCV_32}}),
      kFrames);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const std::string frame =
      "node: { title: \"d\" label: \"d\\n8 bytes (static)\" }\n";
  EXPECT_EQ(*BoundStack({*graph, frame}, {}, {{"a", "b"}}), 48);
  // Of another function, this says nothing.
  EXPECT_EQ(*BoundStack({*graph, frame}, {}, {{"b", "d"}}), 0);
}

TEST(ObjectCallGraphTest, WhateverElseIsRefused) {
  const std::string file = ObjectFile({{"a"}, {"b"}}, {{0, "b"}, {-1, "a"}});
  for (const char* frames :
       {"a\t16\tstatic\n", "n.c:1:a\t16\n", "n.c:1:\"a\t1\ts"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ObjectCallGraph(file, frames).status()))
        << frames;
  }
  EXPECT_TRUE(
      absl::IsInvalidArgument(ObjectCallGraph("\177ELF", kFrames).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      ObjectCallGraph(ObjectFile({{"a"}}, {}, EM_386), kFrames).status()));
  // Hostile sizes and offsets: nothing but an answer is asked for.
  for (size_t size = 0; size < file.size(); ++size) {
    EXPECT_FALSE(ObjectCallGraph(file.substr(0, size), kFrames).ok()) << size;
  }
  for (size_t at = 0; at < file.size(); ++at) {
    std::string damaged = file;
    damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
    ObjectCallGraph(damaged, kFrames).IgnoreError();
  }
}

}  // namespace
}  // namespace edgekiln::compiler
