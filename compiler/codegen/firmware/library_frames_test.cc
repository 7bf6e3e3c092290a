#include "compiler/codegen/firmware/library_frames.h"

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

template <typename T>
std::string Bytes(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::string Entry(const std::string& body) {
  return Bytes(static_cast<uint32_t>(body.size())) + body;
}
// The stack pointer is register 2; a call leaves it as it is.
std::string Common() {
  return Entry(Bytes(uint32_t{0xffffffff}) +
               std::string("\x03\x00\x01\x7c\x01\x0c\x02\x00", 8));
}
std::string Function(const std::string& instructions) {
  return Entry(std::string(12, '\0') + instructions);
}
// Takes so many bytes, saves a register there, and gives them back.
std::string Frame(char bytes) {
  return Function(std::string("\x41\x0e") + bytes +
                  std::string("\x81\x01\x0a\x44\x0e\x00\x0b\x00", 8));
}

struct Source {
  std::string name;
  std::string frames;
  std::vector<std::string> callees{};
  bool is_function = true;
  std::string section = ".debug_frame";
};

// Sections: none, .text, .debug_frame, symbols, their names, sections' names.
std::string ObjectFile(const Source& source) {
  std::string names("\0", 1);
  const auto name_of = [&](const std::string& name) {
    const auto at = static_cast<uint32_t>(names.size());
    names += name + '\0';
    return at;
  };
  std::string symbols(sizeof(Elf32_Sym), '\0');
  Elf32_Sym symbol = {};
  symbol.st_name = name_of(source.name);
  symbol.st_shndx = 1;
  symbol.st_info = static_cast<uint8_t>(
      ELF32_ST_INFO(STB_GLOBAL, source.is_function ? STT_FUNC : STT_OBJECT));
  symbols += Bytes(symbol);
  for (const std::string& callee : source.callees) {
    symbol = {};
    symbol.st_name = name_of(callee);
    symbols += Bytes(symbol);
  }
  const std::string section_names =
      std::string(1, '\0') + source.section + '\0';
  Elf32_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS32;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_shoff = sizeof(header);
  header.e_shentsize = sizeof(Elf32_Shdr);
  header.e_shnum = 6;
  header.e_shstrndx = 5;
  std::string table(2 * sizeof(Elf32_Shdr), '\0');
  std::string contents;
  const auto add = [&](uint32_t name, uint32_t type, const std::string& bytes) {
    Elf32_Shdr section = {};
    section.sh_name = name;
    section.sh_type = type;
    section.sh_link = 4;
    section.sh_offset = static_cast<uint32_t>(
        sizeof(header) + 6 * sizeof(Elf32_Shdr) + contents.size());
    section.sh_size = static_cast<uint32_t>(bytes.size());
    table += Bytes(section);
    contents += bytes;
  };
  add(1, SHT_PROGBITS, source.frames);
  add(0, SHT_SYMTAB, symbols);
  add(0, SHT_STRTAB, names);
  add(0, SHT_STRTAB, section_names);
  std::string file = Bytes(header) + table + contents;
  if (file.size() % 2 != 0) file += '\n';
  return file;
}

std::string Member(const std::string& name, const std::string& bytes) {
  return absl::StrFormat("%-48s%-10d`\n", name, bytes.size()) + bytes;
}

std::string Archive(const std::vector<Source>& sources) {
  std::string names;
  for (const Source& source : sources) names += source.name + '\0';
  if (names.size() % 2 != 0) names += '\0';
  const auto big_endian = [](size_t value) {
    return Bytes(__builtin_bswap32(static_cast<uint32_t>(value)));
  };
  size_t offset = 8 + 60 + 4 + 4 * sources.size() + names.size();
  std::string index = big_endian(sources.size());
  std::string members;
  for (const Source& source : sources) {
    index += big_endian(offset + members.size());
    members += Member("a.o/", ObjectFile(source));
  }
  return "!<arch>\n" + Member("/", index + names) + members;
}

std::string Node(const std::string& name, int bytes) {
  return absl::StrCat("node: { title: \"", name, "\" label: \"", name, "\\n",
                      bytes, " bytes (static)\" }\n");
}
std::string Edge(const std::string& from, const std::string& to) {
  return absl::StrCat("edge: { sourcename: \"", from, "\" targetname: \"", to,
                      "\" }\n");
}

TEST(LibraryFramesTest, FollowsCalls) {
  const std::string archive =
      Archive({{"__mulsf3", Common() + Frame(32), {"__clzsi2", "elsewhere"}},
               {"__clzsi2", Common() + Frame(0), {"__clz_tab"}},
               {"__clz_tab", "", {}, false},
               {"__divsf3", Common() + Frame(48)}});
  EXPECT_EQ(LibraryCallGraph(archive, {"__mulsf3", "other"}),
            Node("__mulsf3", 32) + Edge("__mulsf3", "__clzsi2") +
                Edge("__mulsf3", "elsewhere") + Node("__clzsi2", 0) +
                Edge("__clzsi2", "__clz_tab") + Node("__clz_tab", 0));
}

// One may call the other.
TEST(LibraryFramesTest, FunctionsOfAFileAddUp) {
  const std::string archive =
      Archive({{"__divdi3", Common() + Frame(32) + Common() + Frame(16)}});
  EXPECT_EQ(LibraryCallGraph(archive, {"__divdi3"}), Node("__divdi3", 48));
}

// As gcc's functions for integers of 64 bits have it.
TEST(LibraryFramesTest, OrTheInformationIsForExceptions) {
  const std::string common =
      Entry(std::string("\0\0\0\0\x03zR\0\x01\x7c\x01\x01\x1b\x0d\x02\0", 16));
  const std::string function =
      Entry(Bytes(uint32_t{0x18}) + std::string(9, '\0') +
            std::string("\x0e\x30\0", 3));
  const std::string archive = Archive({{.name = "__divdi3",
                                        .frames = common + function,
                                        .section = ".eh_frame"}});
  EXPECT_EQ(LibraryCallGraph(archive, {"__divdi3"}), Node("__divdi3", 48));
}

struct UnknownCase {
  std::string name;
  Source source;
};

class UnknownFrameTest : public testing::TestWithParam<UnknownCase> {};

TEST_P(UnknownFrameTest, IsLeftOut) {
  const Source& source = GetParam().source;
  EXPECT_EQ(LibraryCallGraph(Archive({source}), {source.name}), "");
}

INSTANTIATE_TEST_SUITE_P(
    All, UnknownFrameTest,
    testing::Values(
        UnknownCase{"NoInformation", {"__mulsf3", ""}},
        UnknownCase{"NoFunction", {"__mulsf3", Common()}},
        UnknownCase{"NoArithmetic", {"__emutls", Common() + Frame(16)}},
        UnknownCase{"NotOfCompilers", {"mulsf3", Common() + Frame(16)}},
        UnknownCase{"FramePointer",
                    {"__mulsf3", Common() + Function("\x0d\x08")}},
        UnknownCase{
            "OtherRegister",
            {"__mulsf3", Common() + Function(std::string("\x0c\x08\x00", 3))}},
        UnknownCase{"Expression",
                    {"__mulsf3", Common() + Function("\x0f\x01")}},
        UnknownCase{"Endless", {"__mulsf3", Common() + Function("\x0e\xff")}},
        UnknownCase{"Huge",
                    {"__mulsf3", Common() + Function("\x0e\xff\xff\xff\x7f")}},
        UnknownCase{"TooShort", {"__mulsf3", Common() + Entry("1234567")}},
        UnknownCase{"NoCommonEntry", {"__mulsf3", Frame(16)}},
        UnknownCase{"Truncated", {"__mulsf3", Common() + "\x7f"}}),
    [](const auto& info) { return info.param.name; });

// Nothing is read beyond the bytes (asan tells), and nothing is invented.
TEST(LibraryFramesTest, AnyByteMayBeHostile) {
  const std::string archive =
      Archive({{"__mulsf3", Common() + Frame(32), {"__clzsi2"}},
               {"__clzsi2", Common() + Frame(16)}});
  for (size_t size = 0; size < archive.size(); ++size) {
    LibraryCallGraph(absl::string_view(archive).substr(0, size), {"__mulsf3"});
  }
  for (size_t i = 0; i < archive.size(); ++i) {
    for (const char byte : {'\x00', '\x7f', '\xff'}) {
      std::string changed = archive;
      changed[i] = byte;
      EXPECT_LT(LibraryCallGraph(changed, {"__mulsf3"}).size(), 1000u);
    }
  }
}

}  // namespace
}  // namespace edgekiln::compiler
