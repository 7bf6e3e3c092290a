#ifndef EK_COMPILER_QUANTIZE_INPUT_ROWS_H_
#define EK_COMPILER_QUANTIZE_INPUT_ROWS_H_

#include "compiler/ir/graph.h"
#include "edgekiln/v1/quantization.pb.h"
#include "edgekiln/v1/stage.pb.h"

namespace edgekiln::compiler {

// Puts a layer with op "input" before the others in `report` for each input of
// `float_graph` that `quantized`, which Quantize() made of it, reads as
// integers. No ratio of theirs is known.
void AddInputRows(const Graph& float_graph, const Graph& quantized,
                  const v1::CalibrationStatistics& statistics,
                  v1::QuantizationReport& report);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_INPUT_ROWS_H_
