#include "simfarm/session/firmware_values.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace edgekiln::simfarm {

absl::Status WriteValues(uint64_t address, const target::Layout& layout,
                         absl::string_view values, rv32::Machine& machine) {
  absl::Status status;
  layout.VisitRuns([&](const target::Layout::Run& run) {
    status = machine.Write(static_cast<uint32_t>(address + run.offset),
                           values.substr(run.dense_offset, run.bytes));
    return status.ok();
  });
  return status;
}

absl::StatusOr<absl::string_view> ReadValues(uint64_t address,
                                             const target::Layout& layout,
                                             absl::string_view what,
                                             const rv32::Machine& machine,
                                             std::string& buffer) {
  if (layout.dense_bytes() == 0) return absl::string_view();
  std::optional<uint32_t> undefined;
  layout.VisitRuns([&](const target::Layout::Run& run) {
    undefined = machine.FindUndefined(
        static_cast<uint32_t>(address + run.offset), run.bytes);
    return !undefined.has_value();
  });
  if (undefined.has_value()) {
    return MakeError(
        absl::StatusCode::kFailedPrecondition,
        {.reason = "FIRMWARE_FAULT",
         .what = absl::StrCat(what, " shows a byte that nothing wrote"),
         .where = absl::StrFormat("address 0x%08x", *undefined)});
  }
  EK_ASSIGN_OR_RETURN(
      const absl::string_view bytes,
      machine.Read(static_cast<uint32_t>(address), layout.size_bytes()), what);
  return layout.View(bytes.data(), buffer);
}

}  // namespace edgekiln::simfarm
