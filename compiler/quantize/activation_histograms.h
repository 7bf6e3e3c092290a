#ifndef EK_COMPILER_QUANTIZE_ACTIVATION_HISTOGRAMS_H_
#define EK_COMPILER_QUANTIZE_ACTIVATION_HISTOGRAMS_H_

// What calibration sees of each tensor, and how much memory that may take.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "compiler/ir/graph.h"
#include "compiler/quantize/histogram.h"

namespace edgekiln::compiler {

// Everything seen of one tensor.
struct Observed {
  TensorId tensor = kNoTensor;
  bool any = false;
  float min = 0;
  float max = 0;
  std::optional<Histogram> histogram;  // Of this run of the samples.
  bool postponed = false;              // Its histogram is for another run.
  std::optional<std::pair<double, double>> kept;  // By percentiles.
};

// The histograms of one run of the samples, within a bound for all of them: if
// they take more, the last ones are left for another run. Not thread-safe.
class ActivationHistograms {
 public:
  // `observed` must outlive the object, and its histograms change here alone.
  ActivationHistograms(std::vector<Observed>& observed, int64_t max_bytes)
      : observed_(observed), max_bytes_(max_bytes), last_(observed.size()) {}

  // Nothing if that tensor has none in this run.
  void Add(absl::Span<const float> values, Observed& observed);
  // It needs none, in no run.
  void Drop(Observed& observed);
  // Whether there has to be another run, which then begins.
  bool EndRun(int64_t kept_ppm);

 private:
  // False if there is but one left, which each run has to get done with.
  bool PostponeLast();

  std::vector<Observed>& observed_;
  const int64_t max_bytes_;
  int64_t bytes_ = 0;  // Of all histograms there are.
  size_t last_;        // From here on there are none.
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_ACTIVATION_HISTOGRAMS_H_
