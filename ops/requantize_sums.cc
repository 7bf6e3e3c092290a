#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/status_macros.h"
#include "ops/dot.h"
#include "ops/kernels.h"
#include "ops/quantized_parameters.h"

// What follows an int32 accumulator: the end of a convolution, by the same
// code.
namespace edgekiln::ops {
namespace {

// With one factor, elements are as good as columns: so many go together.
constexpr int64_t kColumns = 1024;

// `rows` rows of the columns that the parameters are of.
using RequantizeRows = void (*)(const QuantizedDotParameters& parameters,
                                const int32_t* x, int64_t rows,
                                const DotTarget& to, CpuPath path);

void ToBytes(const QuantizedDotParameters& parameters, const int32_t* x,
             int64_t rows, const DotTarget& to, CpuPath path) {
  ByteFinish(parameters).Run(x, rows, to.stride, to, path);
}

void ToInt16(const QuantizedDotParameters& parameters, const int32_t* x,
             int64_t rows, const DotTarget& to, CpuPath) {
  auto* y = to.output.as<int16_t>() + to.first;
  for (int64_t i = 0; i < rows * to.stride; ++i) {
    y[i] = static_cast<int16_t>(
        Finish(x[i], parameters.multiplier[i % to.stride],
               parameters.output_zero_point, parameters.clamp));
  }
}

}  // namespace

absl::Status Requantize(const v1::Requantize& op, v1::Rounding rounding,
                        const TensorView& input,
                        const MutableTensorView& output, CpuPath path) {
  const int64_t elements = NumElements(output.shape);
  const int64_t columns = op.multiplier_size() > 1
                              ? output.shape.back()
                              : std::min(elements, kColumns);
  EK_ASSIGN_OR_RETURN(QuantizedDotParameters parameters,
                      RequantizeParameters(op, rounding, output.quantization,
                                           output.type, columns));
  const RequantizeRows run = output.type == v1::INT16 ? ToInt16 : ToBytes;
  const int64_t rows = elements / columns;
  const auto* x = input.as<int32_t>();
  run(parameters, x, rows, {output, 0, columns, 0, {}}, path);
  const int64_t done = rows * columns;
  if (done == elements) return absl::OkStatus();
  parameters.multiplier.resize(elements - done);
  run(parameters, x + done, 1, {output, done, elements - done, 0, {}}, path);
  return absl::OkStatus();
}

}  // namespace edgekiln::ops
