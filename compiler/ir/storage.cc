#include "compiler/ir/storage.h"

namespace edgekiln::compiler {

std::vector<TensorId> StorageOf(const Graph& graph) {
  std::vector<TensorId> storage(graph.tensors.size());
  for (size_t i = 0; i < storage.size(); ++i) {
    storage[i] = static_cast<TensorId>(i);
  }
  for (const Op& op : graph.ops) {
    if (op.attributes.op_case() == v1::OpAttributes::kReshape) {
      storage[op.outputs[0]] = storage[op.inputs[0]];
    }
  }
  return storage;
}

}  // namespace edgekiln::compiler
