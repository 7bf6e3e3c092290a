#ifndef EK_TESTS_BENCH_ONNX_PARSE_H_
#define EK_TESTS_BENCH_ONNX_PARSE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace edgekiln::bench {

// Reads a model with the protobuf library and nothing more: what any program
// that takes ONNX files pays at least.
absl::Status ParseOnnx(absl::string_view bytes);

}  // namespace edgekiln::bench

#endif  // EK_TESTS_BENCH_ONNX_PARSE_H_
