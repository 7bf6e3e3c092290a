#ifndef EK_COMPILER_QUANTIZE_QUANTIZE_REPORT_H_
#define EK_COMPILER_QUANTIZE_QUANTIZE_REPORT_H_

#include <cstdint>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/quantize/activation_range.h"
#include "edgekiln/v1/quantization.pb.h"

namespace edgekiln::compiler {

// What quantization found of an op of the float graph.
struct LayerFacts {
  bool is_integer = false;
  bool at_mask = false;  // Reads or makes values that no scale spans.
  const SeenValues* seen = nullptr;  // Of its result; null: nothing.
  double scale_growth = 1;  // Of LayerWeights, before fitting to samples.
};

// The layers of `report`, which are there with their ids, but for what samples
// show. `schemes` and `facts`: by op of the float graph.
void DescribeLayers(const Graph& float_graph, const Graph& quantized,
                    const std::vector<v1::LayerScheme>& schemes,
                    const std::vector<LayerFacts>& facts,
                    v1::QuantizationReport& report);

// How many samples both networks can be walked through with at once.
int64_t SamplesThatFit(const Graph& float_graph, const Graph& quantized);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_QUANTIZE_REPORT_H_
