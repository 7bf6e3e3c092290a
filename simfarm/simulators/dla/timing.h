#ifndef EK_SIMFARM_SIMULATORS_DLA_TIMING_H_
#define EK_SIMFARM_SIMULATORS_DLA_TIMING_H_

// When every command runs (docs/targets/dla.md, section 7).

#include "absl/status/statusor.h"
#include "edgekiln/v1/target.pb.h"
#include "simfarm/simulators/dla/decode.h"
#include "simfarm/simulators/engine_stream.h"

namespace edgekiln::simfarm::dla {

// Event-driven: one step per command, whatever the number of cycles.
// OUT_OF_RANGE if a stream takes more than 2^62 cycles.
absl::StatusOr<StreamTiming> TimeStream(const DecodedStream& stream,
                                        const v1::Machine::Engine& engine,
                                        bool blocking);

}  // namespace edgekiln::simfarm::dla

#endif  // EK_SIMFARM_SIMULATORS_DLA_TIMING_H_
