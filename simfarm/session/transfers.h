#ifndef EK_SIMFARM_SESSION_TRANSFERS_H_
#define EK_SIMFARM_SESSION_TRANSFERS_H_

// Moves of links that registers start: what the host writes for each of their
// transfers.

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "simfarm/simulators/mmio_device.h"
#include "target/register_transfers.h"

namespace edgekiln::simfarm {

// What the host writes to the registers, transfer by transfer, in the order of
// Transfers.writes. INVALID_ARGUMENT if the transfers cannot be told: a group
// of reversed bytes is cut that the link does not reverse, or an address is too
// large, or if there were more values than `left`, which the result is taken
// from.
absl::StatusOr<std::vector<uint32_t>> TransferValues(
    const v1::Program& program, const v1::Program::Move& move,
    const target::RegisterTransfers& transfers, int64_t* left);

// Writes them to the registers at `offsets` (RegisterTransfers::offsets()) and
// starts each transfer; `device` is the engine whose window they are in. Errors
// are the device's.
absl::Status StartTransfers(const std::vector<uint32_t>& values,
                            absl::Span<const uint32_t> offsets,
                            const v1::RegisterJobs& jobs, MmioDevice& device);

}  // namespace edgekiln::simfarm

#endif  // EK_SIMFARM_SESSION_TRANSFERS_H_
