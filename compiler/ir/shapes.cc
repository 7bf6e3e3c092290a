#include "compiler/ir/shapes.h"

namespace edgekiln::compiler {

std::vector<target::ShapeSpan> ShapesOf(const Graph& graph,
                                        const std::vector<TensorId>& tensors) {
  std::vector<target::ShapeSpan> shapes;
  for (const TensorId tensor : tensors) {
    shapes.push_back(tensor == kNoTensor
                         ? target::ShapeSpan()
                         : target::ShapeSpan(graph.tensors[tensor].shape));
  }
  return shapes;
}

}  // namespace edgekiln::compiler
