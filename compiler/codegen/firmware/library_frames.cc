#include "compiler/codegen/firmware/library_frames.h"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace edgekiln::compiler {
namespace {

constexpr absl::string_view kMagic = "!<arch>\n";
constexpr size_t kMemberHeaderBytes = 60;
constexpr size_t kMaxFunctions = 1000;
constexpr uint64_t kMaxFrameBytes = 1 << 20;

// Functions that compute and call nothing by pointer: "__mulsf3".
bool IsArithmetic(absl::string_view name) {
  if (!absl::StartsWith(name, "__")) return false;
  for (const char* verb :
       {"add",   "sub",      "mul",   "div",  "mod",  "neg",
        "udiv",  "umod",     "eq",    "ne",   "lt",   "le",
        "gt",    "ge",       "unord", "cmp",  "ucmp", "fix",
        "float", "extend",   "trunc", "clz",  "ctz",  "ffs",
        "bswap", "popcount", "ashl",  "ashr", "lshr", "aeabi_"}) {
    if (absl::StartsWith(name.substr(2), verb)) return true;
  }
  return false;
}

// Reads from the front. Beyond the end everything is 0, and ok() false.
class Reader {
 public:
  explicit Reader(absl::string_view bytes) : rest_(bytes) {}

  bool ok() const { return ok_; }
  bool empty() const { return rest_.empty(); }
  absl::string_view rest() const { return rest_; }
  absl::string_view Take(uint64_t size) {
    if (size > rest_.size()) {
      ok_ = false;
      rest_ = "";
      return "";
    }
    const absl::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  template <typename T>  // As this machine has it: little-endian.
  T Read() {
    T value = {};
    const absl::string_view bytes = Take(sizeof(T));
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }
  uint32_t BigEndian() { return __builtin_bswap32(Read<uint32_t>()); }
  // LEB128. What does not fit 64 bits is not ok.
  uint64_t Unsigned() {
    uint64_t value = 0;
    for (int shift = 0; shift < 63; shift += 7) {
      const auto byte = Read<uint8_t>();
      value |= uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80) == 0) return value;
    }
    ok_ = false;
    return 0;
  }
  absl::string_view String() {
    const size_t end = rest_.find('\0');
    if (end == absl::string_view::npos) {
      ok_ = false;
      return "";
    }
    const absl::string_view text = Take(end);
    Take(1);
    return text;
  }

 private:
  absl::string_view rest_;
  bool ok_ = true;
};

// Member by the names that it defines: offsets into the archive.
std::map<absl::string_view, size_t> ReadIndex(absl::string_view archive) {
  std::map<absl::string_view, size_t> index;
  Reader reader(archive);
  if (reader.Take(kMagic.size()) != kMagic) return index;
  const absl::string_view header = reader.Take(kMemberHeaderBytes);
  uint64_t size = 0;
  if (!absl::StartsWith(header, "/ ") ||
      !absl::SimpleAtoi(header.substr(48, 10), &size)) {
    return index;
  }
  Reader table(reader.Take(size));
  const uint32_t count = table.BigEndian();
  if (uint64_t{count} * 4 > size) return index;
  std::vector<size_t> offsets;
  for (uint32_t i = 0; i < count; ++i) offsets.push_back(table.BigEndian());
  for (uint32_t i = 0; i < count && table.ok(); ++i) {
    index.emplace(table.String(), offsets[i]);
  }
  return index;
}

absl::string_view MemberAt(absl::string_view archive, size_t offset) {
  if (offset > archive.size()) return "";
  Reader reader(archive.substr(offset));
  const absl::string_view header = reader.Take(kMemberHeaderBytes);
  uint64_t size = 0;
  if (header.empty() || !absl::SimpleAtoi(header.substr(48, 10), &size)) {
    return "";
  }
  return reader.Take(size);
}

// One object file of 32 bits.
class Object {
 public:
  // Empty if it is none.
  static std::optional<Object> Read(absl::string_view file) {
    Reader reader(file);
    const auto header = reader.Read<Elf32_Ehdr>();
    if (!reader.ok() || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS32 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB ||
        header.e_shentsize != sizeof(Elf32_Shdr) ||
        header.e_shoff > file.size()) {
      return std::nullopt;
    }
    Object object(file);
    Reader sections(file.substr(header.e_shoff));
    for (int i = 0; i < header.e_shnum; ++i) {
      object.sections_.push_back(sections.Read<Elf32_Shdr>());
    }
    if (!sections.ok()) return std::nullopt;
    object.names_ = object.Contents(header.e_shstrndx);
    return object;
  }

