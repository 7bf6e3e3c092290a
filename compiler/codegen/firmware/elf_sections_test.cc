#include "compiler/codegen/firmware/elf_sections.h"

#include <elf.h>

#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

template <typename T>
void Append(const T& value, std::string& file) {
  file.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Header, two segments, five sections, their names, eight bytes of code.
template <typename Header, typename Segment, typename Section>
std::string MakeFile(uint8_t elf_class) {
  const std::string names("\0.text\0.data\0.bss\0", 18);
  Header header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = elf_class;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_phoff = sizeof(Header);
  header.e_phentsize = sizeof(Segment);
  header.e_phnum = 2;
  header.e_shoff = sizeof(Header) + 2 * sizeof(Segment);
  header.e_shentsize = sizeof(Section);
  header.e_shnum = 5;
  header.e_shstrndx = 4;
  const size_t names_at = header.e_shoff + 5 * sizeof(Section);
  const size_t bytes_at = names_at + names.size();

  std::string file;
  Append(header, file);
  Segment code = {};
  code.p_type = PT_LOAD;
  code.p_vaddr = code.p_paddr = 0x1000;
  code.p_filesz = code.p_memsz = 8;
  Append(code, file);
  Segment data = {};
  data.p_type = PT_LOAD;
  data.p_vaddr = 0x8000;
  data.p_paddr = 0x1008;
  data.p_filesz = 4;
  data.p_memsz = 0x104;
  Append(data, file);
  Append(Section{}, file);
  const auto add = [&](uint32_t name, uint32_t type, uint64_t flags,
                       uint64_t address, size_t offset, size_t size) {
    Section section = {};
    section.sh_name = name;
    section.sh_type = type;
    section.sh_flags = static_cast<decltype(section.sh_flags)>(flags);
    section.sh_addr = static_cast<decltype(section.sh_addr)>(address);
    section.sh_offset = static_cast<decltype(section.sh_offset)>(offset);
    section.sh_size = static_cast<decltype(section.sh_size)>(size);
    Append(section, file);
  };
  add(1, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, bytes_at, 8);
  add(7, SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 0x8000, bytes_at, 4);
  add(13, SHT_NOBITS, SHF_ALLOC | SHF_WRITE, 0x8004, bytes_at, 0x100);
  add(0, SHT_STRTAB, 0, 0, names_at, names.size());
  return file + names + "12345678";
}

std::string File32() {
  return MakeFile<Elf32_Ehdr, Elf32_Phdr, Elf32_Shdr>(ELFCLASS32);
}
std::string File64() {
  return MakeFile<Elf64_Ehdr, Elf64_Phdr, Elf64_Shdr>(ELFCLASS64);
}

void ExpectSections(const std::string& file) {
  const auto sections = ReadElfSections(file);
  ASSERT_TRUE(sections.ok()) << sections.status();
  ASSERT_EQ(sections->size(), 3u);
  const ElfSection& text = (*sections)[0];
  EXPECT_EQ(text.name, ".text");
  EXPECT_TRUE(text.is_executable && text.is_stored && !text.is_writable);
  EXPECT_EQ(text.load_address, 0x1000u);
  const ElfSection& data = (*sections)[1];
  EXPECT_EQ(data.name, ".data");
  EXPECT_EQ(data.address, 0x8000u);
  EXPECT_EQ(data.load_address, 0x1008u);
  EXPECT_EQ(data.load_end(), 0x100cu);
  EXPECT_TRUE(data.is_writable && data.is_stored);
  const ElfSection& bss = (*sections)[2];
  EXPECT_EQ(bss.name, ".bss");
  EXPECT_EQ(bss.end(), 0x8104u);
  EXPECT_FALSE(bss.is_stored);
}

TEST(ElfSectionsTest, ReadsBothClasses) {
  ExpectSections(File32());
  ExpectSections(File64());
}

TEST(ElfSectionsTest, EveryShorterFileIsRefused) {
  for (const std::string& file : {File32(), File64()}) {
    // The last bytes are those of no section.
    for (size_t size = 0; size < file.size(); ++size) {
      const auto sections = ReadElfSections(file.substr(0, size));
      EXPECT_TRUE(absl::IsInvalidArgument(sections.status())) << size;
    }
  }
}

// Whatever a byte becomes, nothing is read beyond the file (asan tells).
TEST(ElfSectionsTest, AnyByteMayBeHostile) {
  for (const std::string& file : {File32(), File64()}) {
    for (size_t i = 0; i < file.size(); ++i) {
      for (const char byte : {'\x00', '\x01', '\x7f', '\xff'}) {
        std::string changed = file;
        changed[i] = byte;
        const auto sections = ReadElfSections(changed);
        if (!sections.ok()) {
          EXPECT_TRUE(absl::IsInvalidArgument(sections.status()));
        } else {
          EXPECT_LE(sections->size(), 4u);
        }
      }
    }
  }
}

TEST(ElfSectionsTest, OtherFormsAreRefused) {
  std::string big_endian = File32();
  big_endian[EI_DATA] = ELFDATA2MSB;
  std::string unknown = File32();
  unknown[EI_CLASS] = 3;
  for (const std::string& file : {big_endian, unknown, std::string(100, 'x')}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ReadElfSections(file).status()));
  }
}

TEST(ElfSectionsTest, AddressesDoNotWrap) {
  std::string file = File32();
  Elf32_Shdr bss;
  const size_t at =
      sizeof(Elf32_Ehdr) + 2 * sizeof(Elf32_Phdr) + 3 * sizeof(Elf32_Shdr);
  std::memcpy(&bss, file.data() + at, sizeof(bss));
  bss.sh_addr = 0xffffff00;
  bss.sh_size = 0x101;
  std::memcpy(file.data() + at, &bss, sizeof(bss));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadElfSections(file).status()));
}

}  // namespace
}  // namespace edgekiln::compiler
