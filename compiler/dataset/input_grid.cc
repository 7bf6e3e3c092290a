#include "compiler/dataset/input_grid.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/dataset/element_type.h"

namespace edgekiln::compiler {
namespace {

// Moves that may stand between an input and its Quantize.
constexpr int kMaxMoves = 3;

bool Same(const InputGrid& a, const InputGrid& b) {
  return a.scale == b.scale && a.zero_point == b.zero_point &&
         a.lowest == b.lowest && a.highest == b.highest;
}

std::optional<InputGrid> GridOfReaders(const v1::Graph& graph, int32_t tensor,
                                       int moves) {
  std::optional<InputGrid> grid;
  for (const v1::Op& op : graph.ops()) {
    if (std::find(op.inputs().begin(), op.inputs().end(), tensor) ==
        op.inputs().end()) {
      continue;
    }
    if (op.outputs_size() != 1) return std::nullopt;
    std::optional<InputGrid> here;
    if (op.attributes().has_quantize()) {
      here = GridOf(graph.tensors(op.outputs(0)).type());
    } else if (moves > 0 && (op.attributes().has_transpose() ||
                             op.attributes().has_reshape())) {
      here = GridOfReaders(graph, op.outputs(0), moves - 1);
    }
    if (!here || (grid && !Same(*grid, *here))) return std::nullopt;
    grid = here;
  }
  return grid;
}

}  // namespace

std::optional<InputGrid> GridOf(const v1::TensorType& type) {
  const v1::Quantization& quantization = type.quantization();
  const std::optional<NpyType> element = NpyTypeOf(type.element_type());
  if (!element || IsFloat(*element) || quantization.scale_size() != 1 ||
      quantization.zero_point_size() != 1) {
    return std::nullopt;
  }
  InputGrid grid;
  grid.scale = quantization.scale(0);
  if (!std::isfinite(grid.scale) || grid.scale <= 0) return std::nullopt;
  grid.zero_point = quantization.zero_point(0);
  const IntegerRange range = IntegerRangeOf(*element);
  grid.lowest = range.lowest;
  grid.highest = range.highest;
  grid.declared = true;
  return grid;
}

std::optional<InputGrid> GridOfInput(const v1::Graph& graph, int port) {
  const int32_t tensor = graph.inputs(port);
  std::optional<InputGrid> grid = GridOf(graph.tensors(tensor).type());
  if (!grid) {
    grid = GridOfReaders(graph, tensor, kMaxMoves);
    if (grid) grid->declared = false;
    return grid;
  }
  for (const v1::ConvertedPort& converted : graph.converted_inputs()) {
    if (converted.port() != port) continue;
    // Integers of another type were declared all the same.
    const auto source = NpyTypeOf(converted.element_type());
    grid->declared = source && !IsFloat(*source);
  }
  return grid;
}

}  // namespace edgekiln::compiler
