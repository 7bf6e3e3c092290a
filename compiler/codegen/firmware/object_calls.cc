#include "compiler/codegen/firmware/object_calls.h"

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/codegen/firmware/indirect_jumps.h"
#include "compiler/codegen/firmware/stack_frames.h"

namespace edgekiln::compiler {
namespace {

// BoundStack() has no frame for it, and no pointer call stands for it.
constexpr char kAnyFunction[] = "__any_function";
// The sections, symbols and relocations of one file.
constexpr uint64_t kMaxEntries = uint64_t{1} << 22;

absl::Status Malformed(absl::string_view what) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.reason = "OBJECT_MALFORMED",
                    .what = absl::StrCat("malformed object file: ", what)});
}

class Object {
 public:
  static absl::StatusOr<Object> Read(absl::string_view file) {
    Object object(file);
    EK_RETURN_IF_ERROR(object.ReadSections());
    EK_RETURN_IF_ERROR(object.ReadSymbols());
    return object;
  }

  // Those that the linker fills in, and those by pointers.
  absl::StatusOr<std::vector<CallEdge>> Calls(const StackFrames& frames) const {
    std::vector<CallEdge> calls;
    std::map<uint32_t, std::set<size_t>> linked;  // Of jalr, by section.
    for (const Elf32_Shdr& section : sections_) {
      const bool addends = section.sh_type == SHT_RELA;
      if (!addends && section.sh_type != SHT_REL) continue;
      if (section.sh_info >= sections_.size()) {
        return Malformed("relocations of no section");
      }
      if (!IsCode(section.sh_info)) continue;
      const size_t entry_bytes =
          addends ? sizeof(Elf32_Rela) : sizeof(Elf32_Rel);
      EK_ASSIGN_OR_RETURN(const absl::string_view bytes, Contents(section));
      for (size_t at = 0; at + entry_bytes <= bytes.size(); at += entry_bytes) {
        Elf32_Rel entry;  // As the begin of Elf32_Rela.
        std::memcpy(&entry, bytes.data() + at, sizeof(entry));
        EK_RETURN_IF_ERROR(AddCall(entry, section.sh_info, frames, calls));
        const uint32_t type = ELF32_R_TYPE(entry.r_info);
        if (type == R_RISCV_CALL || type == R_RISCV_CALL_PLT) {
          // auipc, and the jalr that follows it.
          linked[section.sh_info].insert(size_t{entry.r_offset} + 4);
        }
      }
    }
    for (auto at = functions_.begin(); at != functions_.end(); ++at) {
      EK_ASSIGN_OR_RETURN(const bool is_indirect,
                          JumpsIndirectly(at, linked[at->first.first]));
      if (is_indirect) {
        calls.push_back({Title(*at->second, frames), kByPointer});
      }
    }
    return calls;
  }

  // The functions that the file has, by their titles in call graphs.
  FramesByTitle Functions(const StackFrames& frames) const {
    FramesByTitle functions;
    for (const Symbol& symbol : symbols_) {
      if (!symbol.is_function || symbol.section == SHN_UNDEF) continue;
      functions[Title(symbol, frames)] = frames.Find(symbol.name);
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

  // By section and address.
  using FunctionMap = std::map<std::pair<uint32_t, uint32_t>, const Symbol*>;

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
      } else if (machine_ == EM_ARM && absl::StartsWith(symbol.name, "$")) {
        marks_[{symbol.section, symbol.address}] =
            absl::StartsWith(symbol.name, "$t");
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

  static std::string Title(const Symbol& symbol, const StackFrames& frames) {
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

  absl::Status AddCall(const Elf32_Rel& entry, uint32_t section,
                       const StackFrames& frames,
                       std::vector<CallEdge>& calls) const {
    const uint32_t index = ELF32_R_SYM(entry.r_info);
    if (index >= symbols_.size()) return Malformed("a reference to no symbol");
    const Symbol& symbol = symbols_[index];
    const Symbol* const caller = FunctionAt(section, entry.r_offset);
    if (caller == nullptr) return Malformed("code of no function");
    if (!IsCall(ELF32_R_TYPE(entry.r_info))) return absl::OkStatus();
    std::string from = Title(*caller, frames);
    const bool is_unknown = symbol.section == SHN_UNDEF && index != 0;
    if (symbol.is_function || is_unknown) {
      calls.push_back({std::move(from), Title(symbol, frames)});
    } else if (IsCode(symbol.section)) {
      // A label: of the same function, or else anything.
      const Symbol* const callee = FunctionAt(symbol.section, symbol.address);
      if (symbol.is_section || callee == nullptr ||
          Title(*callee, frames) != from) {
        calls.push_back({std::move(from), kAnyFunction});
      }
    }
    return absl::OkStatus();
  }

  // Whether the code from `function` up to the next one calls by a pointer.
  absl::StatusOr<bool> JumpsIndirectly(FunctionMap::const_iterator function,
                                       const std::set<size_t>& linked) const {
    const auto [section, begin] = function->first;
    if (!IsCode(section)) return Malformed("a function outside of code");
    EK_ASSIGN_OR_RETURN(absl::string_view code, Contents(sections_[section]));
    const auto next = std::next(function);
    if (next != functions_.end() && next->first.first == section) {
      code = code.substr(0, next->first.second);
    }
    if (machine_ == EM_RISCV) {
      if (begin > code.size()) return Malformed("a function beyond its code");
      std::set<size_t> of_function;
      for (auto at = linked.lower_bound(begin);
           at != linked.end() && *at < code.size(); ++at) {
        of_function.insert(*at - begin);
      }
      return RiscvJumpsIndirectly(code.substr(begin), of_function);
    }
    return ThumbPartsJump(section, begin, code);
  }

  // Between marks that say where data begins, and where code goes on.
  bool ThumbPartsJump(uint32_t section, uint32_t begin,
                      absl::string_view code) const {
    bool is_code = true;
    size_t at = begin;
    for (auto mark = marks_.lower_bound({section, begin});
         mark != marks_.end() && mark->first.first == section &&
         mark->first.second < code.size();
         ++mark) {
      const size_t end = mark->first.second;
      if (is_code && ThumbJumpsIndirectly(code.substr(at, end - at))) {
        return true;
      }
      at = end;
      is_code = mark->second;
    }
    return is_code &&
           (at > code.size() || ThumbJumpsIndirectly(code.substr(at)));
  }

  absl::string_view file_;
  uint16_t machine_ = 0;
  std::vector<Elf32_Shdr> sections_;
  std::vector<Symbol> symbols_;
  FunctionMap functions_;
  // Of Arm: whether code or data begins there.
  std::map<std::pair<uint32_t, uint32_t>, bool> marks_;
};

}  // namespace

absl::StatusOr<std::string> ObjectCallGraph(absl::string_view object,
                                            absl::string_view stack_usage) {
  EK_ASSIGN_OR_RETURN(const StackFrames frames, ReadStackFrames(stack_usage));
  EK_ASSIGN_OR_RETURN(const Object read, Object::Read(object));
  EK_ASSIGN_OR_RETURN(const auto calls, read.Calls(frames));
  return CallGraphText(read.Functions(frames), calls);
}

}  // namespace edgekiln::compiler