  absl::string_view Section(absl::string_view name) const {
    for (size_t i = 0; i < sections_.size(); ++i) {
      if (NameAt(names_, sections_[i].sh_name) == name) return Contents(i);
    }
    return "";
  }

  struct Symbols {
    std::vector<std::string> undefined;
    size_t functions = 0;  // At places of their own.
  };
  std::optional<Symbols> ReadSymbols() const {
    Symbols symbols;
    std::set<std::pair<uint32_t, uint32_t>> functions;
    for (size_t i = 0; i < sections_.size(); ++i) {
      if (sections_[i].sh_type != SHT_SYMTAB) continue;
      const absl::string_view names = Contents(sections_[i].sh_link);
      Reader reader(Contents(i));
      while (!reader.empty()) {
        const auto symbol = reader.Read<Elf32_Sym>();
        if (!reader.ok()) return std::nullopt;
        const int type = ELF32_ST_TYPE(symbol.st_info);
        const absl::string_view name = NameAt(names, symbol.st_name);
        if (symbol.st_shndx == SHN_UNDEF && !name.empty()) {
          symbols.undefined.emplace_back(name);
        } else if (type == STT_FUNC || type == STT_GNU_IFUNC) {
          functions.emplace(symbol.st_shndx, symbol.st_value);
        }
      }
    }
    symbols.functions = functions.size();
    return symbols;
  }

 private:
  explicit Object(absl::string_view file) : file_(file) {}

  static absl::string_view NameAt(absl::string_view names, uint32_t offset) {
    if (offset >= names.size()) return "";
    return Reader(names.substr(offset)).String();
  }
  absl::string_view Contents(size_t index) const {
    if (index >= sections_.size()) return "";
    const Elf32_Shdr& section = sections_[index];
    if (section.sh_type == SHT_NOBITS || section.sh_offset > file_.size()) {
      return "";
    }
    return Reader(file_.substr(section.sh_offset)).Take(section.sh_size);
  }

  absl::string_view file_;
  absl::string_view names_;
  std::vector<Elf32_Shdr> sections_;
};

// The distance of the stack pointer from where it was before the call, as the
// instructions of an entry of .debug_frame define it. Empty if it is not always
// known from the stack pointer.
class CallFrame {
 public:
  // Takes a common entry's, where an entry of a function begins.
  bool Begin(absl::string_view instructions) {
    return Run(instructions, /*may_name_register=*/true);
  }
  // Takes those of a function.
  bool Follow(absl::string_view instructions) {
    return Run(instructions, /*may_name_register=*/false);
  }
  uint64_t bytes() const { return bytes_; }

 private:
  bool Run(absl::string_view instructions, bool may_name_register) {
    Reader reader(instructions);
    while (!reader.empty()) {
      const auto code = reader.Read<uint8_t>();
      switch (code & 0xc0) {
        case 0x40:  // advance_loc
        case 0xc0:  // restore
          continue;
        case 0x80:  // offset
          reader.Unsigned();
          continue;
        default:
          break;
      }
      switch (code) {
        case 0x00:  // nop
        case 0x0a:  // remember_state
        case 0x0b:  // restore_state
          break;
        case 0x02:  // advance_loc1
          reader.Take(1);
          break;
        case 0x03:  // advance_loc2
          reader.Take(2);
          break;
        case 0x04:  // advance_loc4
          reader.Take(4);
          break;
        case 0x05:  // offset_extended
        case 0x09:  // register
          reader.Unsigned();
          reader.Unsigned();
          break;
        case 0x06:  // restore_extended
        case 0x07:  // undefined
        case 0x08:  // same_value
          reader.Unsigned();
          break;
        case 0x0c: {  // def_cfa
          const uint64_t base = reader.Unsigned();
          if (may_name_register) register_ = base;
          if (base != register_) return false;
          Grow(reader.Unsigned());
          break;
        }
        case 0x0d: {  // def_cfa_register
          const uint64_t base = reader.Unsigned();
          if (may_name_register) register_ = base;
          if (base != register_) return false;
          break;
        }
        case 0x0e:  // def_cfa_offset
          Grow(reader.Unsigned());
          break;
        default:
          return false;
      }
    }
    return reader.ok() && register_.has_value() && bytes_ <= kMaxFrameBytes;
  }
  void Grow(uint64_t bytes) { bytes_ = std::max(bytes_, bytes); }

  std::optional<uint64_t> register_;
  uint64_t bytes_ = 0;
};

