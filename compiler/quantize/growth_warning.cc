#include "compiler/quantize/growth_warning.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace edgekiln::compiler {
namespace {

// Each doubling of a scale is a bit of the weights.
constexpr double kMuch = 4;
// Bits that hold the sums of every layer.
constexpr int kAllBits = 32;

}  // namespace

std::string GrowthWarning(const v1::QuantizationReport& report) {
  int layers = 0;
  const v1::QuantizedLayer* most = nullptr;
  for (const v1::QuantizedLayer& layer : report.layers()) {
    if (layer.scale_growth() < kMuch) continue;
    ++layers;
    if (most == nullptr || layer.scale_growth() > most->scale_growth()) {
      most = &layer;
    }
  }
  if (most == nullptr) return "";
  const double bits = std::log2(most->scale_growth());
  const int enough = std::min(
      most->accumulator_bits() + static_cast<int>(std::ceil(bits)), kAllBits);
  std::string text = absl::StrFormat(
      "layer %s loses %.1f bits of its weights: their scale is %.1f times as "
      "large so that sums of products fit the accumulator of %d bits",
      most->id(), bits, most->scale_growth(), most->accumulator_bits());
  if (layers > 1) {
    absl::StrAppend(&text, "; ", layers - 1, " more ",
                    layers > 2 ? "layers lose" : "layer loses",
                    " two bits or more");
  }
  absl::StrAppend(
      &text, ". ", enough,
      " bits would keep this layer's. A quantization file with layers { layer: "
      "\"",
      absl::Utf8SafeCEscape(most->id()),
      "\" scheme { accumulator_bits: 32 } } keeps them, too; the layer then "
      "runs on the host if its sums do not fit");
  return text;
}

}  // namespace edgekiln::compiler
