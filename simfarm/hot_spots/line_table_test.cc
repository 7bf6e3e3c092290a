// Line tables: of a compiler, and damaged in every byte.

#include "simfarm/hot_spots/line_table.h"

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "simfarm/session/testing/test_firmware.h"
#include "simfarm/simulators/rv32/elf.h"
#include "tests/support/skip.h"

namespace edgekiln::simfarm {
namespace {

constexpr char kNetwork[] = R"(
#line 1 "./network.c"
int values[4];
void net_setup(void) {
  values[0] = 1;
}
int net_invoke(void) {
  values[1] += values[0];
#line 3 "/elsewhere/other.c"
  values[2] += 1;
#line 7 "./network.c"
  return 0;
}
)";

class LineTableTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!firmware::HasCompiler()) EK_SKIP(firmware::kNoCompiler);
    static const auto* const elf = new absl::StatusOr<std::string>(
        firmware::Build(kNetwork, /*debug_info=*/true));
    ASSERT_TRUE(elf->ok()) << elf->status();
    elf_ = **elf;
  }

  Elf32_Ehdr Header() const {
    Elf32_Ehdr header;
    std::memcpy(&header, elf_.data(), sizeof(header));
    return header;
  }

  // Where the header of the section lies.
  size_t SectionHeader(const std::string& name) const {
    const Elf32_Ehdr header = Header();
    const Elf32_Shdr names =
        SectionAt(header.e_shoff + header.e_shstrndx * sizeof(Elf32_Shdr));
    for (int i = 0; i < header.e_shnum; ++i) {
      const size_t at = header.e_shoff + i * sizeof(Elf32_Shdr);
      if (elf_.c_str() + names.sh_offset + SectionAt(at).sh_name == name) {
        return at;
      }
    }
    ADD_FAILURE() << "no section " << name;
    return 0;
  }

  Elf32_Shdr SectionAt(size_t at) const {
    Elf32_Shdr section;
    std::memcpy(&section, elf_.data() + at, sizeof(section));
    return section;
  }

  void SetSection(size_t at, const Elf32_Shdr& section) {
    std::memcpy(elf_.data() + at, &section, sizeof(section));
  }

  uint32_t AddressOf(const std::string& name) const {
    const auto executable = rv32::ReadElf(elf_);
    EXPECT_TRUE(executable.ok()) << executable.status();
    for (const rv32::Function& function : executable->functions) {
      if (function.name == name) return function.address;
    }
    ADD_FAILURE() << "no function " << name;
    return 0;
  }

  std::string elf_;
};

TEST_F(LineTableTest, TellsFileAndLine) {
  const auto table = LineTable::Read(elf_);
  ASSERT_TRUE(table.ok()) << table.status();
  const auto line = table->FindFunction(AddressOf("net_setup"));
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->file, "network.c");
  EXPECT_EQ(line->line, 2);
  EXPECT_EQ(table->Find(AddressOf("net_setup"))->line, 3);
  bool has_six = false;
  bool has_other = false;
  const uint32_t begin = AddressOf("net_invoke");
  for (uint32_t pc = begin; pc < begin + 40; pc += 4) {
    const auto found = table->Find(pc);
    // Files with an absolute path are none of the sources.
    if (!found.has_value()) has_other = true;
    has_six = has_six || (found.has_value() && found->line == 6);
  }
  EXPECT_TRUE(has_six);
  EXPECT_TRUE(has_other);
  EXPECT_FALSE(table->Find(0).has_value());
  EXPECT_FALSE(table->Find(~0u).has_value());
}

TEST_F(LineTableTest, AFileWithoutTablesHasNone) {
  const auto elf = firmware::Build(kNetwork);
  ASSERT_TRUE(elf.ok()) << elf.status();
  const auto table = LineTable::Read(*elf);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_TRUE(table->empty());
}

TEST_F(LineTableTest, WhatIsNoElfFileIsRefused) {
  for (const std::string& bytes : {std::string(),
                                   std::string("\x7f"
                                               "ELF"),
                                   std::string(1000, 'x')}) {
    EXPECT_EQ(LineTable::Read(bytes).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(LineTableTest, ATruncatedTableIsRefused) {
  const size_t at = SectionHeader(".debug_line");
  Elf32_Shdr section = SectionAt(at);
  section.sh_size -= 7;
  SetSection(at, section);
  const auto table = LineTable::Read(elf_);
  EXPECT_EQ(table.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(table.status().message(), ".debug_line"))
      << table.status();
}

TEST_F(LineTableTest, SectionsThatLeaveTheFileAreRefused) {
  for (const char* name : {".debug_line", ".debug_info", ".debug_line_str"}) {
    const std::string kept = elf_;
    const size_t at = SectionHeader(name);
    Elf32_Shdr section = SectionAt(at);
    section.sh_offset = static_cast<uint32_t>(elf_.size()) - 4;
    SetSection(at, section);
    const auto table = LineTable::Read(elf_);
    EXPECT_TRUE(!table.ok() || table->empty()) << name;
    elf_ = kept;
  }
}

TEST_F(LineTableTest, LargeAndCompressedSectionsAreRefusedUnread) {
  const std::string kept = elf_;
  const size_t at = SectionHeader(".debug_line");
  Elf32_Shdr section = SectionAt(at);
  section.sh_size = LineTable::kMaxLineBytes + 1;
  SetSection(at, section);
  EXPECT_TRUE(
      absl::StrContains(LineTable::Read(elf_).status().message(), "too large"));
  elf_ = kept;
  section = SectionAt(at);
  section.sh_flags |= SHF_COMPRESSED;
  SetSection(at, section);
  EXPECT_TRUE(absl::StrContains(LineTable::Read(elf_).status().message(),
                                "compressed"));
}

// Whatever a byte of the debug sections or of the headers says: a table, or an
// error, and no crash.
TEST_F(LineTableTest, DamagedBytesDoNoHarm) {
  std::mt19937 random(3);
  const size_t first = SectionAt(SectionHeader(".debug_info")).sh_offset;
  const std::string kept = elf_;
  int refused = 0;
  for (int i = 0; i < 4000; ++i) {
    elf_ = kept;
    const int changes = 1 + static_cast<int>(random() % 4);
    for (int k = 0; k < changes; ++k) {
      const size_t at = first + random() % (elf_.size() - first);
      elf_[at] = static_cast<char>(random() % 3 == 0 ? 0xff : random());
    }
    const auto table = LineTable::Read(elf_);
    if (!table.ok()) ++refused;
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace edgekiln::simfarm
