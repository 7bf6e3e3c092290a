#ifndef EK_SIMFARM_SESSION_TESTING_FAKE_ENGINES_H_
#define EK_SIMFARM_SESSION_TESTING_FAKE_ENGINES_H_

// A made-up chip with three engines, for tests of sessions.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "simfarm/simulators/engine.h"

namespace edgekiln::simfarm::fake {

// Memories: 0 flash, 1 ram from kRam (the host's), 2 shared, from 0x100, that
// engines a and b reach, 3 pad, c's own. Engines: a and b, which the host
// drives, and c, which runs streams; a and the wall have 100 Hz, b 50, c 100,
// the host 200. Links: 0 the host's, between all but pad, of two dimensions,
// 4 bytes per cycle, set-up 10; 1 c's. A write of a register takes the host 2
// cycles, a read 3.
v1::Machine Machine();
inline constexpr uint64_t kRam = 0x80000000;
inline constexpr uint64_t kShared = 0x100;

// Registers of a and b. A job adds 1 to each of `bytes` bytes.
inline constexpr uint32_t kFrom = 0x0;  // Address in the shared memory ..
inline constexpr uint32_t kTo = 0x4;    // .. of operand and result.
inline constexpr uint32_t kBytes = 0x8;
inline constexpr uint32_t kCycles = 0xc;   // That it takes.
inline constexpr uint32_t kStart = 0x10;   // Any write starts it.
inline constexpr uint32_t kStatus = 0x14;  // 2 until the first job, 1, then 0.

// All register writes of one job, the start last.
v1::Program::RegisterWrites Job(int32_t engine, uint64_t from, uint64_t to,
                                uint32_t bytes, uint32_t cycles, int32_t layer);
// Until the job has ended.
v1::Program::Poll AwaitJob(int32_t engine, int32_t layer);

// A command of c is a byte: the low two bits are a StreamTiming::Spent, the
// others the number of cycles.
char Command(StreamTiming::Spent spent, int cycles);

// Of any of the three.
absl::StatusOr<std::unique_ptr<EngineSimulator>> NewSimulator(
    const v1::Machine::Engine& engine);

}  // namespace edgekiln::simfarm::fake

#endif  // EK_SIMFARM_SESSION_TESTING_FAKE_ENGINES_H_
