#ifndef EK_COMPILER_CHOOSE_ANSWERS_H_
#define EK_COMPILER_CHOOSE_ANSWERS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/ir/graph.h"
#include "compiler/quantize/calibration_samples.h"
#include "ops/cpu_path.h"

namespace edgekiln::compiler {

// How a quantized network differs from the float network.
struct Difference {
  // Share of samples that it is expected to answer otherwise. An answer is the
  // largest score of the first output; where that is no vector of scores, the
  // share of noise in the output's power stands for it.
  double disagreement = 0;
  std::optional<double> sqnr_db;  // Of the first output; none: no noise.
  // Mean square of the differences of leads, or of those of the output.
  double noise_power = 0;
};

// Compares quantized networks with the float network on some samples, without
// labels.
//
// Few samples change their answer, so that their number says little about other
// samples: 1 of 100 may be 0.2 % or 5 % of many. The expected share says more:
// each sample's leads of the largest score over the others, against the noise
// of such leads, taken as normal. Only if so many changed that chance does not
// explain it, the lower end of the share's 95 % interval (Wilson, 1927) counts
// instead. Scores are compared before a softmax, where leads are not squeezed.
//
// Not thread-safe.
class Answers {
 public:
  // Runs `graph`, the float one, which must outlive it. At least one sample.
  // FAILED_PRECONDITION if the graph has no float output.
  static absl::StatusOr<Answers> Create(const Graph& graph,
                                        CalibrationSamples samples,
                                        ops::CpuPath cpu_path);

  // `quantized` was made of the graph: tensors have the same names.
  absl::StatusOr<Difference> Compare(const Graph& quantized) const;
  // By what a quantized network makes of tensor() for the first samples: real
  // values, [samples, elements].
  Difference CompareValues(absl::Span<const float> values) const;

  // The same share for a noise of leads that was not measured.
  double ExpectedDisagreement(double noise_power) const;

  bool has_scores() const { return has_scores_; }
  int64_t samples() const { return samples_.size(); }
  // Of all samples.
  int64_t values() const { return std::ssize(real_); }
  // The name of what is compared.
  const std::string& tensor() const { return tensor_; }

 private:
  Answers(CalibrationSamples samples, ops::CpuPath cpu_path)
      : samples_(std::move(samples)), cpu_path_(cpu_path) {}
  Difference CompareScores(absl::Span<const float> values) const;

  CalibrationSamples samples_;
  ops::CpuPath cpu_path_;
  std::string tensor_;
  int64_t elements_ = 0;  // Of it.
  bool has_scores_ = false;
  std::vector<float> real_;    // [samples, elements]
  std::vector<int64_t> best_;  // By sample: index of the largest score.
  double power_ = 0;           // Mean square of real_.
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CHOOSE_ANSWERS_H_
