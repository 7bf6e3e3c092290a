#include "simfarm/simulators/cycle_limit.h"

#include "base/error.h"

namespace edgekiln::simfarm {

absl::Status TooManyCycles() {
  return MakeError(
      absl::StatusCode::kOutOfRange,
      {.reason = "TOO_MANY_CYCLES",
       .what = "one inference takes more than 2^62 cycles of the target",
       .limit = "2^62 cycles",
       .fix = "correct the timings in the target file: clock_hz_expr, "
              "occupancy_cycles_expr, setup_cycles_expr, cycles_expr"});
}

}  // namespace edgekiln::simfarm
