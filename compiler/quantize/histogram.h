#ifndef EK_COMPILER_QUANTIZE_HISTOGRAM_H_
#define EK_COMPILER_QUANTIZE_HISTOGRAM_H_

#include <array>
#include <cstdint>
#include <utility>

#include "absl/types/span.h"

namespace edgekiln::compiler {

// Counts of values in bins of equal width, positive and negative apart. The
// width is a power of two and doubles when a value does not fit, so that the
// counts depend on the set of values only, never on their order. Not
// thread-safe.
class Histogram {
 public:
  // Finite values only.
  void Add(absl::Span<const float> values);

  // The smallest and largest value that are left when the share
  // (1 - kept_ppm / 1e6) / 2 of all values is cut off at each end, rounded
  // outwards to a border of a bin. {0, 0} without values.
  std::pair<double, double> Kept(int64_t kept_ppm) const;

 private:
  static constexpr int kBins = 8192;

  void Widen(double magnitude);
  // Values at this end that are at least |border of bin i|, from the outside.
  static double Outermost(const std::array<int64_t, kBins>& outer,
                          const std::array<int64_t, kBins>& inner,
                          int64_t dropped, double width);

  double width_ = 0x1p-40;  // Of a bin.
  int64_t count_ = 0;
  std::array<int64_t, kBins> positive_ = {};  // Bin i: [i, i+1) * width.
  std::array<int64_t, kBins> negative_ = {};  // Of magnitudes; not 0.
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_HISTOGRAM_H_
