#ifndef EK_SERVER_WORKER_STAGES_COMPARE_H_
#define EK_SERVER_WORKER_STAGES_COMPARE_H_

// What a simulated chip computed, against what the reference says.

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/layout.pb.h"

namespace edgekiln::server {

// Adds up over all boxes of all samples.
class Comparison {
 public:
  // Compares every element of `box`, whose values `got` are dense, with the
  // same elements of `want`, the whole tensor, dense. Values are the
  // same as compiler::SameValues() has it. `layer` and `sample` are for the
  // message. INTERNAL if box or sizes do not fit the tensor.
  absl::Status Add(const compiler::Tensor& tensor, absl::string_view want,
                   const v1::Box& box, absl::string_view got,
                   absl::string_view layer, int64_t sample);
  // The same for a whole tensor.
  absl::Status AddWhole(const compiler::Tensor& tensor, absl::string_view want,
                        absl::string_view got, absl::string_view layer,
                        int64_t sample);

  // Values that are known to be equal.
  void AddEqual(int64_t values) { compared_ += values; }

  int64_t compared() const { return compared_; }
  int64_t mismatches() const { return mismatches_; }
  // "layer conv_1, sample 3, tensor 'x' at [0, 1, 2, 3]: got 5, want 6"; empty
  // without mismatches.
  const std::string& first_mismatch() const { return first_mismatch_; }

 private:
  int64_t compared_ = 0;
  int64_t mismatches_ = 0;
  std::string first_mismatch_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_STAGES_COMPARE_H_
