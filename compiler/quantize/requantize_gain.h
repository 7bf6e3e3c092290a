#ifndef EK_COMPILER_QUANTIZE_REQUANTIZE_GAIN_H_
#define EK_COMPILER_QUANTIZE_REQUANTIZE_GAIN_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// Whether engines with `capabilities` take more multiplications of a quantized
// model once it is quantized anew. Empty if they do not; else what they need of
// the largest layer that they then take, half a sentence: "array needs tensors
// with zero point 0". `real` is Unquantize(quantized).graph. INVALID_ARGUMENT
// if the capabilities are not what targets are resolved to.
absl::StatusOr<std::string> WhyRequantize(const Graph& quantized,
                                          const Graph& real,
                                          const v1::Capabilities& capabilities);

// Multiplications of a graph as it is.
struct EngineMacs {
  int64_t all = 0;
  int64_t on_engines = 0;
};
absl::StatusOr<EngineMacs> MacsOnEngines(const Graph& quantized,
                                         const v1::Capabilities& capabilities);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_REQUANTIZE_GAIN_H_
