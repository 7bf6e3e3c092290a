#ifndef EK_COMPILER_QUANTIZE_TENSOR_QUANTIZATIONS_H_
#define EK_COMPILER_QUANTIZE_TENSOR_QUANTIZATIONS_H_

// Which int8 quantization each activation of a float graph gets.

#include <map>
#include <vector>

#include "absl/status/status.h"
#include "compiler/ir/graph.h"
#include "compiler/quantize/scales.h"
#include "edgekiln/v1/data.pb.h"

namespace edgekiln::compiler {

// Tensors are grouped so that ops that need one scale for input and output get
// it (SharesQuantization()), and those that had better have one where that
// costs no member more than a bit (MayShareQuantization()); a group is
// quantized for the range of all its members. Not thread-safe.
class TensorQuantizations {
 public:
  // `integer`: by op, whether it computes in int8. Both must outlive this.
  TensorQuantizations(const Graph& graph, const std::vector<bool>& integer);

  // Chooses for all activations and constant operands, but weights and biases,
  // of integer ops. Without statistics (null) all ranges are [-1, 1].
  // INVALID_ARGUMENT if a constant is not finite or the statistics have no
  // range for a tensor.
  absl::Status Choose(const v1::CalibrationStatistics* statistics,
                      ScaleRules rules);

  // After Choose(), of an operand or result of an integer op.
  const Quantization& Of(TensorId id) const {
    return quantization_.at(GroupOf(id));
  }

 private:
  TensorId GroupOf(TensorId id) const;
  void Join(TensorId a, TensorId b);
  void JoinOperands(const Op& op);

  const Graph& graph_;
  const std::vector<bool>& integer_;
  std::vector<TensorId> parent_;  // By tensor; itself for the first of a group.
  std::map<TensorId, Quantization> quantization_;  // By group.
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_TENSOR_QUANTIZATIONS_H_
