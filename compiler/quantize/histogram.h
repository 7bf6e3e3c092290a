#ifndef EK_COMPILER_QUANTIZE_HISTOGRAM_H_
#define EK_COMPILER_QUANTIZE_HISTOGRAM_H_

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace edgekiln::compiler {

// Counts of values in bins of equal width, positive and negative apart. The
// width is a power of two and doubles when a value does not fit, so that the
// counts depend on the set of values only, never on their order. The first
// values are kept as they are and counted when they are too many: a network of
// tiny layers has more tensors than there is memory for bins. Not thread-safe.
class Histogram {
 public:
  // Values that are kept; more are counted.
  static constexpr int64_t kFewValues = 1024;

  // Finite values only.
  void Add(absl::Span<const float> values);

  // The smallest and largest value that are left when the share
  // (1 - kept_ppm / 1e6) / 2 of all values is cut off at each end, rounded
  // outwards to a border of a bin. {0, 0} without values.
  std::pair<double, double> Kept(int64_t kept_ppm) const;

  // Memory behind this object.
  int64_t bytes() const;

 private:
  static constexpr int kBins = 8192;
  using Bins = std::array<int64_t, kBins>;
  struct Counts {
    Bins positive = {};  // Bin i: [i, i+1) * width.
    Bins negative = {};  // Of magnitudes; not 0.
  };

  void Count(absl::Span<const float> values);
  void Widen(double magnitude);
  // Values at this end that are at least |border of bin i|, from the outside.
  static double Outermost(const Bins& outer, const Bins& inner, int64_t dropped,
                          double width);

  std::vector<float> few_;          // Until there are counts.
  std::unique_ptr<Counts> counts_;  // Of all values, or null.
  double width_ = 0x1p-40;          // Of a bin.
  int64_t count_ = 0;
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_HISTOGRAM_H_
