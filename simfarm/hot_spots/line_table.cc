#include "simfarm/hot_spots/line_table.h"

#include <elfutils/libdw.h>
#include <gelf.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace edgekiln::simfarm {
namespace {

constexpr size_t kMaxPathBytes = 512;  // Longer ones are no sources of ours.

absl::Status Refused(std::string what, std::string where,
                     std::string limit = "") {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.reason = "LINE_TABLE_INVALID",
                    .what = std::move(what),
                    .where = std::move(where),
                    .limit = std::move(limit)});
}

struct EndElf {
  void operator()(Elf* elf) const { elf_end(elf); }
};
struct EndDwarf {
  void operator()(Dwarf* dwarf) const { dwarf_end(dwarf); }
};

// Everything that libdw is going to read is small and lies in the file as it
// is: it bounds neither rows nor what compressed sections grow to.
absl::Status CheckSections(Elf* elf) {
  size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) {
    return Refused("its section headers cannot be read", "ELF file");
  }
  int64_t debug_bytes = 0;
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf, section)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) {
      return Refused("a section header cannot be read", "ELF file");
    }
    const char* const text = elf_strptr(elf, names, header.sh_name);
    const absl::string_view name = text == nullptr ? "" : text;
    if ((header.sh_flags & SHF_COMPRESSED) != 0 ||
        absl::StartsWith(name, ".zdebug")) {
      return Refused("a section is compressed",
                     absl::StrCat("section ", name.substr(0, 64)));
    }
    if (!absl::StartsWith(name, ".debug")) continue;
    const auto bytes = static_cast<int64_t>(std::min<uint64_t>(
        header.sh_size, std::numeric_limits<int32_t>::max()));
    debug_bytes += bytes;
    const bool has_rows = absl::StartsWith(name, ".debug_line") &&
                          !absl::StartsWith(name, ".debug_line_str");
    if (debug_bytes > LineTable::kMaxDebugBytes ||
        (has_rows && bytes > LineTable::kMaxLineBytes)) {
      return Refused("debug sections are too large",
                     absl::StrCat("section ", name.substr(0, 64)),
                     absl::StrCat(has_rows ? LineTable::kMaxLineBytes
                                           : LineTable::kMaxDebugBytes,
                                  " bytes"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

class LineTableReader {
 public:
  absl::StatusOr<LineTable> Read(Dwarf* dwarf) {
    Dwarf_Off offset = 0;
    Dwarf_Off next = 0;
    Dwarf_CU* unit = nullptr;
    Dwarf_Files* files = nullptr;
    Dwarf_Lines* lines = nullptr;
    size_t num_files = 0;
    size_t num_lines = 0;
    int result = 0;
    while ((result = dwarf_next_lines(dwarf, offset, &next, &unit, &files,
                                      &num_files, &lines, &num_lines)) == 0) {
      for (size_t i = 0; i < num_lines; ++i) {
        EK_RETURN_IF_ERROR(Add(dwarf_onesrcline(lines, i)));
      }
      if (next <= offset) return Damaged();
      offset = next;
    }
    if (result < 0) return Damaged();
    Sort();
    return std::move(table_);
  }

 private:
  static absl::Status Damaged() {
    const char* const message = dwarf_errmsg(-1);
    return Refused(
        absl::StrCat("a line table is damaged", message == nullptr ? "" : ": ",
                     message == nullptr ? "" : message),
        "section .debug_line");
  }

  absl::Status Add(Dwarf_Line* line) {
    Dwarf_Addr address = 0;
    int number = 0;
    bool is_end = false;
    if (dwarf_lineaddr(line, &address) != 0 ||
        dwarf_lineno(line, &number) != 0 ||
        dwarf_lineendsequence(line, &is_end) != 0) {
      return Damaged();
    }
    // What no instruction of 32 bits can have.
    if (address > std::numeric_limits<uint32_t>::max()) return absl::OkStatus();
    LineTable::Row row;
    row.address = static_cast<uint32_t>(address);
    const char* const path =
        is_end ? nullptr : dwarf_linesrc(line, nullptr, nullptr);
    if (path != nullptr && number > 0) {
      row.last.file = FileOf(path);
      row.last.line = row.last.file < 0 ? 0 : number;
    }
    row.first = row.last;
    table_.rows_.push_back(row);
    return absl::OkStatus();
  }

  // -1: none of the sources.
  int32_t FileOf(absl::string_view path) {
    while (absl::ConsumePrefix(&path, "./")) {
    }
    if (path.empty() || path.front() == '/' || path.size() > kMaxPathBytes) {
      return -1;
    }
    const auto [place, is_new] = index_of_file_.try_emplace(
        std::string(path), static_cast<int32_t>(table_.files_.size()));
    if (is_new) table_.files_.emplace_back(path);
    return place->second;
  }

  // Of rows with one address the last one holds, but what a sequence begins
  // with beats where another one ends.
  void Sort() {
    std::vector<LineTable::Row>& rows = table_.rows_;
    std::stable_sort(rows.begin(), rows.end(),
                     [](const LineTable::Row& a, const LineTable::Row& b) {
                       return a.address < b.address;
                     });
    std::vector<LineTable::Row> kept;
    for (const LineTable::Row& row : rows) {
      if (kept.empty() || kept.back().address != row.address) {
        kept.push_back(row);
      } else if (row.last.line != 0) {
        if (kept.back().first.line == 0) kept.back().first = row.first;
        kept.back().last = row.last;
      }
    }
    rows = std::move(kept);
  }

  LineTable table_;
  std::map<std::string, int32_t> index_of_file_;
};

absl::StatusOr<LineTable> LineTable::Read(absl::string_view elf) {
  if (elf_version(EV_CURRENT) == EV_NONE) {
    return absl::InternalError("libelf is too old");
  }
  // libelf may change what it is given, and aligns nothing itself.
  const auto words =
      std::make_unique<uint64_t[]>((elf.size() + 7) / sizeof(uint64_t) + 1);
  char* const bytes = reinterpret_cast<char*>(words.get());
  std::copy(elf.begin(), elf.end(), bytes);
  const std::unique_ptr<Elf, EndElf> file(elf_memory(bytes, elf.size()));
  if (file == nullptr || elf_kind(file.get()) != ELF_K_ELF) {
    return Refused("not an ELF file", "ELF header");
  }
  EK_RETURN_IF_ERROR(CheckSections(file.get()));
  const std::unique_ptr<Dwarf, EndDwarf> dwarf(
      dwarf_begin_elf(file.get(), DWARF_C_READ, nullptr));
  // Without debug sections there is nothing to begin with.
  if (dwarf == nullptr) return LineTable();
  return LineTableReader().Read(dwarf.get());
}

const LineTable::Row* LineTable::RowOf(uint32_t address) const {
  const auto after = std::upper_bound(
      rows_.begin(), rows_.end(), address,
      [](uint32_t at, const Row& row) { return at < row.address; });
  return after == rows_.begin() ? nullptr : &*std::prev(after);
}

std::optional<SourceLine> LineTable::LineOf(const Place& place) const {
  if (place.line == 0) return std::nullopt;
  return SourceLine{.file = files_[static_cast<size_t>(place.file)],
                    .line = place.line};
}

std::optional<SourceLine> LineTable::Find(uint32_t address) const {
  const Row* const row = RowOf(address);
  return row == nullptr ? std::nullopt : LineOf(row->last);
}

std::optional<SourceLine> LineTable::FindFunction(uint32_t address) const {
  const Row* const row = RowOf(address);
  if (row == nullptr) return std::nullopt;
  return LineOf(row->address == address ? row->first : row->last);
}

}  // namespace edgekiln::simfarm
