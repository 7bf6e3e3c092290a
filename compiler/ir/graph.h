#ifndef EK_COMPILER_IR_GRAPH_H_
#define EK_COMPILER_IR_GRAPH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/ir/constant_data.h"
#include "edgekiln/v1/graph.pb.h"

// The intermediate representation: a flat list of tensors and a topologically
// ordered list of ops over them. Quantization parameters are attributes of
// tensors, never ops of their own; activations are NHWC except at graph inputs
// and outputs, which keep the source model's own layout behind Transpose ops.
//
// Not thread-safe; copyable (constant data is shared, immutable).
namespace edgekiln::compiler {

// Affine quantization, real = scale[c] * (q - zero_point[c]); one entry, or one
// per channel of dimension `axis`.
struct Quantization {
  std::vector<float> scale;
  std::vector<int32_t> zero_point;
  int32_t axis = 0;

  bool per_channel() const { return scale.size() > 1; }
  bool operator==(const Quantization&) const = default;
};

// Index into Graph::tensors. -1 stands for an absent optional input.
using TensorId = int32_t;
inline constexpr TensorId kNoTensor = -1;

struct Tensor {
  std::string name;  // Unique in the graph.
  v1::ElementType type = v1::ELEMENT_TYPE_UNSPECIFIED;
  std::vector<int64_t> shape;  // Static.
  std::optional<Quantization> quantization;
  ConstantData data;  // Little-endian, row-major; none for activations.

  bool is_constant() const { return data.has_value(); }
  int64_t num_elements() const;  // VerifyGraph has checked the product.
};

struct Op {
  std::string id;    // Stable layer id: [a-z0-9_.-]+, unique.
  std::string name;  // As in the source model; may be empty.
  v1::OpAttributes attributes;
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;

  // "conv2d", "add", ...: the field name in v1::OpAttributes.
  absl::string_view kind() const;
};

// A tensor that lives from one inference to the next: what `output` holds after
// one is `input` of the next; zero (real value) before the first.
struct State {
  TensorId input = kNoTensor;  // One of Graph::inputs.
  // One of Graph::outputs; same type, one scale at most.
  TensorId output = kNoTensor;
};

// An input or output whose real values the caller converts from and to
// integers; the tensor of the graph is what the chip has.
struct ConvertedPort {
  int32_t port = 0;  // Index into Graph::inputs or Graph::outputs.
  v1::ElementType type = v1::ELEMENT_TYPE_UNSPECIFIED;  // Of the source model.
  v1::Rounding rounding = v1::HALF_UP;                  // Of inputs.

  bool operator==(const ConvertedPort&) const = default;
};

struct Graph {
  std::string name;
  std::vector<Tensor> tensors;
  std::vector<Op> ops;  // Topological order.
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
  std::vector<State> states;
  std::vector<ConvertedPort> converted_inputs;   // Ascending.
  std::vector<ConvertedPort> converted_outputs;  // Ascending.
};

// Bytes of one element; 0 for ELEMENT_TYPE_UNSPECIFIED.
int64_t ElementBytes(v1::ElementType type);

// Multiply-accumulates of one op for one inference: convolutions, fully
// connected, matmul and recurrent cells; 0 for everything else.
int64_t MacsOf(const Graph& graph, const Op& op);

// Index of the op that produces each tensor, or -1.
std::vector<int32_t> Producers(const Graph& graph);

// Indices of the ops that read each tensor, ascending, without repetition.
std::vector<std::vector<int32_t>> Consumers(const Graph& graph);

// Checks every invariant: indices, topological order, single producer, unique
// names and ids, shapes and element types per op (shape inference), constant
// sizes, quantization arity, states. INVALID_ARGUMENT naming the op and tensor.
absl::Status VerifyGraph(const Graph& graph);

// The stored form of a tensor without its data.
v1::TensorType TypeOf(const Tensor& tensor);
// The stored form. FromProto verifies; bytes are hostile.
v1::Graph GraphToProto(const Graph& graph);
absl::StatusOr<Graph> GraphFromProto(const v1::Graph& proto);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_IR_GRAPH_H_
