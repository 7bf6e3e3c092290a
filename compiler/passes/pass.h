#ifndef EK_COMPILER_PASSES_PASS_H_
#define EK_COMPILER_PASSES_PASS_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/ir/graph.h"

namespace edgekiln::compiler {

enum class Changed : bool { kNo, kYes };

struct PassContext {
  // Ops of constants are computed while all constants together stay below.
  int64_t max_constant_bytes = int64_t{64} << 20;
  // Elements that computing them may touch.
  int64_t max_folding_work = int64_t{1} << 26;
  // Constants that a Dequantize reads stay integers.
  bool keep_dequantized = false;
};

// One rewrite of a graph. Stateless: same graph and context, same result.
//
// No pass changes what a graph computes. Quantized graphs keep every bit of
// every output; float graphs may differ by rounding where a pass says so.
// Graph inputs and outputs keep names, types and shapes.
class Pass {
 public:
  virtual ~Pass() = default;
  virtual absl::string_view name() const = 0;  // Stable, for messages.
  // Leaves `graph` valid; on error the caller discards the graph.
  virtual absl::StatusOr<Changed> Run(const PassContext& context,
                                      Graph& graph) const = 0;
};

// remove_dead_ops.cc: ops that no output needs, and tensors that nothing uses.
std::unique_ptr<Pass> NewRemoveDeadOpsPass();
// fold_constants.cc: ops of constants only become constants.
std::unique_ptr<Pass> NewFoldConstantsPass();
// remove_noops.cc: ops that return their input; reshapes of reshapes.
std::unique_ptr<Pass> NewRemoveNoopsPass();
// sink_transposes.cc: transposes move towards the outputs, cancel, and become
// reshapes where only extents of 1 move.
std::unique_ptr<Pass> NewSinkTransposesPass();
// permute_weights.cc: a transpose in front of a fully connected layer becomes
// another order of its weights.
std::unique_ptr<Pass> NewPermuteWeightsPass();
// convert_mat_mul.cc: products with constant matrices become fully connected.
std::unique_ptr<Pass> NewConvertMatMulPass();
// convert_reduce_mean.cc: means over height and width become average pools.
std::unique_ptr<Pass> NewConvertReduceMeanPass();
// fold_scale_and_bias.cc: batch normalization, multiplication and addition by
// constants per channel become part of the weights and bias before them.
std::unique_ptr<Pass> NewFoldScaleAndBiasPass();
// fold_into_following.cc: what that cannot fold becomes part of the weights and
// bias behind it.
std::unique_ptr<Pass> NewFoldIntoFollowingPass();
// lower_batch_normalization.cc: one that could not be folded becomes a 1x1
// depthwise convolution, or a multiplication and an addition.
std::unique_ptr<Pass> NewLowerBatchNormalizationPass();
// fuse_clamps.cc: clips become the fused activation of the op before them.
std::unique_ptr<Pass> NewFuseClampsPass();
// canonicalize.cc: one form of several of the same function.
std::unique_ptr<Pass> NewCanonicalizePass();
// merge_common.cc: ops and constants that are the same become one.
std::unique_ptr<Pass> NewMergeCommonPass();
// recognize_activations.cc: GELU and HardSwish that are written as arithmetic.
std::unique_ptr<Pass> NewRecognizeActivationsPass();
// recognize_normalizations.cc: softmax and layer normalization alike.
std::unique_ptr<Pass> NewRecognizeNormalizationsPass();
// attach_bias.cc: an addition per channel becomes the bias of the sum of
// products before it, whatever makes the weights.
std::unique_ptr<Pass> NewAttachBiasPass();
// hoist_quantize.cc: a Quantize moves in front of ops that only choose values.
std::unique_ptr<Pass> NewHoistQuantizePass();
// shift_to_int8.cc: uint8 tensors with scales become int8.
std::unique_ptr<Pass> NewShiftToInt8Pass();
// move_into_integers.cc: ops between Dequantize and Quantize compute in the
// integers. Here, and only here, quantized graphs may change by one step.
std::unique_ptr<Pass> NewMoveIntoIntegersPass();
// merge_pads.cc: padding becomes that of the window behind it.
std::unique_ptr<Pass> NewMergePadsPass();

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PASSES_PASS_H_
