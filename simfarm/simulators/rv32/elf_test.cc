#include "simfarm/simulators/rv32/elf.h"

#include <elf.h>

#include <cstring>
#include <string>

#include "gtest/gtest.h"
#include "simfarm/simulators/rv32/symbols.h"
#include "simfarm/simulators/rv32/testing/test_machine.h"

namespace edgekiln::simfarm::rv32 {
namespace {

using rv32::testing::BuildElf;
using rv32::testing::TestMachine;

std::string Good() {
  return BuildElf(0x1000, std::string(64, 'x'),
                  {{"late", 0x1020, 32}, {"early", 0x1000, 16}});
}

TEST(ElfTest, GivesSegmentsAndFunctions) {
  const auto executable = ReadElf(Good());
  ASSERT_TRUE(executable.ok()) << executable.status();
  EXPECT_EQ(executable->entry, 0x1000u);
  ASSERT_EQ(executable->segments.size(), 1u);
  EXPECT_EQ(executable->segments[0].address, 0x1000u);
  EXPECT_EQ(executable->segments[0].bytes, std::string(64, 'x'));
  EXPECT_EQ(executable->segments[0].size_bytes, 64);
  ASSERT_EQ(executable->functions.size(), 2u);
  EXPECT_EQ(executable->functions[0].name, "early");
  EXPECT_EQ(executable->functions[1].size_bytes, 32u);
}

// The file with one field replaced.
template <typename Field>
std::string Set(size_t offset, Field value) {
  std::string file = Good();
  std::memcpy(file.data() + offset, &value, sizeof(value));
  return file;
}

constexpr size_t kSegment = sizeof(Elf32_Ehdr);

struct Case {
  const char* name;
  std::string file;
  const char* message;
};

TEST(ElfTest, WhatIsWrongIsNamed) {
  const Elf32_Ehdr header = [] {
    Elf32_Ehdr result;
    std::memcpy(&result, Good().data(), sizeof(result));
    return result;
  }();
  const size_t symbols = header.e_shoff + 2 * sizeof(Elf32_Shdr);
  const Case kCases[] = {
      {"empty", "", "ELF header"},
      {"short", Good().substr(0, 51), "ELF header"},
      {"magic", Set<uint8_t>(0, 0), "not an ELF file"},
      {"64 bits", Set<uint8_t>(EI_CLASS, ELFCLASS64), "32-bit"},
      {"big-endian", Set<uint8_t>(EI_DATA, ELFDATA2MSB), "little-endian"},
      {"ARM", Set<uint16_t>(offsetof(Elf32_Ehdr, e_machine), 40), "RISC-V"},
      {"object", Set<uint16_t>(offsetof(Elf32_Ehdr, e_type), ET_REL),
       "link it first"},
      {"far headers", Set<uint32_t>(offsetof(Elf32_Ehdr, e_phoff), ~0u),
       "program headers"},
      {"many headers", Set<uint16_t>(offsetof(Elf32_Ehdr, e_phnum), 65535),
       "65535 program headers"},
      {"small headers", Set<uint16_t>(offsetof(Elf32_Ehdr, e_phentsize), 8),
       "entries of 8 bytes"},
      {"nothing", Set<uint16_t>(offsetof(Elf32_Ehdr, e_phnum), 0),
       "nothing to load"},
      {"segment in file",
       Set<uint32_t>(kSegment + offsetof(Elf32_Phdr, p_offset), 0xfffffff0),
       "segment 0"},
      {"segment larger in file",
       Set<uint32_t>(kSegment + offsetof(Elf32_Phdr, p_memsz), 63),
       "larger in the file than in memory"},
      {"segment around the end",
       Set<uint32_t>(kSegment + offsetof(Elf32_Phdr, p_paddr), 0xffffffe0),
       "leaves the address space"},
      {"far sections", Set<uint32_t>(offsetof(Elf32_Ehdr, e_shoff), ~0u),
       "section headers"},
      {"symbols outside",
       Set<uint32_t>(symbols + offsetof(Elf32_Shdr, sh_offset), ~0u),
       "section 2"},
      {"symbols without size",
       Set<uint32_t>(symbols + offsetof(Elf32_Shdr, sh_entsize), 0),
       "symbols are too small"},
      {"names nowhere",
       Set<uint32_t>(symbols + offsetof(Elf32_Shdr, sh_link), 77),
       "no such section"},
  };
  for (const Case& each : kCases) {
    const auto executable = ReadElf(each.file);
    ASSERT_FALSE(executable.ok()) << each.name;
    EXPECT_EQ(executable.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(executable.status().message().find(each.message),
              std::string::npos)
        << each.name << ": " << executable.status();
  }
}

// .data and .bss behind it, in one segment: flash holds .data alone.
TEST(ElfTest, WhatIsCopiedTakesItsBytesInTheFile) {
  std::string file =
      Set<uint32_t>(kSegment + offsetof(Elf32_Phdr, p_vaddr), 0x20000000);
  const uint32_t in_memory = 0x10000;
  std::memcpy(file.data() + kSegment + offsetof(Elf32_Phdr, p_memsz),
              &in_memory, 4);
  const auto executable = ReadElf(file);
  ASSERT_TRUE(executable.ok()) << executable.status();
  ASSERT_EQ(executable->segments.size(), 1u);
  EXPECT_EQ(executable->segments[0].address, 0x1000u);
  EXPECT_EQ(executable->segments[0].size_bytes, 64);
}

// Few bytes do not become many: each segment has the whole file.
TEST(ElfTest, SegmentsDoNotShareTheFile) {
  constexpr int kCount = 64;
  std::string file = Good();
  const auto headers = static_cast<uint32_t>(file.size());
  Elf32_Phdr segment{};
  segment.p_type = PT_LOAD;
  segment.p_filesz = segment.p_memsz = headers;
  for (int i = 0; i < kCount; ++i) {
    file.append(reinterpret_cast<const char*>(&segment), sizeof(segment));
  }
  const uint16_t count = kCount;
  std::memcpy(file.data() + offsetof(Elf32_Ehdr, e_phoff), &headers, 4);
  std::memcpy(file.data() + offsetof(Elf32_Ehdr, e_phnum), &count, 2);
  const auto executable = ReadElf(file);
  EXPECT_NE(executable.status().message().find("segments share bytes"),
            std::string::npos)
      << executable.status();
}

// 4 GB in memory are only a number: nothing is allocated for them.
TEST(ElfTest, SizesInMemoryAllocateNothing) {
  const auto executable = ReadElf(
      Set<uint32_t>(kSegment + offsetof(Elf32_Phdr, p_memsz), 0xffff0000 - 1));
  ASSERT_TRUE(executable.ok()) << executable.status();
  TestMachine machine({.isa = {}});
  const absl::Status loaded = machine->Load(*executable);
  EXPECT_EQ(loaded.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(loaded.message().find("lie in no memory"), std::string::npos);
}

TEST(ElfTest, TheEntryMustBeCode) {
  TestMachine machine({.isa = {}});
  for (const uint32_t entry : {0u, 0x1002u, rv32::testing::kRam}) {
    const auto executable =
        ReadElf(Set<uint32_t>(offsetof(Elf32_Ehdr, e_entry), entry));
    ASSERT_TRUE(executable.ok());
    EXPECT_NE(machine->Load(*executable).message().find("the entry"),
              std::string::npos);
  }
}

TEST(SymbolTableTest, FindsWhatCoversAnAddress) {
  const SymbolTable table({{"open", 0x100, 0},
                           {"sized", 0x200, 0x10},
                           {"alias", 0x300, 0},
                           {"real", 0x300, 4}});
  const auto name = [&](uint32_t address) {
    const Function* function = table.Find(address);
    return function == nullptr ? "" : function->name;
  };
  EXPECT_EQ(name(0xff), "");
  EXPECT_EQ(name(0x1fe), "open");
  EXPECT_EQ(name(0x20f), "sized");
  EXPECT_EQ(name(0x210), "");
  EXPECT_EQ(name(0x300), "real");
  EXPECT_EQ(name(0x304), "");
}

}  // namespace
}  // namespace edgekiln::simfarm::rv32
