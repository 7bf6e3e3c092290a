#ifndef EK_SIMFARM_SESSION_TESTING_TEST_FIRMWARE_H_
#define EK_SIMFARM_SESSION_TESTING_TEST_FIRMWARE_H_

// Firmware of a few lines of C, for tests of sessions.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::simfarm::firmware {

inline constexpr char kNoCompiler[] =
    "no riscv64-unknown-elf-gcc; tools/install_packages firmware";
bool HasCompiler();

// Flash and RAM, 64 and 16 KiB; the stack takes kStackBytes of the RAM. One
// clock of 100 Hz, no costs.
v1::Machine Machine();
inline constexpr uint64_t kFlash = 0x20000000;
inline constexpr uint64_t kRam = 0x80000000;
inline constexpr int64_t kStackBytes = 1024;
// Where variables of the section ".arena" begin. Nothing clears them.
inline constexpr uint64_t kArena = kRam + 0x1000;

// An ELF file for RV32IM that obeys the contract of docs/targets/rv32.md.
// `network` is C with
//   void net_setup(void); and int net_invoke(void);
// With line tables if they are wanted, whose paths are relative: `#line` names
// the file. INTERNAL with what the compiler says.
absl::StatusOr<std::string> Build(const std::string& network,
                                  bool debug_info = false);

}  // namespace edgekiln::simfarm::firmware

#endif  // EK_SIMFARM_SESSION_TESTING_TEST_FIRMWARE_H_
