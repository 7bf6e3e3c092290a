#include "compiler/codegen/firmware/elf_sections.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace edgekiln::compiler {
namespace {

// A linker script makes a dozen.
constexpr int kMaxSections = 4096;
constexpr int kMaxSegments = 256;
constexpr size_t kMaxNameBytes = 128;

absl::Status Malformed(absl::string_view what) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.reason = "ELF_MALFORMED",
                    .what = absl::StrCat("malformed ELF file: ", what)});
}

struct Elf32 {
  using Header = Elf32_Ehdr;
  using Section = Elf32_Shdr;
  using Segment = Elf32_Phdr;
  // One past the last address.
  static constexpr uint64_t kEnd = uint64_t{1} << 32;
};

struct Elf64 {
  using Header = Elf64_Ehdr;
  using Section = Elf64_Shdr;
  using Segment = Elf64_Phdr;
  static constexpr uint64_t kEnd = uint64_t{1} << 63;
};

// Host and file are little-endian.
template <typename T>
T At(absl::string_view file, uint64_t offset) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, file.data() + offset, sizeof(T));
  return value;
}

bool Contains(absl::string_view file, uint64_t offset, uint64_t size) {
  return offset <= file.size() && size <= file.size() - offset;
}

// The name that begins at `offset` of the table of strings.
std::string NameAt(absl::string_view names, uint64_t offset) {
  if (offset >= names.size()) return "";
  const absl::string_view rest = names.substr(offset, kMaxNameBytes);
  return std::string(rest.substr(0, rest.find('\0')));
}

template <typename Segment>
uint64_t LoadAddress(const std::vector<Segment>& segments, uint64_t address,
                     uint64_t size) {
  for (const Segment& segment : segments) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    const uint64_t within = address - segment.p_vaddr;
    if (within <= segment.p_memsz && size <= segment.p_memsz - within) {
      return segment.p_paddr + within;
    }
  }
  return address;
}

// The file's table of `count` entries.
template <typename Entry>
absl::StatusOr<std::vector<Entry>> ReadTable(absl::string_view file,
                                             uint64_t offset, uint64_t count,
                                             uint64_t entry_bytes,
                                             uint64_t max_count,
                                             absl::string_view name) {
  std::vector<Entry> entries;
  if (count == 0) return entries;
  if (count > max_count) {
    return Malformed(absl::StrCat(count, " ", name, ", at most ", max_count));
  }
  if (entry_bytes != sizeof(Entry)) {
    return Malformed(
        absl::StrCat("entries of ", entry_bytes, " bytes in ", name));
  }
  if (!Contains(file, offset, count * sizeof(Entry))) {
    return Malformed(absl::StrCat("the table of ", name, " ends beyond it"));
  }
  for (uint64_t i = 0; i < count; ++i) {
    entries.push_back(At<Entry>(file, offset + i * sizeof(Entry)));
  }
  return entries;
}

template <typename Elf>
absl::StatusOr<std::vector<ElfSection>> Read(absl::string_view file) {
  if (file.size() < sizeof(typename Elf::Header)) {
    return Malformed("shorter than its header");
  }
  const auto header = At<typename Elf::Header>(file, 0);
  EK_ASSIGN_OR_RETURN(const auto segments,
                      ReadTable<typename Elf::Segment>(
                          file, header.e_phoff, header.e_phnum,
                          header.e_phentsize, kMaxSegments, "segments"));
  for (const auto& segment : segments) {
    if (segment.p_type != PT_LOAD) continue;
    if (segment.p_paddr > Elf::kEnd ||
        segment.p_memsz > Elf::kEnd - segment.p_paddr) {
      return Malformed("a segment ends beyond the last address");
    }
  }
  EK_ASSIGN_OR_RETURN(const auto table,
                      ReadTable<typename Elf::Section>(
                          file, header.e_shoff, header.e_shnum,
                          header.e_shentsize, kMaxSections, "sections"));
  absl::string_view names;
  if (header.e_shstrndx < table.size()) {
    const auto& strings = table[header.e_shstrndx];
    if (!Contains(file, strings.sh_offset, strings.sh_size)) {
      return Malformed("the names of sections end beyond it");
    }
    names = file.substr(strings.sh_offset, strings.sh_size);
  }
  std::vector<ElfSection> sections;
  for (const auto& entry : table) {
    if ((entry.sh_flags & SHF_ALLOC) == 0 || entry.sh_size == 0) continue;
    ElfSection section = {
        .name = NameAt(names, entry.sh_name),
        .address = entry.sh_addr,
        .size_bytes = entry.sh_size,
        .is_stored = entry.sh_type != SHT_NOBITS,
        .is_writable = (entry.sh_flags & SHF_WRITE) != 0,
        .is_executable = (entry.sh_flags & SHF_EXECINSTR) != 0};
    if (section.address > Elf::kEnd ||
        section.size_bytes > Elf::kEnd - section.address) {
      return Malformed(absl::StrCat("section '", section.name,
                                    "' ends beyond the last address"));
    }
    if (section.is_stored && !Contains(file, entry.sh_offset, entry.sh_size)) {
      return Malformed(
          absl::StrCat("section '", section.name, "' ends beyond it"));
    }
    section.load_address =
        LoadAddress(segments, section.address, section.size_bytes);
    sections.push_back(std::move(section));
  }
  return sections;
}

}  // namespace

absl::StatusOr<std::vector<ElfSection>> ReadElfSections(
    absl::string_view file) {
  if (file.size() < EI_NIDENT ||
      std::memcmp(file.data(), ELFMAG, SELFMAG) != 0) {
    return Malformed("it does not begin like one");
  }
  if (file[EI_DATA] != ELFDATA2LSB) return Malformed("not little-endian");
  switch (file[EI_CLASS]) {
    case ELFCLASS32:
      return Read<Elf32>(file);
    case ELFCLASS64:
      return Read<Elf64>(file);
    default:
      return Malformed("neither of 32 nor of 64 bits");
  }
}

}  // namespace edgekiln::compiler
