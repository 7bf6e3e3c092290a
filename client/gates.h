#ifndef EK_CLIENT_GATES_H_
#define EK_CLIENT_GATES_H_

// Limits that a caller sets, as typed values.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace edgekiln::client {

struct MemoryLimit {
  std::string memory;  // By its name in the target.
  int64_t bytes = 0;

  friend bool operator==(const MemoryLimit&, const MemoryLimit&) = default;
};

// What a report must keep for a command to pass.
struct Gates {
  std::optional<int64_t> max_cycles{};     // totals.cycles
  std::optional<double> max_latency_ms{};  // totals.latency_ms
  std::vector<MemoryLimit> max_memory{};   // memory.memories
  std::optional<int64_t> max_ram_bytes{};  // memory.ram_bytes
  std::optional<double> min_accuracy{};    // accuracy.value, 0..1
  std::optional<double> max_error{};       // accuracy.value of mse and mae
  // accuracy.disagreement, 0..1
  std::optional<double> max_disagreement{};
};

// How much worse than another report a report may be.
struct RegressionLimits {
  // Growth of cycles and of each memory.
  std::optional<double> max_percent{};
  // Percentage points of accuracy.
  std::optional<double> max_accuracy_drop{};
};

}  // namespace edgekiln::client

#endif  // EK_CLIENT_GATES_H_
