#ifndef EK_COMPILER_DATASET_INPUT_GRID_H_
#define EK_COMPILER_DATASET_INPUT_GRID_H_

// The integers that the values of a model input become.

#include <cstdint>
#include <optional>

#include "edgekiln/v1/graph.pb.h"

namespace edgekiln::compiler {

struct InputGrid {
  double scale = 1;  // > 0, finite.
  int64_t zero_point = 0;
  int64_t lowest = 0;  // Of the element type.
  int64_t highest = 0;
  // The source model declares integers. Otherwise it quantizes real values, or
  // we do with ranges learned from data: other data may do without a fault.
  bool declared = false;

  // Real values of the ends.
  double min() const {
    return static_cast<double>(lowest - zero_point) * scale;
  }
  double max() const {
    return static_cast<double>(highest - zero_point) * scale;
  }
};

// Of a quantized integer type with one scale; `declared`.
std::optional<InputGrid> GridOf(const v1::TensorType& type);

// Of input `port`; empty if its values stay real, or if not all readers
// quantize them in the same way. `graph` has been verified.
std::optional<InputGrid> GridOfInput(const v1::Graph& graph, int port);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_DATASET_INPUT_GRID_H_
