#ifndef EK_COMPILER_ENGINES_REGISTER_JOB_OPERATION_H_
#define EK_COMPILER_ENGINES_REGISTER_JOB_OPERATION_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/ir/graph.h"
#include "compiler/planning/window_axis.h"
#include "edgekiln/v1/target.pb.h"
#include "ops/requantize.h"
#include "target/register_jobs.h"

// One op as jobs see it: images, a window, integer parameters. Everything after
// this file knows no graph attributes.
namespace edgekiln::compiler::register_job {

// Rows, columns, channels.
struct Image {
  int64_t h = 1;
  int64_t w = 1;
  int64_t c = 1;
  bool operator==(const Image&) const = default;
};

// [1, h, w, c] as it is. Of other shapes the last extent is c, the one before
// it w, all others together h. Jobs see tensors as dense images of this kind,
// whatever their shape.
Image ImageOf(absl::Span<const int64_t> shape);

struct Operation {
  int32_t op_index = -1;  // Index into Graph::ops.
  v1::RegisterJobs::Kernel kernel = v1::RegisterJobs::KERNEL_UNSPECIFIED;
  TensorId input = kNoTensor;
  TensorId input2 = kNoTensor;  // ADDITION only.
  TensorId output = kNoTensor;
  TensorId weights = kNoTensor;
  TensorId bias = kNoTensor;
  Image in;  // Also of input2.
  Image out;
  // How many of their last channels only jobs have, and no tensor
  // (padded_channels.h).
  int64_t in_padding = 0;
  int64_t out_padding = 0;
  int64_t input_bytes = 1;   // Of an element.
  int64_t output_bytes = 1;  // Alike.
  WindowAxis vertical;
  WindowAxis horizontal;
  int64_t depth_multiplier = 1;
  // A tile that covers a whole output axis takes the whole input axis,
  // including elements that no window reads: so jobs can use a resident tensor
  // in place, and a move has no gaps.
  bool takes_whole_axes = false;
  // For the table, one per output channel. Empty if the output is int32 sums.
  std::vector<ops::FixedPointMultiplier> multipliers;
  // In place of multipliers, if a converter makes the results.
  const v1::Converter* converter = nullptr;  // Of the graph's op.
  // Of every job; extents, paddings, kernel code and addresses are not set.
  target::JobVariables variables;

  // Whether the output may overwrite an input (docs/targets/register_job.md,
  // section 4).
  bool element_by_element() const {
    return kernel == v1::RegisterJobs::ADDITION;
  }
  // Each output channel reads its own input channels only.
  bool channelwise() const { return kernel != v1::RegisterJobs::CONVOLUTION; }
};

// The op must have been placed on an engine of this model. INTERNAL if no
// kernel computes it, INVALID_ARGUMENT if its quantization is inconsistent.
absl::StatusOr<Operation> OperationOf(const Graph& graph, int32_t op_index);

// Makes the op one whose results are sums shifted right: sets the variable
// `shift` from the factors. INTERNAL if they are no such shift.
absl::Status UseShift(Operation& operation);

// Makes the op one whose results are what the converter makes of sums without
// biases. INTERNAL if it has a bias, or no converter.
absl::Status UseConverter(Operation& operation);

}  // namespace edgekiln::compiler::register_job

#endif  // EK_COMPILER_ENGINES_REGISTER_JOB_OPERATION_H_
