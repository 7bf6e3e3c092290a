#include "compiler/ir/graph.h"

#include <algorithm>

#include "base/checked_math.h"
#include "ops/shape_inference.h"
#include "ops/tensor_view.h"

namespace edgekiln::compiler {
namespace {

// Shape of a tensor by index, or null.
const std::vector<int64_t>* ShapeOf(const Graph& graph,
                                    const std::vector<TensorId>& ids,
                                    size_t position) {
  if (position >= ids.size()) return nullptr;
  const TensorId id = ids[position];
  if (id < 0 || id >= std::ssize(graph.tensors)) return nullptr;
  return &graph.tensors[id].shape;
}

}  // namespace

int64_t Tensor::num_elements() const { return ops::NumElements(shape); }

absl::string_view Op::kind() const { return ops::OpKind(attributes); }

int64_t ElementBytes(v1::ElementType type) { return ops::ElementBytes(type); }

int64_t MacsOf(const Graph& graph, const Op& op) {
  const std::vector<int64_t>* in = ShapeOf(graph, op.inputs, 0);
  const std::vector<int64_t>* weights = ShapeOf(graph, op.inputs, 1);
  const std::vector<int64_t>* out = ShapeOf(graph, op.outputs, 0);
  if (in == nullptr || weights == nullptr || out == nullptr) return 0;
  int64_t per_output = 0;
  switch (op.attributes.op_case()) {
    case v1::OpAttributes::kConv2D:
      if (weights->size() != 4) return 0;
      per_output = (*weights)[1] * (*weights)[2] * (*weights)[3];
      break;
    case v1::OpAttributes::kDepthwiseConv2D:
      if (weights->size() != 4) return 0;
      per_output = (*weights)[1] * (*weights)[2];
      break;
    case v1::OpAttributes::kFullyConnected:
      if (weights->size() != 2) return 0;
      per_output = (*weights)[1];
      break;
    case v1::OpAttributes::kMatMul:
      if (in->empty()) return 0;
      per_output = in->back();
      break;
    default:
      return 0;
  }
  return CheckedMul(ops::NumElements(*out), per_output).value_or(0);
}

std::vector<int32_t> Producers(const Graph& graph) {
  std::vector<int32_t> producer(graph.tensors.size(), -1);
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    for (const TensorId output : graph.ops[i].outputs) {
      producer[output] = static_cast<int32_t>(i);
    }
  }
  return producer;
}

std::vector<std::vector<int32_t>> Consumers(const Graph& graph) {
  std::vector<std::vector<int32_t>> consumers(graph.tensors.size());
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    for (const TensorId input : graph.ops[i].inputs) {
      if (input == kNoTensor) continue;
      std::vector<int32_t>& readers = consumers[input];
      // Ops come in order, so a repeated reader is the last one.
      if (readers.empty() || readers.back() != static_cast<int32_t>(i)) {
        readers.push_back(static_cast<int32_t>(i));
      }
    }
  }
  return consumers;
}

}  // namespace edgekiln::compiler
