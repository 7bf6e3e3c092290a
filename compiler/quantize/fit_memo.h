#ifndef EK_COMPILER_QUANTIZE_FIT_MEMO_H_
#define EK_COMPILER_QUANTIZE_FIT_MEMO_H_

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fingerprint.h"
#include "compiler/ir/graph.h"
#include "compiler/quantize/bias_correction.h"
#include "compiler/quantize/calibration_samples.h"
#include "compiler/quantize/layer_weights.h"
#include "compiler/quantize/sample_batch.h"
#include "edgekiln/v1/graph.pb.h"
#include "ops/cpu_path.h"

namespace edgekiln::compiler {

// What fitting the layers of one float graph gave, for further networks that
// are made of it by other schemes and fitted to the same samples. Layers that
// read the same values in the same way become the same, so that two networks
// share everything up to the first layer in which they differ.
//
// Only weights and biases are shared further: those of a layer under a scheme
// are fitted where the layer comes first. Not thread-safe.
class FitMemo {
 public:
  using Values = std::vector<SampleBatch::Buffer>;  // By output of an op.

  // What an op of a quantized graph became.
  struct Entry {
    // Constants and attributes that fitting sets: of ops with weights.
    std::vector<std::pair<size_t, Tensor>> constants;  // By input.
    v1::OpAttributes attributes;
    // On fitted and judged samples.
    Values fitted;
    Values judged;
  };

  // `graph` must outlive it. Networks are fitted to `fitted` and run on
  // `judged`, too. All entries and AddReals() together take up to `most_bytes`,
  // and the values of the float graph as much again.
  FitMemo(const Graph& graph, CalibrationSamples fitted,
          CalibrationSamples judged, ops::CpuPath cpu_path, int64_t most_bytes);

  // Takes over what is known of as many samples or more, of which these are the
  // first: weights, biases and entries. Entries are copied as they are found,
  // if `more`, which must outlive this, still has them and had them now; keys
  // of what else depends on the number of samples have to say it.
  void TakeOver(FitMemo& more);

  // Null: not known. Lives until the next call.
  const Entry* Find(const Fingerprint& key);
  // Entries that were not used for long are dropped.
  void Add(const Fingerprint& key, Entry entry);

  // Of all that decides what an op becomes.
  Fingerprint KeyOf(const std::string& text) { return fingerprinter_.Of(text); }

  // By layer, scheme, and the quantizations of what it reads and makes.
  std::map<Fingerprint, LayerWeights>& weights() { return weights_; }
  // Corrected, by the same.
  std::map<Fingerprint, ConstantData>& biases() { return biases_; }
  // By op of the float graph: with all real results.
  std::map<int32_t, BiasCorrection>& corrections() { return corrections_; }

  // By op of the float graph, the real results that ConverterFit looks at;
  // null: not known. What exceeds half of `most_bytes` is not kept.
  const std::vector<float>* FindReals(int32_t op) const;
  void AddReals(int32_t op, const std::vector<float>& values);

  const CalibrationSamples& judged() const { return judged_; }

  // The float graph, run on the fitted samples up to graph().ops[index - 1], of
  // which what later ops read is alive.
  absl::StatusOr<SampleBatch*> RealBefore(int32_t index);
  // Values of graph().ops[index], which is `before` with `clamp` behind it,
  // before the clamp: of every `step`-th fitted sample. Runs the op, where that
  // is its turn.
  absl::Status LookAtReals(
      int32_t index, const Op& before, const v1::Clamp& clamp, int64_t step,
      const std::function<void(int64_t sample, const char* values)>& look);

 private:
  struct Kept {
    Entry entry;
    int64_t bytes = 0;
    std::list<Fingerprint>::iterator used;
  };
  void DropOldest();
  Entry FirstSamplesOf(const Entry& entry) const;

  const Graph& graph_;
  const CalibrationSamples fitted_;
  const CalibrationSamples judged_;
  const ops::CpuPath cpu_path_;
  const int64_t most_bytes_;
  const bool keeps_real_;  // All values of the float graph.
  std::optional<SampleBatch> real_;
  int32_t next_real_ = 0;
  Fingerprinter fingerprinter_;
  std::map<Fingerprint, LayerWeights> weights_;
  std::map<Fingerprint, ConstantData> biases_;
  std::map<int32_t, BiasCorrection> corrections_;
  std::map<int32_t, std::vector<float>> reals_;
  int64_t real_bytes_ = 0;
  std::map<Fingerprint, Kept> entries_;
  FitMemo* more_ = nullptr;
  std::set<Fingerprint> of_more_;  // Its entries to take over.
  std::list<Fingerprint> by_use_;  // The oldest first.
  int64_t bytes_ = 0;              // Of entries.
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_FIT_MEMO_H_
