#ifndef EK_SERVER_SWEEP_CHIPS_H_
#define EK_SERVER_SWEEP_CHIPS_H_

// The targets of a sweep, each read once.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "edgekiln/v1/sweep.pb.h"
#include "target/variants.h"

namespace edgekiln::server {

struct Chip {
  std::string name;  // In rows.
  std::string text;  // Its whole descriptor.
  target::Variants variants;
  bool has_engines = false;
};

// Not thread-safe.
class Chips {
 public:
  // `files`: as of PlanSweep(); they must outlive it.
  explicit Chips(absl::Span<const absl::string_view> files) : files_(files) {}

  // Those of the next group, in the order of its targets; each once. `warnings`
  // gets what was asked for twice. INVALID_ARGUMENT.
  absl::StatusOr<std::vector<const Chip*>> OfGroup(
      const v1::SweepGroup& group, std::vector<std::string>& warnings);

 private:
  absl::StatusOr<const Chip*> OfFile(const std::string& name);
  absl::StatusOr<const Chip*> OfBuiltin(const std::string& name,
                                        const std::string& text);
  absl::Status AddMatching(const std::string& pattern,
                           std::vector<const Chip*>& chips);

  const absl::Span<const absl::string_view> files_;
  size_t next_file_ = 0;
  std::vector<std::unique_ptr<const Chip>> chips_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_SWEEP_CHIPS_H_
