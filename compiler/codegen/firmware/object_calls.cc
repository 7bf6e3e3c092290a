#include "compiler/codegen/firmware/object_calls.h"

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace edgekiln::compiler {
namespace {

// BoundStack() knows no frame of it, and no pointer call stands for it: an
// object does not tell who calls the address that was taken.
constexpr char kAnyFunction[] = "__any_function";
// The sections, symbols and relocations of one file.
constexpr uint64_t kMaxEntries = uint64_t{1} << 22;

absl::Status Malformed(absl::string_view what) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.reason = "OBJECT_MALFORMED",
                    .what = absl::StrCat("malformed object file: ", what)});
}

bool IsX86(absl::string_view file) {
  Elf64_Ehdr header;
  if (file.size() < sizeof(header)) return false;
  std::memcpy(&header, file.data(), sizeof(header));
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_machine == EM_X86_64;
}

// A function without a frame.
std::string NodeOf(const std::string& title) {
  return absl::StrCat("node: { title: \"", title, "\" label: \"\" }\n");
}

struct Frame {
  std::string bytes;
  std::string kind;  // "static", "dynamic"
};

// Lines "FILE:LINE:FUNCTION <tab> BYTES <tab> KIND".
struct Frames {
  std::string file;
  std::map<std::string, Frame, std::less<>> by_function;
};

absl::StatusOr<Frames> ReadFrames(absl::string_view text) {
  Frames frames;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line.empty()) continue;
    const std::vector<absl::string_view> fields = absl::StrSplit(line, '\t');
    const std::vector<absl::string_view> place = absl::StrSplit(fields[0], ':');
    if (fields.size() != 3 || place.size() < 3 ||
        absl::StrContains(line, '"')) {
      return MakeError(absl::StatusCode::kInvalidArgument,
                       {.reason = "STACK_USAGE_MALFORMED",
                        .what = "malformed list of stack frames",
                        .where = absl::StrCat("line '", line, "'")});
    }
    frames.file = std::string(place[0]);
    frames.by_function[std::string(place.back())] = {std::string(fields[1]),
                                                     std::string(fields[2])};
  }
  return frames;
}

class Object {
 public:
  static absl::StatusOr<Object> Read(absl::string_view file) {
    Object object(file);
    EK_RETURN_IF_ERROR(object.ReadSections());
    EK_RETURN_IF_ERROR(object.ReadSymbols());
    return object;
  }

  // Calls and the like of all that is loaded.
  struct Reference {
    std::string from;  // Empty: of data.
    std::string to;
  };
  absl::StatusOr<std::vector<Reference>> References(
      const Frames& frames) const {
    std::vector<Reference> references;
    for (const Elf32_Shdr& section : sections_) {
      const bool addends = section.sh_type == SHT_RELA;
      if (!addends && section.sh_type != SHT_REL) continue;
      if (section.sh_info >= sections_.size()) {
        return Malformed("relocations of no section");
      }
      const Elf32_Shdr& target = sections_[section.sh_info];
      if ((target.sh_flags & SHF_ALLOC) == 0 ||
          target.sh_type == SHT_ARM_EXIDX) {
        continue;
      }
      const size_t entry_bytes =
          addends ? sizeof(Elf32_Rela) : sizeof(Elf32_Rel);
      EK_ASSIGN_OR_RETURN(const absl::string_view bytes, Contents(section));
      for (size_t at = 0; at + entry_bytes <= bytes.size(); at += entry_bytes) {
        Elf32_Rel entry;  // As the begin of Elf32_Rela.
        std::memcpy(&entry, bytes.data() + at, sizeof(entry));
        EK_RETURN_IF_ERROR(
            AddReference(entry, section.sh_info, frames, references));
      }
    }
    return references;
  }

  // The functions that the file has, by their titles in call graphs.
  std::map<std::string, const Frame*> Functions(const Frames& frames) const {
    std::map<std::string, const Frame*> functions;
    for (const Symbol& symbol : symbols_) {
      if (!symbol.is_function || symbol.section == SHN_UNDEF) continue;
      const auto found = frames.by_function.find(symbol.name);
      functions[Title(symbol, frames)] =
          found == frames.by_function.end() ? nullptr : &found->second;
    }
    return functions;
  }

