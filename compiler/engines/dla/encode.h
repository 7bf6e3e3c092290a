#ifndef EK_COMPILER_ENGINES_DLA_ENCODE_H_
#define EK_COMPILER_ENGINES_DLA_ENCODE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/engines/dla/chip.h"
#include "compiler/engines/dla/schedule.h"

namespace edgekiln::compiler::dla {

// A command stream as the chip reads it.
struct EncodedStream {
  std::string code;
  // Word index of every scheduled command, and of the first word that only it
  // needs (its register writes).
  std::vector<int32_t> command_word;
  std::vector<int32_t> first_word;
  int32_t words = 0;
  // What the front end and the units take for it, by docs/targets/dla.md
  // section 7: the compiler's prediction.
  int64_t cycles = 0;
  // Of them, those of each scheduled command. What comes after the last compute
  // command is the last command's.
  std::vector<int64_t> command_cycles;
};

// Writes a register only if its value changes. `offsets` and `waits` as
// AllocateOffsets and WaitCounts gave them. INTERNAL if a value does not fit
// its register: partitioning lets nothing pass that could.
absl::StatusOr<EncodedStream> EncodeStream(const Chip& chip,
                                           const Schedule& schedule,
                                           absl::Span<const int64_t> offsets,
                                           absl::Span<const int64_t> waits);

// What EncodeStream() finds of the stream's time, without its words.
struct StreamTime {
  int64_t cycles = 0;
  std::vector<int64_t> command_cycles;
  // Of the unit that runs it, by command.
  std::vector<int64_t> occupancy_cycles;
};
absl::StatusOr<StreamTime> TimeStream(const Chip& chip,
                                      const Schedule& schedule,
                                      absl::Span<const int64_t> offsets,
                                      absl::Span<const int64_t> waits);

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_ENCODE_H_
