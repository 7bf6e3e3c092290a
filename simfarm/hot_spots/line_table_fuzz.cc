// Any bytes are refused, or read as line tables.

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "simfarm/hot_spots/line_table.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using edgekiln::simfarm::LineTable;
  const auto table = LineTable::Read(
      absl::string_view(reinterpret_cast<const char*>(data), size));
  if (!table.ok()) return 0;
  for (const uint32_t address : {0u, 0x20000000u, ~0u}) {
    const auto line = table->Find(address);
    if (line.has_value() && (line->line < 1 || line->file.empty())) {
      __builtin_trap();
    }
  }
  return 0;
}
