#ifndef EK_COMPILER_QUANTIZE_BIAS_CORRECTION_H_
#define EK_COMPILER_QUANTIZE_BIAS_CORRECTION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "edgekiln/v1/graph.pb.h"
#include "ops/cpu_path.h"

namespace edgekiln::compiler {

// What the bias of each output channel of a layer lacks: quantized inputs and
// weights move the mean of its sums (Nagel et al., "Data-Free Quantization
// Through Weight Equalization and Bias Correction", 2019, section 4.2; here it
// is measured). Only values that reach what follows count: of a channel that a
// ReLU mostly shuts, the mean of what is shut would decide; of scores before a
// softmax, that of scores far below the largest.
//
// Some thousand positions per channel are looked at, spread evenly. Sums are in
// double in a fixed order. Not thread-safe.
class BiasCorrection {
 public:
  // Every so many samples of `rows` positions each need to be looked at: where
  // samples have many, some of them are enough.
  static int64_t SampleStep(int64_t rows, int64_t samples);

  // `rows` positions in all, of `channels` values each.
  // Before a softmax over the channels, values more than `below_largest` below
  // the largest of their row do not count; infinite: all do.
  BiasCorrection(const v1::Clamp& clamp, double below_largest, int64_t channels,
                 int64_t rows);

  // Real results before the clamp, of rows first .. first + count - 1; in
  // order, all of them.
  void AddReal(int64_t first, int64_t count, const float* values);
  // After all real ones, in the same way: the layer's integer sums, in steps of
  // each channel, which hold `more` than they should (empty: nothing).
  void AddSums(int64_t first, int64_t count, const int32_t* values,
               absl::Span<const double> steps,
               absl::Span<const double> more = {});

  // By channel, in real values: what makes the clamped results differ less; 0
  // where nothing does. Few scores count before a softmax: there, a mean that
  // may be chance is shrunk (James and Stein, "Estimation with Quadratic Loss",
  // 1961), to 0 below two standard errors. The same bits with every `cpu_path`.
  std::vector<double> Missing(
      ops::CpuPath cpu_path = ops::CpuPath::kAuto) const;

 private:
  // Whether the row is looked at.
  bool Takes(int64_t row) const { return row % stride_ == 0; }
  struct Totals {
    std::vector<double> errors;
    std::vector<double> differences;
    std::vector<double> squares;
    std::vector<double> counts;
  };
  Totals TotalsWith(absl::Span<const double> shift,
                    ops::CpuPath cpu_path) const;
  const int64_t channels_;
  const int64_t stride_;
  const double below_largest_;
  double low_;
  double high_;
  std::vector<float> real_;  // [rows looked at, channels]
  std::vector<float> ours_;
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_BIAS_CORRECTION_H_
