#ifndef EK_COMPILER_QUANTIZE_SAMPLE_BATCH_H_
#define EK_COMPILER_QUANTIZE_SAMPLE_BATCH_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "compiler/ir/graph.h"
#include "compiler/quantize/calibration_samples.h"
#include "edgekiln/v1/graph.pb.h"
#include "ops/cpu_path.h"
#include "ops/prepared.h"

namespace edgekiln::compiler {

// As many samples as a batch of `graph` holds in about `bytes`, at least one.
int64_t SamplesWithin(const Graph& graph, int64_t bytes);

// Runs a graph op by op, each on all samples, so that constants of an op can be
// chosen by what the ops before it made of these. A value lives from the op
// that makes it to the last one that reads it. A copy goes its own way from
// where it was made. Not thread-safe.
class SampleBatch {
 public:
  // Values of one tensor, of all samples.
  struct Buffer {
    std::shared_ptr<char[]> values;  // Null: not alive.
    int64_t bytes = 0;
  };

  // `graph` must outlive it; ops that have not been run may change in their
  // attributes and constants, and tensors may be added. `kept` stay alive, as
  // the graph's outputs do.
  SampleBatch(const Graph& graph, int64_t samples, ops::CpuPath cpu_path,
              const std::vector<TensorId>& kept = {});

  // INVALID_ARGUMENT if `bytes` are not those of one sample.
  absl::Status SetInput(TensorId input, int64_t sample,
                        absl::string_view bytes);

  // Hands the values of all samples, of a tensor that is alive, to `change`.
  // Copies of this object that share them keep what they have.
  void Change(TensorId tensor,
              const std::function<void(char* values, int64_t bytes)>& change);

  // Goes on with the first `count` samples only.
  void Limit(int64_t count) { samples_ = std::min(samples_, count); }

  // Values of a tensor that is alive, to hand to a batch of as many samples.
  // Nobody changes them.
  const Buffer& Share(TensorId tensor) const { return values_[tensor]; }
  // In place of Run() of the op that makes the tensor.
  void Adopt(TensorId tensor, Buffer values) {
    values_[tensor] = std::move(values);
  }

  // Of all inputs; there are as many samples.
  absl::Status SetInputs(const CalibrationSamples& samples);

  // Computes graph().ops[index], in the order of the graph.
  absl::Status Run(int32_t index) { return RunAll({this}, index); }
  // The same in batches of one graph: the op is made ready once for all.
  static absl::Status RunAll(std::initializer_list<SampleBatch*> batches,
                             int32_t index);
  // Lets go of what graph().ops[index] was the last to read.
  void Release(int32_t index);
  // Computes `op`, on operands that are alive, with a result of the type
  // `result`, for every `step`-th sample from the first; `look` gets their
  // values, in order.
  absl::Status RunApart(
      const Op& op, const Tensor& result, int64_t step,
      const std::function<void(int64_t sample, const char* values)>& look);

  // Run() of an op of floats, by `before`, which is it without its `clamp`:
  // `look` gets the values before that, for every `step`-th sample.
  absl::Status RunClamped(
      int32_t index, const Op& before, const v1::Clamp& clamp, int64_t step,
      const std::function<void(int64_t sample, const char* values)>& look);

  // Of a tensor that is alive, or constant.
  const char* value(TensorId tensor, int64_t sample) const;

  int64_t samples() const { return samples_; }
  const Graph& graph() const { return graph_; }

 private:
  void Allocate(TensorId tensor);
  using Look = std::function<void(int64_t sample, char* values)>;
  // `look` gets the first result of each sample; may be null.
  absl::Status RunPrepared(const ops::PreparedOp& prepared, const Op& op,
                           const Look& look);

  const Graph& graph_;
  int64_t samples_;
  const ops::CpuPath cpu_path_;
  std::vector<int32_t> last_reader_;  // By tensor: op index; -1: is kept.
  std::vector<Buffer> values_;        // By tensor.
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_SAMPLE_BATCH_H_
