#ifndef EK_COMPILER_QUANTIZE_FILL_VALUES_H_
#define EK_COMPILER_QUANTIZE_FILL_VALUES_H_

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "edgekiln/v1/data.pb.h"
#include "edgekiln/v1/graph.pb.h"

// Constants that stand where there are no data: the other branch of a Select,
// the border of a Pad, the lower end of a maximum. One that is far from the
// data would take the integers from them.
namespace edgekiln::compiler {

struct ClippedFills {
  Graph graph;
  v1::CalibrationStatistics statistics;
};

// The network with each fill value no farther from the data beside it than
// matters, and statistics of that network. Below a lower end that whatever
// reads the value saturates at (Clip, HardSwish; to half a step of type
// `activations` Sigmoid and Tanh, unless they are to stay float), one value is
// as good as another; in the border of a MaxPool with data in every window, any
// value that is above neither 0 nor the data that calibration saw. `kept`: by
// op, whether it is to stay float (empty: none). Nothing if no value is
// clipped.
std::optional<ClippedFills> ClipFills(
    const Graph& graph, const v1::CalibrationStatistics& statistics,
    const std::vector<bool>& kept, v1::ElementType activations);

// Of a network after ClipFills(): what to tell the user of the fill value that
// costs the data beside it most of their bits, if it costs two or more; else
// "".
std::string FillWarning(const Graph& graph,
                        const v1::CalibrationStatistics& statistics,
                        const std::vector<bool>& kept,
                        v1::ElementType activations);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_FILL_VALUES_H_
