#ifndef EK_COMPILER_QUANTIZE_CALIBRATION_SAMPLES_H_
#define EK_COMPILER_QUANTIZE_CALIBRATION_SAMPLES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/graph.pb.h"

namespace edgekiln::compiler {

// CALIBRATION_INVALID, a user's error.
absl::Status InvalidCalibration(std::string what, std::string where,
                                std::string need, std::string fix);

// The samples of some chunks in an order that does not depend on the order of
// the data set: that of their SHA-256. Where states are carried from sample to
// sample, in the order of the data.
class CalibrationSamples {
 public:
  // INVALID_ARGUMENT if a chunk does not fit the graph's inputs. `chunks` must
  // outlive the result.
  static absl::StatusOr<CalibrationSamples> Create(
      const Graph& graph, absl::Span<const v1::Chunk> chunks);

  int64_t size() const { return static_cast<int64_t>(samples_.size()); }
  // Samples follow from each other: some input is carried.
  bool sequential() const { return sequential_; }
  // One value per graph input; empty for a carried state.
  std::vector<absl::string_view> Inputs(int64_t sample) const;
  // Only the first `count` remain.
  void Limit(int64_t count);
  // Only samples first, first + step, .. remain.
  void Keep(int64_t first, int64_t step);

 private:
  struct Sample {
    int32_t chunk = 0;
    int64_t index = 0;
  };

  absl::Span<const v1::Chunk> chunks_;
  std::vector<std::vector<int64_t>> bytes_;  // Of a sample, by chunk and input.
  std::vector<Sample> samples_;
  bool sequential_ = false;
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_CALIBRATION_SAMPLES_H_
