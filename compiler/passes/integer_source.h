#ifndef EK_COMPILER_PASSES_INTEGER_SOURCE_H_
#define EK_COMPILER_PASSES_INTEGER_SOURCE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/passes/graph_edit.h"

// The integers behind float tensors: what a Dequantize reads, also where ops
// that only choose values lie between the Dequantize and the tensor.
namespace edgekiln::compiler {

// Walks a graph in order. Visit() each op first; then ask about its inputs.
// Ops that Materialize() adds go to `ops`. Not thread-safe.
class IntegerSources {
 public:
  IntegerSources(Graph& graph, FreshNames& names)
      : graph_(graph), names_(names) {}

  void Visit(int32_t op);

  // Type, shape and quantization of the integers whose real values the tensor
  // holds, with data if they are known; empty if there are none.
  std::optional<Tensor> TypeOf(TensorId id) const;

  // The tensor of these integers. Adds the ops that make it to `ops`, which
  // are copies of those that make `id`, unless they are there already.
  TensorId Materialize(TensorId id, std::vector<Op>& ops);

  // The integers of a constant, moved as ops between it and `id` say, as int8
  // where they are uint8; empty if they are not known.
  std::optional<Tensor> ConstantOf(TensorId id) const;

  // Ids of added ops, and those of the ops that they are copies of.
  const std::vector<std::pair<std::string, std::string>>& copies() const {
    return copies_;
  }

 private:
  struct Source {
    TensorId integers = kNoTensor;  // Made already.
    int32_t op = -1;  // Else: the op to copy, whose input has a source.
    std::optional<Quantization> quantization;
    v1::ElementType type = v1::ELEMENT_TYPE_UNSPECIFIED;
  };

  // What the op makes of integers of `source`; empty if it refuses them.
  std::optional<Source> Moved(const Source& source, int32_t op) const;

  Graph& graph_;
  FreshNames& names_;
  std::map<TensorId, Source> sources_;  // By float tensor.
  std::vector<std::pair<std::string, std::string>> copies_;
};

// The same values as int8: zero points and integers less 128. A tensor of
// another type than uint8 as it is.
Tensor ShiftedToInt8(Tensor tensor);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PASSES_INTEGER_SOURCE_H_
