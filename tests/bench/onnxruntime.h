#ifndef EK_TESTS_BENCH_ONNXRUNTIME_H_
#define EK_TESTS_BENCH_ONNXRUNTIME_H_

// ONNX Runtime out of a shared library that is named when the bench runs: it is
// no package of Debian's, and a build must not depend on it. Its C interface is
// a table of functions that only ever grows at its end.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tests/bench/results.h"

namespace edgekiln::bench {

// A loaded model with inputs of its own making. Not thread-safe.
class OnnxRuntimeModel {
 public:
  virtual ~OnnxRuntimeModel() = default;
  // One inference on the calling thread.
  virtual absl::Status Run() = 0;
  // One inference on these values, one per input in the model's order, each of
  // exactly its tensor's bytes. Gives those of the outputs, of which each has
  // as many as `output_bytes` says.
  virtual absl::StatusOr<std::vector<std::string>> RunOn(
      const std::vector<std::string>& inputs,
      const std::vector<size_t>& output_bytes) = 0;
};

// Thread-compatible. Must outlive its models.
class OnnxRuntime {
 public:
  virtual ~OnnxRuntime() = default;
  virtual std::string version() const = 0;
  // One thread, all optimizations. If `optimized_path` is not empty, what they
  // made of the model is written there. Inputs are seeded; unknown extents
  // count as 1.
  virtual absl::StatusOr<std::unique_ptr<OnnxRuntimeModel>> Open(
      absl::string_view model, const std::string& optimized_path) = 0;
};

// `library` is the path of libonnxruntime.so.1. NOT_FOUND if there is none.
absl::StatusOr<std::unique_ptr<OnnxRuntime>> LoadOnnxRuntime(
    const std::string& library);

// The same, and empty is no path. Notes its version; if
// it cannot be loaded, notes why and returns null.
std::unique_ptr<OnnxRuntime> FindOnnxRuntime(const std::string& library,
                                             Results& results);

}  // namespace edgekiln::bench

#endif  // EK_TESTS_BENCH_ONNXRUNTIME_H_