 private:
  struct Symbol {
    std::string name;
    uint32_t address = 0;  // In the section.
    uint32_t section = 0;
    bool is_function = false;
    bool is_local = false;
    bool is_section = false;
  };

  explicit Object(absl::string_view file) : file_(file) {}

  absl::StatusOr<absl::string_view> Contents(const Elf32_Shdr& section) const {
    if (section.sh_offset > file_.size() ||
        section.sh_size > file_.size() - section.sh_offset) {
      return Malformed("a section ends beyond it");
    }
    return file_.substr(section.sh_offset, section.sh_size);
  }

  absl::Status ReadSections() {
    Elf32_Ehdr header;
    if (file_.size() < sizeof(header)) {
      return Malformed("shorter than its header");
    }
    std::memcpy(&header, file_.data(), sizeof(header));
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS32 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_REL ||
        (header.e_machine != EM_RISCV && header.e_machine != EM_ARM)) {
      return Malformed("no object of RISC-V or Arm with 32 bits");
    }
    machine_ = header.e_machine;
    const uint64_t bytes = uint64_t{header.e_shnum} * sizeof(Elf32_Shdr);
    if (header.e_shentsize != sizeof(Elf32_Shdr) ||
        header.e_shoff > file_.size() ||
        bytes > file_.size() - header.e_shoff) {
      return Malformed("the table of sections ends beyond it");
    }
    sections_.resize(header.e_shnum);
    if (bytes > 0) {
      std::memcpy(sections_.data(), file_.data() + header.e_shoff, bytes);
    }
    return absl::OkStatus();
  }

  absl::Status ReadSymbols() {
    for (const Elf32_Shdr& section : sections_) {
      if (section.sh_type != SHT_SYMTAB) continue;
      if (section.sh_link >= sections_.size()) {
        return Malformed("symbols without names");
      }
      EK_ASSIGN_OR_RETURN(const absl::string_view table, Contents(section));
      EK_ASSIGN_OR_RETURN(const absl::string_view names,
                          Contents(sections_[section.sh_link]));
      const size_t count = table.size() / sizeof(Elf32_Sym);
      if (count > kMaxEntries) return Malformed("too many symbols");
      for (size_t i = 0; i < count; ++i) {
        Elf32_Sym entry;
        std::memcpy(&entry, table.data() + i * sizeof(entry), sizeof(entry));
        symbols_.push_back(SymbolOf(entry, names));
      }
      break;
    }
    for (const Symbol& symbol : symbols_) {
      if (symbol.is_function && symbol.section != SHN_UNDEF) {
        functions_[{symbol.section, symbol.address}] = &symbol;
      }
    }
    return absl::OkStatus();
  }

  Symbol SymbolOf(const Elf32_Sym& entry, absl::string_view names) const {
    const int type = ELF32_ST_TYPE(entry.st_info);
    Symbol symbol;
    if (entry.st_name < names.size()) {
      const absl::string_view rest = names.substr(entry.st_name);
      symbol.name = std::string(rest.substr(0, rest.find('\0')));
    }
    symbol.is_function = type == STT_FUNC || type == STT_GNU_IFUNC;
    symbol.is_section = type == STT_SECTION;
    symbol.is_local = ELF32_ST_BIND(entry.st_info) == STB_LOCAL;
    symbol.section = entry.st_shndx;
    // The last bit says that it is Thumb code.
    symbol.address = machine_ == EM_ARM && symbol.is_function
                         ? entry.st_value & ~uint32_t{1}
                         : entry.st_value;
    return symbol;
  }

  static std::string Title(const Symbol& symbol, const Frames& frames) {
    if (!symbol.is_local) return symbol.name;
    return absl::StrCat(frames.file, ":", symbol.name);
  }

  // The last function that begins at or before that byte; null if none does.
  const Symbol* FunctionAt(uint32_t section, uint32_t address) const {
    auto next = functions_.upper_bound({section, address});
    if (next == functions_.begin()) return nullptr;
    --next;
    return next->first.first == section ? next->second : nullptr;
  }

  bool IsCall(uint32_t type) const {
    static const auto* const riscv = new std::set<uint32_t>{
        R_RISCV_CALL,   R_RISCV_CALL_PLT, R_RISCV_JAL,
        R_RISCV_BRANCH, R_RISCV_RVC_JUMP, R_RISCV_RVC_BRANCH};
    static const auto* const arm = new std::set<uint32_t>{
        R_ARM_THM_PC22 /* bl */, R_ARM_THM_JUMP24, R_ARM_THM_JUMP19,
        R_ARM_THM_PC11 /* b */, R_ARM_THM_PC9 /* bcc */};
    return (machine_ == EM_RISCV ? riscv : arm)->contains(type);
  }

  bool IsCode(uint32_t section) const {
    return section < sections_.size() &&
           (sections_[section].sh_flags & SHF_EXECINSTR) != 0;
  }

  absl::Status AddReference(const Elf32_Rel& entry, uint32_t section,
                            const Frames& frames,
                            std::vector<Reference>& references) const {
    const uint32_t index = ELF32_R_SYM(entry.r_info);
    if (index >= symbols_.size()) return Malformed("a reference to no symbol");
    const Symbol& symbol = symbols_[index];
    const bool is_call = IsCall(ELF32_R_TYPE(entry.r_info));
    std::string from;
    if (IsCode(section)) {
      const Symbol* const caller = FunctionAt(section, entry.r_offset);
      if (caller == nullptr) return Malformed("code of no function");
      from = Title(*caller, frames);
    }
    const bool is_unknown = symbol.section == SHN_UNDEF && index != 0;
    if (is_call && (symbol.is_function || is_unknown)) {
      references.push_back({std::move(from), Title(symbol, frames)});
    } else if (is_call && IsCode(symbol.section)) {
      // A label: of the same function, or else anything.
      const Symbol* const callee = FunctionAt(symbol.section, symbol.address);
      if (symbol.is_section || callee == nullptr ||
          Title(*callee, frames) != from) {
        references.push_back({std::move(from), kAnyFunction});
      }
    } else if (symbol.is_function || is_unknown ||
               (symbol.is_section && IsCode(symbol.section))) {
      references.push_back({std::move(from), kAnyFunction});
    }
    return absl::OkStatus();
  }

  absl::string_view file_;
  uint16_t machine_ = 0;
  std::vector<Elf32_Shdr> sections_;
  std::vector<Symbol> symbols_;
  // By section and address.
  std::map<std::pair<uint32_t, uint32_t>, const Symbol*> functions_;
};

}  // namespace

absl::StatusOr<std::string> ObjectCallGraph(absl::string_view object,
                                            absl::string_view stack_usage) {
  if (IsX86(object)) return NodeOf(kAnyFunction);
  EK_ASSIGN_OR_RETURN(const Frames frames, ReadFrames(stack_usage));
  EK_ASSIGN_OR_RETURN(const Object read, Object::Read(object));
  EK_ASSIGN_OR_RETURN(const auto references, read.References(frames));
  std::string graph;
  for (const auto& [title, frame] : read.Functions(frames)) {
    absl::StrAppend(&graph, "node: { title: \"", title, "\" label: \"", title);
    if (frame != nullptr) {
      absl::StrAppend(&graph, "\\n", frame->bytes, " bytes (", frame->kind,
                      ")");
    }
    absl::StrAppend(&graph, "\" }\n");
  }
  std::set<std::pair<std::string, std::string>> edges;
  for (const auto& [from, to] : references) {
    if (!edges.emplace(from, to).second) continue;
    if (from.empty()) {
      graph += NodeOf(to);
    } else {
      absl::StrAppend(&graph, "edge: { sourcename: \"", from,
                      "\" targetname: \"", to, "\" }\n");
    }
  }
  return graph;
}

}  // namespace edgekiln::compiler