struct Frames {
  size_t functions = 0;
  uint64_t bytes = 0;  // Together: functions of a file may call each other.
};

// Sections of two kinds tell of frames: .debug_frame, for debuggers, and
// .eh_frame, for exceptions.
struct FrameSection {
  absl::string_view bytes;
  bool is_for_exceptions = false;
  // What an entry begins with that is no function's.
  uint32_t common() const { return is_for_exceptions ? 0 : 0xffffffff; }
};

FrameSection FrameSectionOf(const Object& object) {
  const absl::string_view bytes = object.Section(".debug_frame");
  if (!bytes.empty()) return {.bytes = bytes};
  return {.bytes = object.Section(".eh_frame"), .is_for_exceptions = true};
}

// The instructions of a common entry; empty if it says what is not known here.
// `augmented`: entries of functions hold more, with its length in front.
std::optional<absl::string_view> CommonInstructions(Reader fields,
                                                    bool& augmented) {
  const auto version = fields.Read<uint8_t>();
  const absl::string_view augmentation = fields.String();
  augmented = augmentation == "zR";
  if (!augmented && !augmentation.empty()) return std::nullopt;
  if (version >= 4) {
    if (fields.Read<uint8_t>() != 4)
      return std::nullopt;  // Bytes of addresses.
    fields.Take(1);
  }
  fields.Unsigned();
  fields.Unsigned();  // Signed, of as many bytes.
  if (version == 1) {
    fields.Take(1);
  } else {
    fields.Unsigned();
  }
  if (augmented) {
    // Addresses of four bytes, relative or not.
    if (fields.Unsigned() != 1) return std::nullopt;
    const int form = fields.Read<uint8_t>() & 0x0f;
    if (form != 0 && form != 3 && form != 11) return std::nullopt;
  }
  if (!fields.ok()) return std::nullopt;
  return fields.rest();
}

// Of 32 bits, with common entries that are alike: which one a function has is
// known to the linker only.
std::optional<Frames> ReadFrames(const FrameSection& section) {
  Frames frames;
  std::optional<absl::string_view> common;
  bool augmented = false;
  CallFrame begin;
  Reader reader(section.bytes);
  while (!reader.empty()) {
    const auto size = reader.Read<uint32_t>();
    const absl::string_view entry = reader.Take(size);
    if (!reader.ok()) return std::nullopt;
    Reader fields(entry);
    if (fields.Read<uint32_t>() == section.common()) {
      if (common.has_value() && *common != entry) return std::nullopt;
      if (common.has_value()) continue;
      common = entry;
      const auto instructions = CommonInstructions(fields, augmented);
      if (!instructions || !begin.Begin(*instructions)) return std::nullopt;
      continue;
    }
    if (!common.has_value()) return std::nullopt;
    fields.Take(8);  // Where the function lies.
    if (augmented) fields.Take(fields.Unsigned());
    CallFrame frame = begin;
    if (!fields.ok() || !frame.Follow(fields.rest())) return std::nullopt;
    ++frames.functions;
    frames.bytes += frame.bytes();
  }
  return frames;
}

}  // namespace

std::string LibraryCallGraph(absl::string_view archive,
                             const std::vector<std::string>& functions) {
  const std::map<absl::string_view, size_t> index = ReadIndex(archive);
  std::string graph;
  std::set<std::string> seen(functions.begin(), functions.end());
  std::vector<std::string> open = functions;
  while (!open.empty() && seen.size() < kMaxFunctions) {
    const std::string name = std::move(open.back());
    open.pop_back();
    const auto found = index.find(name);
    if (found == index.end()) continue;
    const auto object = Object::Read(MemberAt(archive, found->second));
    if (!object) continue;
    const auto symbols = object->ReadSymbols();
    if (!symbols) continue;
    Frames frames;
    if (symbols->functions > 0) {
      const auto told = ReadFrames(FrameSectionOf(*object));
      if (!IsArithmetic(name) || !told ||
          told->functions < symbols->functions) {
        continue;
      }
      frames = *told;
    }
    absl::StrAppend(&graph, "node: { title: \"", name, "\" label: \"", name,
                    "\\n", frames.bytes, " bytes (static)\" }\n");
    for (const std::string& callee : symbols->undefined) {
      absl::StrAppend(&graph, "edge: { sourcename: \"", name,
                      "\" targetname: \"", callee, "\" }\n");
      if (seen.insert(callee).second) open.push_back(callee);
    }
  }
  return graph;
}

}  // namespace edgekiln::compiler
