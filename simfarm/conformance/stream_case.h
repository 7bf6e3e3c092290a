#ifndef EK_SIMFARM_CONFORMANCE_STREAM_CASE_H_
#define EK_SIMFARM_CONFORMANCE_STREAM_CASE_H_

// A command stream with what it finds in memory, and what comes of running it:
// the common ground of all models that the suites compare.

#include <cstdint>
#include <map>
#include <string>

namespace edgekiln::simfarm::conformance {

struct StreamProgram {
  std::string code;
  std::string flash;  // From its first address.
  std::string ram;    // Initial content, from its first address; all defined.
};

// Cycles that belong to a command word.
struct OwnedCycles {
  int64_t compute = 0;
  int64_t stall = 0;
  bool operator==(const OwnedCycles&) const = default;
};

struct StreamOutcome {
  // Not empty: the program was refused, and nothing below is set.
  std::string error;
  int64_t cycles = 0;
  int64_t busy_cycles = 0;
  std::map<int32_t, OwnedCycles> owned;  // By word; no zero entries.
  int64_t bytes_read = 0;
  int64_t bytes_written = 0;
  std::string ram;  // Afterwards.
  // The scratchpad afterwards, 0 where nothing was written.
  std::string scratchpad;
};

// "" if both outcomes are the same (two refusals are, whatever they say), else
// the first difference.
std::string FirstDifference(const StreamOutcome& a, const StreamOutcome& b);

}  // namespace edgekiln::simfarm::conformance

#endif  // EK_SIMFARM_CONFORMANCE_STREAM_CASE_H_
