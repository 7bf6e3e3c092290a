#ifndef EK_COMPILER_QUANTIZE_HISTOGRAM_H_
#define EK_COMPILER_QUANTIZE_HISTOGRAM_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "edgekiln/v1/graph.pb.h"
#include "ops/cpu_path.h"

namespace edgekiln::compiler {

// Counts of values in bins of equal width, positive and negative apart. The
// width is a power of two and doubles when a value does not fit, so that the
// counts depend on the set of values only, never on their order. 4 KiB per sign
// that occurs; the first values are kept as they are and counted when they are
// too many, as networks of tiny layers have many tensors. Not thread-safe.
class Histogram {
 public:
  static constexpr int kBins = 1024;
  // Values that are kept; more are counted.
  static constexpr int64_t kFewValues = 256;
  // Readers of a message believe in so many empty bins in a row.
  static constexpr uint64_t kMostEmpty = 1 << 20;

  // Finite values only. The same counts with every `cpu_path`.
  void Add(absl::Span<const float> values,
           ops::CpuPath cpu_path = ops::CpuPath::kAuto);

  v1::CalibrationStatistics::Histogram ToProto() const;

  // Memory behind this object.
  int64_t bytes() const;

 private:
  // What exceeds 32 bits is counted apart: it takes days of samples.
  struct Counts {
    void Add(int bin, uint32_t count) {
      low[bin] += count;
      if (low[bin] < count) ++high[bin];
    }
    uint64_t Get(int bin) const;
    void Set(int bin, uint64_t count);
    void HalveLow();

    std::array<uint32_t, kBins> low = {};
    std::map<int, uint64_t> high;
  };

  // No count exceeds 32 bits before there are more values.
  static constexpr int64_t kFewCounted = UINT32_MAX;

  void Count(absl::Span<const float> values, ops::CpuPath cpu_path);
  void CountBins(absl::Span<const int32_t> bins);
  void Widen(double magnitude);

  std::vector<float> few_;  // Until they are counted.
  bool counted_ = false;
  int64_t counted_values_ = 0;
  bool empty_ = true;                 // Nothing was counted yet.
  std::unique_ptr<Counts> positive_;  // Bin i: [i, i+1) * width; or null.
  std::unique_ptr<Counts> negative_;  // Of magnitudes; not 0.
  int exponent_ = -40;                // The width of a bin is 2^exponent_.
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_HISTOGRAM_H_
