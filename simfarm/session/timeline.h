#ifndef EK_SIMFARM_SESSION_TIMELINE_H_
#define EK_SIMFARM_SESSION_TIMELINE_H_

// Who owns which cycle of the wall clock, when host and engines run side by
// side.

#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "simfarm/simulators/engine_stream.h"

namespace edgekiln::simfarm {

// `cycles` of a clock in cycles of another, rounded up. OUT_OF_RANGE if it does
// not fit 62 bits.
absl::StatusOr<int64_t> ConvertCycles(int64_t cycles, int64_t from_hz,
                                      int64_t to_hz);

// Spans are added in order of precedence: a cycle belongs to the first span
// that covers it. Not thread-safe.
class Timeline {
 public:
  using Spent = StreamTiming::Spent;
  struct Owned {
    int64_t compute_cycles = 0;
    int64_t transfer_cycles = 0;
    int64_t contention_cycles = 0;
    int64_t control_cycles = 0;
  };

  explicit Timeline(int num_layers) : owned_(num_layers) {}

  // Gives [begin, end), as far as nobody owns it, to `layer`.
  void Add(int64_t begin, int64_t end, int32_t layer, Spent spent);

  const std::vector<Owned>& owned() const { return owned_; }

 private:
  std::vector<Owned> owned_;
  std::map<int64_t, int64_t> covered_;  // Disjoint spans, begin to end.
};

}  // namespace edgekiln::simfarm

#endif  // EK_SIMFARM_SESSION_TIMELINE_H_
