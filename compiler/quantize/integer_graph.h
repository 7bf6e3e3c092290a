#ifndef EK_COMPILER_QUANTIZE_INTEGER_GRAPH_H_
#define EK_COMPILER_QUANTIZE_INTEGER_GRAPH_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"
#include "compiler/quantize/calibration_samples.h"
#include "compiler/quantize/layer_constants.h"
#include "compiler/quantize/quantize_report.h"
#include "edgekiln/v1/data.pb.h"
#include "edgekiln/v1/quantization.pb.h"
#include "edgekiln/v1/stage.pb.h"
#include "ops/cpu_path.h"

namespace edgekiln::compiler {

// UNIMPLEMENTED naming the op if the graph is quantized already.
absl::Status CheckIsFloat(const Graph& graph);

// The integer form of a float graph by its weights and statistics, before
// anything is fitted to samples (quantize.h says what it looks like). Not
// thread-safe.
class IntegerGraph {
 public:
  // Without statistics only the form is made. `schemes`: by op. Graph,
  // statistics and `memo`, which changes speed only, must outlive this.
  IntegerGraph(const Graph& graph, const v1::CalibrationStatistics* statistics,
               const v1::QuantizeOptions& options,
               std::vector<v1::LayerScheme> schemes,
               RoundedLayers* memo = nullptr);
  ~IntegerGraph();

  // Once. With `samples`, ranges may be chosen by them.
  absl::StatusOr<Graph> Make(const CalibrationSamples* samples = nullptr,
                             ops::CpuPath cpu_path = ops::CpuPath::kAuto);

  // By op, after Make(); valid as long as this is.
  std::vector<LayerFacts> Facts() const;

 private:
  class Maker;
  std::unique_ptr<Maker> maker_;
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_INTEGER_GRAPH_H_
