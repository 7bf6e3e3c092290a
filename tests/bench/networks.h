#ifndef EK_TESTS_BENCH_NETWORKS_H_
#define EK_TESTS_BENCH_NETWORKS_H_

// The networks that are timed, read and quantized as the worker does.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"
#include "tests/bench/results.h"

namespace edgekiln::bench {

// Aborts the program with the error on stderr: a bench has no caller who could
// go on without what failed.
void OrDie(const absl::Status& status);
template <typename T>
T OrDie(absl::StatusOr<T> result) {
  OrDie(result.status());
  return *std::move(result);
}

// The whole file; aborts if it cannot be read.
std::string ReadFileOrDie(const std::string& path);
bool FileExists(const std::string& path);

struct Network {
  std::string name;
  std::string model;  // Path; .tflite (int8) or .onnx (float).
  // Of the same network for other programs, where there is one; else empty.
  std::string float_onnx;
  std::string qdq_onnx;
};

// The four int8 networks of the MLPerf Tiny benchmark in the folder `models`.
std::vector<Network> TinyNetworks(const std::string& models);

// Those named in `only` (all if it is empty) whose model is there. Notes the
// absent ones.
std::vector<Network> Present(const std::vector<Network>& networks,
                             const std::vector<std::string>& only,
                             Results& results);

// Import and simplify; a float model is calibrated on one synthetic sample and
// quantized, so that its values mean nothing and its shapes everything.
absl::StatusOr<compiler::Graph> LoadQuantized(const Network& network);
// Import and simplify.
absl::StatusOr<compiler::Graph> LoadFloat(const std::string& path);

}  // namespace edgekiln::bench

#endif  // EK_TESTS_BENCH_NETWORKS_H_
