#include "simfarm/simulators/mmio_device.h"

#include "base/error.h"

namespace edgekiln::simfarm {

absl::Status MmioDevice::StoreRecord(const v1::Location& /*location*/,
                                     absl::Span<const uint32_t> /*words*/) {
  return MakeError(absl::StatusCode::kFailedPrecondition,
                   {.fault = Fault::kInfra,
                    .reason = "PROGRAM_INVALID",
                    .what = "the engine reads no record",
                    .where = "record"});
}

}  // namespace edgekiln::simfarm
