#include "simfarm/simulators/rv32/elf.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace edgekiln::simfarm::rv32 {
namespace {

constexpr int kRiscV = 243;  // EM_RISCV

absl::Status ElfError(std::string what, std::string where,
                      std::string limit = "") {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.reason = "ELF_INVALID",
                    .what = std::move(what),
                    .where = std::move(where),
                    .limit = std::move(limit)});
}

// The bytes [offset, offset + size) of the file.
absl::StatusOr<absl::string_view> Cut(absl::string_view file, uint64_t offset,
                                      uint64_t size, const std::string& what) {
  if (offset > file.size() || size > file.size() - offset) {
    return ElfError("leaves the file", what,
                    absl::StrCat(file.size(), " bytes"));
  }
  return file.substr(offset, size);
}

// Entry `index` of a table that was checked to be large enough.
template <typename Record>
Record Entry(absl::string_view table, int64_t index, int64_t entry_bytes) {
  Record record;
  std::memcpy(&record, table.data() + index * entry_bytes, sizeof(record));
  return record;
}

template <typename Record>
absl::StatusOr<absl::string_view> Table(absl::string_view file, uint64_t offset,
                                        uint64_t count, uint64_t entry_bytes,
                                        const std::string& what) {
  if (count == 0) return absl::string_view();
  if (entry_bytes < sizeof(Record)) {
    return ElfError(absl::StrCat("entries of ", entry_bytes, " bytes"), what,
                    absl::StrCat("at least ", sizeof(Record)));
  }
  return Cut(file, offset, count * entry_bytes, what);
}

absl::StatusOr<Elf32_Ehdr> ReadHeader(absl::string_view file) {
  constexpr char kWhere[] = "ELF header";
  if (static_cast<int64_t>(file.size()) > kMaxElfBytes) {
    return ElfError("the file is too large", kWhere,
                    absl::StrCat(kMaxElfBytes, " bytes"));
  }
  EK_ASSIGN_OR_RETURN(const absl::string_view bytes,
                      Cut(file, 0, sizeof(Elf32_Ehdr), kWhere));
  const auto header = Entry<Elf32_Ehdr>(bytes, 0, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return ElfError("not an ELF file", kWhere);
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS32 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != kRiscV) {
    return ElfError("not for 32-bit little-endian RISC-V", kWhere);
  }
  if (header.e_type != ET_EXEC) {
    return ElfError("not an executable; link it first", kWhere);
  }
  return header;
}

absl::StatusOr<std::vector<Segment>> ReadSegments(absl::string_view file,
                                                  const Elf32_Ehdr& header) {
  if (header.e_phnum > kMaxSegments) {
    return ElfError(absl::StrCat(header.e_phnum, " program headers"),
                    "program headers", absl::StrCat(kMaxSegments));
  }
  EK_ASSIGN_OR_RETURN(const absl::string_view table,
                      Table<Elf32_Phdr>(file, header.e_phoff, header.e_phnum,
                                        header.e_phentsize, "program headers"));
  std::vector<Segment> segments;
  uint64_t total = 0;
  for (int i = 0; i < header.e_phnum; ++i) {
    const auto entry = Entry<Elf32_Phdr>(table, i, header.e_phentsize);
    if (entry.p_type != PT_LOAD || entry.p_memsz == 0) continue;
    const std::string where = absl::StrCat("segment ", i);
    if (entry.p_filesz > entry.p_memsz) {
      return ElfError("larger in the file than in memory", where);
    }
    if (uint64_t{entry.p_paddr} + entry.p_memsz > uint64_t{1} << 32) {
      return ElfError("leaves the address space", where);
    }
    EK_ASSIGN_OR_RETURN(const absl::string_view bytes,
                        Cut(file, entry.p_offset, entry.p_filesz, where));
    // Else few bytes could become many.
    total += bytes.size();
    if (total > file.size()) {
      return ElfError("segments share bytes of the file", where);
    }
    // What is loaded elsewhere than it runs is copied by the firmware, which
    // clears the rest where it runs.
    const bool copied = entry.p_vaddr != entry.p_paddr;
    const int64_t size = copied ? entry.p_filesz : entry.p_memsz;
    if (size == 0) continue;
    segments.push_back({entry.p_paddr, std::string(bytes), size});
  }
  if (segments.empty()) return ElfError("nothing to load", "program headers");
  return segments;
}

