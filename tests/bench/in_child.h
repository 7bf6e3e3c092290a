#ifndef EK_TESTS_BENCH_IN_CHILD_H_
#define EK_TESTS_BENCH_IN_CHILD_H_

// What something costs in a process that has done nothing before.

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace edgekiln::bench {

struct ChildCost {
  // User and system time of all threads, and that of doing it once more.
  double cpu_seconds = 0;
  double again_cpu_seconds = 0;
  double peak_growth_mib = 0;  // Peak of the resident set over what it was.
};

// Of doing `work` twice in this process, which ends the program if it fails.
ChildCost CostOf(const std::function<absl::Status()>& work);

// Runs `work` twice in a forked child, so that no memory of other runs is there
// to be reused. The child has this thread alone. INTERNAL if the work fails
// there; its own error is on stderr.
absl::StatusOr<ChildCost> RunInChild(const std::function<absl::Status()>& work);

}  // namespace edgekiln::bench

#endif  // EK_TESTS_BENCH_IN_CHILD_H_
