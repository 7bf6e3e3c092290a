#include "simfarm/session/transfers.h"

#include <string>

#include "base/status_macros.h"
#include "simfarm/session/loaded_program.h"
#include "target/move_transfers.h"

namespace edgekiln::simfarm {

absl::StatusOr<std::vector<uint32_t>> TransferValues(
    const v1::Program& program, const v1::Program::Move& move,
    const target::RegisterTransfers& transfers, int64_t* left) {
  const auto refused = [](const absl::Status& status) {
    return InvalidProgram(std::string(status.message()), "move");
  };
  const auto view = target::MoveTransfersView::Create(
      move, program.layouts(move.from_layout()),
      program.layouts(move.to_layout()), transfers,
      *left / std::ssize(transfers.offsets()));
  if (!view.ok()) return refused(view.status());
  std::vector<uint32_t> all;
  for (const target::TransferLoop& loop : view->loops()) {
    const absl::Status visited = view->Visit(
        loop, [&](const std::vector<target::TransferValue>& values) {
          for (const auto& each : values) all.push_back(each.value);
          return absl::OkStatus();
        });
    if (!visited.ok()) return refused(visited);
  }
  *left -= std::ssize(all);
  return all;
}

absl::Status StartTransfers(const std::vector<uint32_t>& values,
                            absl::Span<const uint32_t> offsets,
                            const v1::RegisterJobs& jobs, MmioDevice& device) {
  if (offsets.empty()) {
    return InvalidProgram("transfers write no register", "move");
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t k = i % offsets.size();
    EK_RETURN_IF_ERROR(device.Write(offsets[k], values[i]).status());
    if (k + 1 < offsets.size()) continue;
    EK_ASSIGN_OR_RETURN(const auto job,
                        device.Write(jobs.start_offset(), jobs.start_value()));
    EK_ASSIGN_OR_RETURN(const uint32_t status,
                        device.Read(jobs.status_offset()));
    if (job.has_value() || status != jobs.status_done()) {
      return InvalidProgram("the registers of a transfer start a job", "move");
    }
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::simfarm
