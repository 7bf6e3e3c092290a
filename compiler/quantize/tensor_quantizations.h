#ifndef EK_COMPILER_QUANTIZE_TENSOR_QUANTIZATIONS_H_
#define EK_COMPILER_QUANTIZE_TENSOR_QUANTIZATIONS_H_

// Which quantization each activation of a float graph gets.

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/ir/graph.h"
#include "compiler/quantize/activation_range.h"
#include "compiler/quantize/scale_choice.h"
#include "compiler/quantize/scales.h"
#include "edgekiln/v1/data.pb.h"

namespace edgekiln::compiler {

// Tensors are grouped so that ops that need one scale for input and output get
// it (SharesQuantization()), and those that had better have one where that
// costs no operand of the op more than a bit (MayShareQuantization()); a group
// is quantized for the range of all its members. A concatenation could change
// the scales of its operands, by rounding once more: an operand has that of the
// result if that costs neither it nor what already has that scale more than a
// bit, or only such that nothing else reads, who would see more of it. With
// rules.equal_addends, what an op adds is a group, too. Not thread-safe.
class TensorQuantizations {
 public:
  // `integer`: by op, whether it computes in integers. Both must outlive this.
  TensorQuantizations(const Graph& graph, const std::vector<bool>& integer,
                      ScaleRules rules);

  // Chooses for all activations and constant operands, but weights and biases,
  // of integer ops, by `method`. Without statistics (null) all ranges are
  // [-1, 1]. `symmetric`: tensors whose zero point is 0 whatever the rules say.
  // INVALID_ARGUMENT if a constant is not finite or the statistics have no
  // range for a tensor.
  absl::Status Choose(const v1::CalibrationStatistics* statistics,
                      const v1::CalibrateOptions& method,
                      const std::set<TensorId>& symmetric = {});

  // With equal_addends: groups of what is added, below those of their sums.
  std::vector<RisingScales> Rising() const;

  // After Choose(), last of all: makes scales of results as large as the
  // arithmetic of the rules needs them. With equal_addends, a sum's is no
  // smaller than that of what is added; with power_of_two, the factor of a sum
  // of products is at most 1, as an engine shifts to the right. The latter
  // costs nothing: results are multiples of the products' scale anyway.
  // `weight_scales`: by op, the largest that its weights get; 0: none.
  void RaiseResults(const std::vector<double>& weight_scales);

  // After Choose(): those of the tensor's group.
  ScaleRules RulesOf(TensorId id) const;

  // After Choose(), of an operand or result of an integer op.
  const Quantization& Of(TensorId id) const {
    return quantization_.at(GroupOf(id));
  }
  // The values of its group; null without statistics.
  const SeenValues* SeenOf(TensorId id) const;
  // Its quantization does not depend on what was seen.
  bool IsFixed(TensorId id) const { return fixed_.contains(GroupOf(id)); }
  // The tensor that stands for its group.
  TensorId GroupOf(TensorId id) const;
  bool AreOne(TensorId a, TensorId b) const { return GroupOf(a) == GroupOf(b); }
  // Of a group.
  void Set(TensorId group, Quantization quantization) {
    quantization_[group] = std::move(quantization);
  }

 private:
  void Join(TensorId a, TensorId b);
  bool HasEqualAddends(size_t op) const;
  void JoinOperands(const Op& op);
  // By tensor: whether integer ops read it, other than as weights or biases, or
  // make it.
  std::vector<bool> UsedTensors() const;
  // Of each group: ops that make something else of it, and outputs of the
  // graph.
  std::map<TensorId, int64_t> Readers() const;
  // Joins groups as they are before ("parts"). `range_of` is the range of
  // tensors that share a quantization.
  using RangeOfTensors = absl::FunctionRef<absl::StatusOr<RealRange>(
      absl::Span<const TensorId> tensors)>;
  absl::Status JoinConcatenated(RangeOfTensors range_of);

  const Graph& graph_;
  const std::vector<bool>& integer_;
  std::vector<TensorId> parent_;  // By tensor; itself for the first of a group.
  std::map<TensorId, Quantization> quantization_;  // By group.
  std::map<TensorId, SeenValues> seen_;            // By group.
  std::set<TensorId> fixed_;                       // Groups.
  const ScaleRules rules_;
  std::set<TensorId> symmetric_;  // Groups.
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_TENSOR_QUANTIZATIONS_H_
