#include "compiler/ir/graph.h"

#include "ops/shape_inference.h"
#include "ops/tensor_view.h"
#include "target/macs.h"

namespace edgekiln::compiler {
int64_t Tensor::num_elements() const { return ops::NumElements(shape); }

absl::string_view Op::kind() const { return ops::OpKind(attributes); }

int64_t ElementBytes(v1::ElementType type) { return ops::ElementBytes(type); }

int64_t MacsOf(const Graph& graph, const Op& op) {
  const auto shapes = [&graph](const std::vector<TensorId>& ids) {
    std::vector<target::ShapeSpan> result;
    for (const TensorId id : ids) {
      const bool exists = id >= 0 && id < std::ssize(graph.tensors);
      result.push_back(exists ? target::ShapeSpan(graph.tensors[id].shape)
                              : target::ShapeSpan());
    }
    return result;
  };
  return target::MultiplyAccumulates(op.attributes, shapes(op.inputs),
                                     shapes(op.outputs))
      .value_or(0);
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
