#ifndef EK_SIMFARM_SIMULATORS_RV32_TESTING_RANDOM_PROGRAM_H_
#define EK_SIMFARM_SIMULATORS_RV32_TESTING_RANDOM_PROGRAM_H_

// Random programs for two simulators to agree on: one image runs many of them
// and writes what each left behind to a console.

#include <array>
#include <cstdint>
#include <string>

#include "simfarm/simulators/rv32/isa.h"

namespace edgekiln::simfarm::rv32::testing {

// What both machines have.
inline constexpr uint32_t kRamBase = 0x80000000;
inline constexpr int64_t kRamBytes = int64_t{16} << 20;
inline constexpr uint32_t kConsoleAddress = 0x10000000;  // Characters.
inline constexpr uint32_t kExitAddress = 0x00100000;     // 0x5555 ends.

// What one program leaves, as it is written.
struct ProgramRecord {
  uint32_t instret = 0;  // Of the program and of its trap handler.
  uint32_t traps = 0;
  uint32_t trap_hash = 0;  // mcause, mepc and mtval of each.
  uint32_t memory_hash = 0;
  uint32_t fcsr = 0;
  std::array<uint32_t, 32> x = {};
  std::array<uint32_t, 32> f = {};

  friend bool operator==(const ProgramRecord&, const ProgramRecord&) = default;
};

// "instret 12 traps 0 ..": for failures.
std::string Describe(const ProgramRecord& record);

// An executable that runs `programs` random programs of about `length`
// instructions each, of all that `isa` has, with loops and jumps; every other
// one also has reserved encodings and what else traps. It then writes a
// ProgramRecord for each to the console and ends. Same arguments, same bytes.
std::string RandomPrograms(Isa isa, uint64_t seed, int programs, int length);

// The same that executes each of the 65536 halfwords that is neither a jump nor
// an access, or is reserved: `shard` of `shards`, as one program.
std::string AllHalfwords(Isa isa, int shard, int shards);

}  // namespace edgekiln::simfarm::rv32::testing

#endif  // EK_SIMFARM_SIMULATORS_RV32_TESTING_RANDOM_PROGRAM_H_
