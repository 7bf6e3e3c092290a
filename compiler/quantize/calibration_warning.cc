#include "compiler/quantize/calibration_warning.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace edgekiln::compiler {
namespace {

constexpr int64_t kFew = 10;

// Ends at the first difference: costs nothing for data that is as it should be.
bool AllEqual(absl::Span<const v1::Chunk> chunks) {
  std::vector<absl::string_view> first;
  for (const v1::Chunk& chunk : chunks) {
    for (int64_t sample = 0; sample < chunk.samples(); ++sample) {
      std::vector<absl::string_view> inputs;
      for (const v1::Chunk::Array& array : chunk.arrays()) {
        const auto bytes = static_cast<size_t>(
            static_cast<int64_t>(array.data().size()) / chunk.samples());
        inputs.push_back(
            absl::string_view(array.data())
                .substr(static_cast<size_t>(sample) * bytes, bytes));
      }
      if (first.empty()) first = inputs;
      if (inputs != first) return false;
    }
  }
  return true;
}

}  // namespace

std::string CalibrationWarning(absl::Span<const v1::Chunk> chunks) {
  int64_t samples = 0;
  for (const v1::Chunk& chunk : chunks) {
    // All samples of a network without inputs are one.
    if (chunk.arrays().empty()) return "";
    samples += chunk.samples();
  }
  if (samples == 0) return "";
  constexpr char kFix[] =
      ": other inputs may lie outside of the ranges learned from them; give a "
      "few hundred that are like those of use";
  if (samples > 1 && AllEqual(chunks)) {
    return absl::StrCat("all ", samples, " calibration samples are the same",
                        kFix);
  }
  if (samples >= kFew) return "";
  return samples == 1 ? absl::StrCat("there is only 1 calibration sample", kFix)
                      : absl::StrCat("there are only ", samples,
                                     " calibration samples", kFix);
}

}  // namespace edgekiln::compiler
