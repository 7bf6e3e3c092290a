#ifndef EK_COMPILER_QUANTIZE_OUTPUT_ERROR_H_
#define EK_COMPILER_QUANTIZE_OUTPUT_ERROR_H_

#include <cstdint>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/quantize/sample_batch.h"

namespace edgekiln::compiler {

// How far the outputs of a float network move when something in it is changed.
//
// Outputs that come from a softmax are compared in three ways: as they are;
// before it, as probabilities saturate; and as what the softmax makes of a
// quarter of the scores, since of some pictures only a few are undecided, and
// what happens to these is chance. Scores alone count those that no probability
// depends on. Immutable.
class OutputError {
 public:
  // `graph` must outlive it.
  explicit OutputError(const Graph& graph);

  // What is compared: a batch has to keep it.
  const std::vector<TensorId>& tensors() const { return tensors_; }
  // The last op that they need; -1: there are none.
  int32_t last_op() const { return last_; }

  // What softmaxes make of a quarter of the real scores: by such an output,
  // values of all samples one behind the other.
  using SoftValues = std::vector<std::vector<double>>;
  SoftValues SoftValuesOf(const SampleBatch& real) const;

  // Over the samples of `changed`, the first ones of `real`, of which `soft`
  // are the SoftValuesOf(). Noise by signal, summed over tensors(); infinite if
  // it is not a number.
  double Of(const SampleBatch& real, const SoftValues& soft,
            const SampleBatch& changed) const;

 private:
  struct Softened {
    TensorId scores = kNoTensor;
    double beta = 1;
  };
  // Hands the values of each row of one sample to `take`.
  template <typename Take>
  void SoftenSample(const Softened& output, const SampleBatch& batch,
                    int64_t sample, const Take& take) const;
  double OfSoftened(const Softened& output, const std::vector<double>& soft,
                    const SampleBatch& changed) const;

  const Graph& graph_;
  std::vector<TensorId> tensors_;
  std::vector<Softened> softened_;
  int32_t last_ = -1;
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_OUTPUT_ERROR_H_
