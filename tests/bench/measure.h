#ifndef EK_TESTS_BENCH_MEASURE_H_
#define EK_TESTS_BENCH_MEASURE_H_

// Timing on a machine that has other work to do: CPU time where one process
// does all the work, subjects taken in turns so that a disturbance hits all of
// them alike, medians so that it counts little.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace edgekiln::bench {

// User and system time of this process, all threads.
double ProcessCpuSeconds();
// Of the processes that this one has waited for.
double ChildCpuSeconds();
// Never goes back.
double WallSeconds();

// Of values in any order; `share` in 0 .. 1. 0 without values.
double Quantile(std::vector<double> values, double share);

struct Subject {
  std::string name;
  std::function<absl::Status()> run;
};

struct MeasureOptions {
  int rounds = 21;
  // A subject is repeated until a sample takes at least this long.
  double sample_seconds = 0.01;
  // Fewer rounds, but at least 3, for what takes longer than this in all.
  double subject_seconds = 6;
};

// Seconds of CPU time per call.
struct Timing {
  int64_t samples = 0;
  double median = 0;
  double low = 0;   // 10th percentile.
  double high = 0;  // 90th percentile.
};

// One timing per subject. Runs each once before, unmeasured. The first error of
// a subject ends everything.
absl::StatusOr<std::vector<Timing>> MeasureInterleaved(
    const std::vector<Subject>& subjects, const MeasureOptions& options);

// Summary of samples that were taken elsewhere.
Timing Summarise(const std::vector<double>& samples);

}  // namespace edgekiln::bench

#endif  // EK_TESTS_BENCH_MEASURE_H_
