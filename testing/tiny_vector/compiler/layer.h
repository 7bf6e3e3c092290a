#ifndef EK_TESTING_TINY_VECTOR_COMPILER_LAYER_H_
#define EK_TESTING_TINY_VECTOR_COMPILER_LAYER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/engines/backend.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/graph.pb.h"
#include "ops/quantized_parameters.h"

namespace edgekiln::compiler::tiny_vector {

// An op as the engine sees it. Elements are bytes; images are dense [h][w][c].
struct Layer {
  enum class Kind {
    kAdd,
    kMaxPool,
    kAlias,  // Reshape: no command, the same bytes.
  };
  Kind kind = Kind::kAlias;
  int32_t op = -1;  // Index into Graph::ops.
  TensorId input = kNoTensor;
  TensorId input2 = kNoTensor;  // kAdd.
  TensorId output = kNoTensor;

  // kMaxPool.
  int64_t in_h = 1, in_w = 1;
  int64_t kernel_h = 1, kernel_w = 1;
  v1::Window2d window;
  ops::QuantizedRange clamp;
  // Of the output. An addition is one pixel of all elements.
  int64_t out_h = 1, out_w = 1, channels = 1;

  ops::QuantizedAddParameters add;  // kAdd.
};

// The ops of a region that was placed on the engine, in order. INTERNAL for ops
// without a pattern, INVALID_ARGUMENT if a quantization does not hold together.
absl::StatusOr<std::vector<Layer>> LayersOf(const Region& region);
absl::StatusOr<Layer> LayerOf(const Graph& graph, int32_t op);

}  // namespace edgekiln::compiler::tiny_vector

#endif  // EK_TESTING_TINY_VECTOR_COMPILER_LAYER_H_
