#ifndef EK_SERVER_WORKER_STAGES_DIGEST_COMPARISON_H_
#define EK_SERVER_WORKER_STAGES_DIGEST_COMPARISON_H_

// What a simulated chip computed, against the fingerprints of what the
// reference did: tells whether a sample is right, not what is wrong with it.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/program.pb.h"
#include "server/worker/stages/tensor_digests.h"
#include "target/layout.h"

namespace edgekiln::server {

// One sample after the other: Begin(), then what the chip shows, then End().
// Parts are put together to whole tensors, which alone have fingerprints.
class DigestComparison {
 public:
  enum class Verdict {
    kEqual,      // Every value shown is the reference's.
    kDifferent,  // Some are not.
    // Not all values can be told by fingerprints: parts overlap or leave out
    // some of a tensor. So will other samples of the same program.
    kUnknown,
  };

  // `graph` must outlive it.
  DigestComparison(const compiler::Graph& graph, TensorDigests digests);

  // Sample `index` of the chunk; `inputs` must outlive the sample.
  void Begin(int64_t index, absl::Span<const absl::string_view> inputs);
  // The tap must be the same object for every sample. One that does not fit the
  // graph makes the sample unknown: who compares values tells of it.
  void AddTap(const v1::Program::Tap& tap, absl::string_view values);
  void AddOutput(compiler::TensorId tensor, absl::string_view values);
  Verdict End();

  // Of the sample that ended: values that taps showed, by tensor, and those of
  // the outputs.
  const std::vector<int64_t>& tapped() const { return tapped_; }
  int64_t output_values() const { return output_values_; }

 private:
  // A tensor that taps show in parts.
  struct Parts {
    std::string bytes;
    int64_t filled_bytes = 0;
    std::vector<bool> seen;  // By element, while the first sample is seen.
  };

  const compiler::Tensor& At(compiler::TensorId tensor) const {
    return graph_.tensors[static_cast<size_t>(tensor)];
  }
  void AddWhole(compiler::TensorId tensor, absl::string_view values);
  void AddPart(compiler::TensorId tensor, const target::Layout& part,
               absl::string_view values);
  // Bytes of a tensor that no op computes.
  absl::string_view Given(compiler::TensorId tensor) const;
  // Whether it is the tap that came at this place in the first sample.
  bool IsExpected(const v1::Program::Tap& tap);

  const compiler::Graph& graph_;
  TensorDigests digests_;
  // Taps of the first sample, in their order, which shows that none comes
  // twice in a later one.
  std::vector<const v1::Program::Tap*> order_;
  bool first_ = true;
  std::vector<Parts> parts_;  // By tensor.
  std::vector<compiler::TensorId> divided_;

  int64_t index_ = 0;
  absl::Span<const absl::string_view> inputs_;
  size_t place_ = 0;  // In order_.
  bool different_ = false;
  bool unknown_ = false;
  std::vector<int64_t> tapped_;
  int64_t output_values_ = 0;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_STAGES_DIGEST_COMPARISON_H_
