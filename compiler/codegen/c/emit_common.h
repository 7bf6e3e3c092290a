#ifndef EK_COMPILER_CODEGEN_C_EMIT_COMMON_H_
#define EK_COMPILER_CODEGEN_C_EMIT_COMMON_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "compiler/codegen/c/step_writer.h"
#include "edgekiln/v1/graph.pb.h"
#include "ops/quantized_parameters.h"
#include "ops/requantize.h"
#include "ops/window.h"

// What the emitters of several families are written with.
namespace edgekiln::compiler {

bool IsFloat(v1::ElementType type);  // 32 or 64 bits.
// "1.0f" or "1.0": of the type of `type`.
std::string CReal(v1::ElementType type, double value);

// "finish_up", "finish_even" or "finish_floor".
std::string FinishName(v1::Rounding rounding);
// Finish() of ops/dot_output.h as a call.
std::string FinishCall(StepWriter& w, const std::string& value,
                       const ops::FixedPointMultiplier& factor, int64_t zero,
                       const ops::QuantizedRange& range);
// Rescale() as a call.
std::string RescaleCall(StepWriter& w, const std::string& value,
                        const ops::FixedPointMultiplier& factor);

// `value` limited by the bounds that the clamp has; NaN passes. `value` is a
// variable that may be assigned.
void EmitRealClamp(StepWriter& w, v1::ElementType type, const v1::Clamp& clamp,
                   const std::string& value);

// For every element of output 0, in order, what `expression(operands)` gives
// for the elements of inputs 0 .. count-1 that numpy's broadcasting pairs with
// it. Operands are variables a, b, c of the inputs' types. The result is cast
// to the output's type. Also says which inputs may be overwritten.
using OperandNames = std::vector<std::string>;
void EmitElementwise(
    StepWriter& w, size_t count,
    const std::function<std::string(const OperandNames&)>& expression);

// Loops around a body: `i0`, `i1`, ... with these extents; those of 1 are
// constants 0. Close as many as Open returns.
int OpenLoops(CodeWriter& code, const std::vector<int64_t>& extents,
              const std::string& name = "i");
void CloseLoops(CodeWriter& code, int count);

// "i0 * 12 + i1 * 3 + i2" without terms that are 0.
std::string IndexOf(const std::vector<int64_t>& extents,
                    const std::vector<int64_t>& steps,
                    const std::string& name = "i");

// Of a convolution, a depthwise one, or a fully connected layer, whose rows
// count as a batch of single pixels.
ops::WindowGeometry DotGeometry(const StepWriter& w);

int64_t Product(absl::Span<const int64_t> values);

// Expression that converts a double variable to an integer type: towards zero,
// limited to its range; NaN gives 0. (emit_conversion.cc)
std::string SaturatingCast(v1::ElementType type, const std::string& value);

// Rows of a per-channel quantity: a literal where all are equal, else an
// element `[index]` of an array.
template <typename T>
std::string PerChannel(StepWriter& w, v1::ElementType type,
                       const std::vector<T>& values, const std::string& index) {
  for (const T value : values) {
    if (value != values[0]) {
      return absl::StrCat(w.Array(type, values), "[", index, "]");
    }
  }
  return CInteger(values.empty() ? 0 : values[0]);
}

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_EMIT_COMMON_H_
