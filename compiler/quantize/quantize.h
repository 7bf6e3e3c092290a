#ifndef EK_COMPILER_QUANTIZE_QUANTIZE_H_
#define EK_COMPILER_QUANTIZE_QUANTIZE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/graph.pb.h"
#include "edgekiln/v1/quantization.pb.h"
#include "edgekiln/v1/stage.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "ops/cpu_path.h"

namespace edgekiln::compiler {

// A quantized network, and what became of its layers.
struct QuantizedNetwork {
  Graph graph;
  v1::QuantizationReport report;  // One layer for each op of the float graph.
  std::string warning;            // FillWarning(); empty: none.
};

struct QuantizeInputs {
  const v1::CalibrationStatistics& statistics;
  // Of calibration, of the float graph. None: layers are quantized by their
  // weights and the statistics alone.
  absl::Span<const v1::Chunk> samples = {};
  // Of these, in their order, layers are fitted to samples 0, step, 2 * step ..
  // only; equalized networks are calibrated by all.
  int64_t sample_step = 1;
  // Called after each layer; must not throw.
  std::function<void(int64_t done, int64_t total)> progress = nullptr;
  ops::CpuPath cpu_path = ops::CpuPath::kAuto;  // Changes speed only.
};

// The integer form of a simplified float graph: weights symmetric per output
// channel, biases int32, activations int8, asymmetric per tensor with a zero
// that is exact; or uint8 or int16, as the options say. Op ids, op order and
// tensor names stay. Ops without an integer form (integer_choice.h) stay float,
// between a Dequantize and a Quantize. Graph inputs and outputs stay float:
// each input that integers read goes through a Quantize op, each output that
// they make comes from a Dequantize op (the integer tensors are called
// "<name>.int8", or by their type), so that users feed and read what their
// model expects.
//
// `options.config` is what a user asked for (layer_schemes.h). All scales are
// computed in double, exactly alike on every machine. With samples, layers are
// then fitted to what those before them give (refine.h); networks that carry
// states from sample to sample are not.
//
// `options.needs` are those of the target (target/quantization_needs.h): ops of
// the kinds listed get one weight scale; all activations, those of host ops and
// constant operands included, zero point 0; activations and weights scales that
// are powers of two.
//
// UNIMPLEMENTED naming the op for a graph that is quantized already or has
// weights that are not finite; INVALID_ARGUMENT if the statistics have no
// usable range for a tensor, or samples do not fit the graph.
absl::StatusOr<QuantizedNetwork> Quantize(const Graph& float_graph,
                                          const v1::QuantizeOptions& options,
                                          const QuantizeInputs& inputs);

// The same without samples, by default options.
absl::StatusOr<Graph> QuantizeGraph(
    const Graph& float_graph, const v1::CalibrationStatistics& statistics,
    const v1::QuantizationNeeds& needs =
        v1::QuantizationNeeds::default_instance());

// What QuantizeGraph makes of the graph, before anything is calibrated: the
// same ops, tensors, shapes and element types (but for biases of 64 bits, which
// are of 32 here), with made-up scales, and
// constants of the right size whose bytes mean nothing. They share those of
// `float_graph`; no weight is read. Where constants or the calibration data
// hold what no scale spans (masks), QuantizeGraph leaves more ops float. Ops
// that share weights or a bias still do here, as they would then.
absl::StatusOr<Graph> QuantizedForm(
    const Graph& float_graph,
    const v1::QuantizationNeeds& needs =
        v1::QuantizationNeeds::default_instance(),
    const v1::QuantizationConfig& config =
        v1::QuantizationConfig::default_instance());

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_QUANTIZE_H_
