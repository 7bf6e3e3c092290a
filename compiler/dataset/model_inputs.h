#ifndef EK_COMPILER_DATASET_MODEL_INPUTS_H_
#define EK_COMPILER_DATASET_MODEL_INPUTS_H_

// What making data for a model has to know of the model.

#include <optional>
#include <vector>

#include "compiler/dataset/input_grid.h"
#include "compiler/dataset/port_conversion.h"
#include "edgekiln/v1/graph.pb.h"

namespace edgekiln::compiler {

// The inputs of a model, as the stages that make data need them.
struct ModelInputs {
  std::vector<v1::TensorType> types;
  std::vector<bool>
      is_nchw;  // The model reads it as NCHW; see sample_layout.h.
  std::vector<bool> is_nhwc{};  // Surely as NHWC; empty: not known of any.
  // Carried where the data has no array for it; empty: of none.
  std::vector<bool> is_state{};
  // What the values become; empty: as `types` say.
  std::vector<std::optional<InputGrid>> grids{};
  // Of inputs that stand for another type of the source model; empty: of none.
  std::vector<std::optional<PortConversion>> conversions{};
};
// Without conversions. `graph` has been verified (GraphFromProto).
ModelInputs InputsOf(const v1::Graph& graph);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_DATASET_MODEL_INPUTS_H_
