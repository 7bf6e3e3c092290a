#ifndef EK_SIMFARM_HOT_SPOTS_LINE_TABLE_H_
#define EK_SIMFARM_HOT_SPOTS_LINE_TABLE_H_

// Which line of which source file an instruction comes from, as the compiler
// wrote it into an ELF file (DWARF).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace edgekiln::simfarm {

struct SourceLine {
  absl::string_view file;  // Relative to the folder of the compilation.
  int32_t line = 0;        // From 1.
};

// Immutable.
class LineTable {
 public:
  // Debug sections larger than this together are refused.
  static constexpr int64_t kMaxDebugBytes = int64_t{64} << 20;
  // Their line programs: a row of the table takes a byte there and a hundred
  // bytes of memory.
  static constexpr int64_t kMaxLineBytes = int64_t{8} << 20;

  // `elf` is hostile. A file without line tables gives an empty one; lines of
  // files with an absolute path, which are none of the sources, are left out.
  // INVALID_ARGUMENT for what is no ELF file, and for line tables that are
  // damaged, compressed or too large.
  static absl::StatusOr<LineTable> Read(absl::string_view elf);

  // Absent where no line is known. Views are valid as long as the table.
  std::optional<SourceLine> Find(uint32_t address) const;
  // Of the function that begins at `address`, the line at which it begins. Its
  // first instruction may already be that of another line.
  std::optional<SourceLine> FindFunction(uint32_t address) const;

  bool empty() const { return rows_.empty(); }

 private:
  struct Place {
    int32_t line = 0;  // 0: no line is known.
    int32_t file = 0;  // Index into files_.
  };
  // From its address up to that of the next one.
  struct Row {
    uint32_t address = 0;
    Place first;  // Of several that have the address.
    Place last;   // What the instructions belong to.
  };
  friend class LineTableReader;

  const Row* RowOf(uint32_t address) const;
  std::optional<SourceLine> LineOf(const Place& place) const;

  std::vector<std::string> files_;
  std::vector<Row> rows_;  // Rising addresses.
};

}  // namespace edgekiln::simfarm

#endif  // EK_SIMFARM_HOT_SPOTS_LINE_TABLE_H_
