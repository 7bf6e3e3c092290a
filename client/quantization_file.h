#ifndef EK_CLIENT_QUANTIZATION_FILE_H_
#define EK_CLIENT_QUANTIZATION_FILE_H_

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/file.h"
#include "edgekiln/v1/quantization.pb.h"

namespace edgekiln::client {

// Reads the file of `option`: a QuantizationConfig in text form, as
// ParseTextMessage() takes it. A usage error also if there is no such file.
absl::StatusOr<v1::QuantizationConfig> ReadQuantizationFile(
    FileSystem& files, const std::string& path, const std::string& option);

// What --accuracy-budget says, if it is given, in percentage points: over what
// the file says.
inline void SetAccuracyBudget(std::optional<double> points,
                              v1::QuantizationConfig& config) {
  constexpr double kMillionthsPerPoint = 10'000;
  if (!points.has_value()) return;
  config.set_accuracy_budget_ppm(
      static_cast<int32_t>(std::llround(*points * kMillionthsPerPoint)));
}

// The same in `options` of a job or a sweep.
template <typename Options>
void SetAccuracyBudget(std::optional<double> points, Options& options) {
  if (!points.has_value()) return;
  SetAccuracyBudget(points, *options.mutable_quantization());
}

}  // namespace edgekiln::client

#endif  // EK_CLIENT_QUANTIZATION_FILE_H_
