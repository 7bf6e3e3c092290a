#ifndef EK_COMPILER_QUANTIZE_CONVERTER_FIT_H_
#define EK_COMPILER_QUANTIZE_CONVERTER_FIT_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "compiler/ir/graph.h"
#include "compiler/quantize/value_kernels.h"
#include "edgekiln/v1/graph.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "ops/cpu_path.h"
#include "ops/quantized_parameters.h"

// The numbers of an OpAttributes.converter (docs/numerics.md, 3.20) for a layer
// of a float network: a gain for the layer, a scale and an offset per channel
// and a shift. Pure, in double and in a fixed order: the same on every machine.
namespace edgekiln::compiler {

// A layer whose sums are converted.
struct ConvertedLayer {
  v1::Numerics::Converter engine;  // What the engine's converter can do.
  ops::QuantizedRange range = {};  // Of results, after the clamp.
  double output_scale = 1;         // Of results; their zero point is 0.
  // By channel: the real value of a sum of 1, and of the bias, which the sums
  // leave out.
  std::vector<double> steps = {};
  std::vector<double> bias = {};
};

// `op` is the float layer, `weights` and `output` are quantizations, `bias` has
// a value per output channel.
ConvertedLayer ConvertedLayerOf(const v1::Numerics::Converter& engine,
                                const Op& op, double input_scale,
                                const Quantization& weights,
                                const Quantization& output,
                                absl::Span<const float> bias);

// result = scale * code + offset, in steps of the output.
struct CodeLine {
  double scale = 0;
  double offset = 0;
};

// Without samples: the smallest gain that clips no real result up to
// `largest_result` in size.
v1::Converter ConverterWithoutSamples(const ConvertedLayer& layer,
                                      double largest_result);

// Chooses a gain by the error of the results, which trades clipped codes for
// wider ones, and for each gain the scale and offset of each channel by linear
// regression of the real results over the codes. Only results that the clamp
// lets through count. Some thousand positions are looked at, spread evenly. Not
// thread-safe.
class ConverterFit {
 public:
  // `rows` positions in all, of one value per channel each.
  ConverterFit(ConvertedLayer layer, int64_t rows,
               ops::CpuPath cpu_path = ops::CpuPath::kAuto);

  // Real results before the clamp, of rows first .. first + count - 1; in
  // order, all of them.
  void AddReal(int64_t first, int64_t count, const float* values);
  // The same, of those rows that are looked at: Takes().
  void AddTakenReals(absl::Span<const float> values);
  bool Takes(int64_t row) const { return row % stride_ == 0; }
  // The layer's integer sums, in the same way.
  void AddSums(int64_t first, int64_t count, const int32_t* values);

  // After all rows.
  v1::Converter Best() const;

 private:
  struct Fitted {
    v1::Converter converter;
    double error = 0;
  };

  std::vector<int32_t> CodesOf(int32_t gain,
                               absl::Span<const int32_t> sums) const;
  // By `sums` and what they should become, `real`: rows of all channels.
  Fitted FitGain(int32_t gain, absl::Span<const float> real,
                 absl::Span<const int32_t> sums) const;
  struct Moments;
  void Regress(absl::Span<const float> real, const std::vector<int32_t>& codes,
               absl::Span<CodeLine> lines) const;
  double ErrorOf(const v1::Converter& converter, absl::Span<const float> real,
                 const std::vector<int32_t>& codes) const;

  const ValueKernels& kernels_;
  const ConvertedLayer layer_;
  const int64_t channels_;
  const int64_t stride_;
  // [rows looked at, channels]; real results in steps of the output.
  std::vector<float> real_;
  std::vector<int32_t> sums_;
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_CONVERTER_FIT_H_