// The name at `offset`, up to its zero byte or the end of the table.
std::string NameAt(absl::string_view names, uint32_t offset) {
  if (offset >= names.size()) return "";
  absl::string_view name = names.substr(offset, kMaxFunctionNameBytes);
  return std::string(name.substr(0, name.find('\0')));
}

class Symbols {
 public:
  Symbols(absl::string_view file, const Elf32_Ehdr& header)
      : file_(file), header_(header) {}

  absl::StatusOr<std::vector<Function>> Read() {
    EK_ASSIGN_OR_RETURN(
        sections_, Table<Elf32_Shdr>(file_, header_.e_shoff, header_.e_shnum,
                                     header_.e_shentsize, "section headers"));
    for (int i = 0; i < header_.e_shnum; ++i) {
      const Elf32_Shdr section = Section(i);
      if (section.sh_type != SHT_SYMTAB) continue;
      EK_RETURN_IF_ERROR(ReadTable(section), absl::StrCat("section ", i));
    }
    std::sort(functions_.begin(), functions_.end(),
              [](const Function& a, const Function& b) {
                return std::tie(a.address, a.name) <
                       std::tie(b.address, b.name);
              });
    return std::move(functions_);
  }

 private:
  Elf32_Shdr Section(int index) const {
    return Entry<Elf32_Shdr>(sections_, index, header_.e_shentsize);
  }

  absl::Status ReadTable(const Elf32_Shdr& section) {
    if (section.sh_entsize < sizeof(Elf32_Sym)) {
      return ElfError("symbols are too small", "symbol table");
    }
    if (section.sh_link >= header_.e_shnum) {
      return ElfError("no such section has its names", "symbol table");
    }
    const int64_t count = section.sh_size / section.sh_entsize;
    EK_ASSIGN_OR_RETURN(
        const absl::string_view table,
        Cut(file_, section.sh_offset, section.sh_size, "symbol table"));
    const Elf32_Shdr strings = Section(static_cast<int>(section.sh_link));
    EK_ASSIGN_OR_RETURN(
        const absl::string_view names,
        Cut(file_, strings.sh_offset, strings.sh_size, "names of symbols"));
    for (int64_t i = 0; i < count; ++i) {
      const auto symbol = Entry<Elf32_Sym>(table, i, section.sh_entsize);
      if (!IsFunction(symbol)) continue;
      if (static_cast<int64_t>(functions_.size()) == kMaxFunctions) {
        return ElfError("too many functions", "symbol table",
                        absl::StrCat(kMaxFunctions));
      }
      std::string name = NameAt(names, symbol.st_name);
      // "$x" and the like mark code, ".L" is local to an object file.
      if (name.empty() || name[0] == '$' || absl::StartsWith(name, ".L")) {
        continue;
      }
      functions_.push_back({std::move(name), symbol.st_value, symbol.st_size});
    }
    return absl::OkStatus();
  }

  bool IsFunction(const Elf32_Sym& symbol) const {
    const int type = ELF32_ST_TYPE(symbol.st_info);
    if (symbol.st_shndx >= header_.e_shnum) return false;
    if (symbol.st_shndx == SHN_UNDEF) return false;
    if (type == STT_FUNC) return true;
    return type == STT_NOTYPE &&
           (Section(symbol.st_shndx).sh_flags & SHF_EXECINSTR) != 0;
  }

  const absl::string_view file_;
  const Elf32_Ehdr header_;
  absl::string_view sections_;
  std::vector<Function> functions_;
};

}  // namespace

absl::StatusOr<Executable> ReadElf(absl::string_view file) {
  EK_ASSIGN_OR_RETURN(const Elf32_Ehdr header, ReadHeader(file));
  Executable executable;
  executable.entry = header.e_entry;
  EK_ASSIGN_OR_RETURN(executable.segments, ReadSegments(file, header));
  EK_ASSIGN_OR_RETURN(executable.functions, Symbols(file, header).Read());
  return executable;
}

}  // namespace edgekiln::simfarm::rv32
