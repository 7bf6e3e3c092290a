#ifndef EK_SIMFARM_SIMULATORS_RV32_ELF_H_
#define EK_SIMFARM_SIMULATORS_RV32_ELF_H_

// Reads 32-bit little-endian RISC-V executables.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace edgekiln::simfarm::rv32 {

struct Segment {
  uint32_t address = 0;  // Where the loader puts the bytes (p_paddr).
  std::string bytes;     // As in the file.
  // In memory, at least bytes.size(); only these if they run elsewhere.
  int64_t size_bytes = 0;
};

struct Function {
  std::string name;
  uint32_t address = 0;
  uint32_t size_bytes = 0;  // 0: up to the next function.
};

struct Executable {
  uint32_t entry = 0;
  std::vector<Segment> segments;    // In file order; none is empty.
  std::vector<Function> functions;  // By address, then name.
};

inline constexpr int64_t kMaxElfBytes = int64_t{1} << 28;
inline constexpr int kMaxSegments = 64;
inline constexpr int64_t kMaxFunctions = 1 << 16;
inline constexpr int64_t kMaxFunctionNameBytes = 512;  // Longer ones are cut.

// `file` is hostile. INVALID_ARGUMENT names the header, segment or section that
// is wrong. Besides functions, symbols without a type count where they lie in
// executable sections, as those of assembler sources do.
absl::StatusOr<Executable> ReadElf(absl::string_view file);

}  // namespace edgekiln::simfarm::rv32

#endif  // EK_SIMFARM_SIMULATORS_RV32_ELF_H_
