#ifndef EK_COMPILER_QUANTIZE_OUTPUT_CHANGE_H_
#define EK_COMPILER_QUANTIZE_OUTPUT_CHANGE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/graph.pb.h"
#include "ops/cpu_path.h"

namespace edgekiln::compiler {

// How far the first output of one network is from that of another.
struct OutputChange {
  int64_t samples = 0;
  std::optional<double> sqnr_db = {};  // Absent if nothing differs.
  // Samples whose largest value is another one; absent unless the output is a
  // vector.
  std::optional<int64_t> other_answers = {};
};

// What a model that was quantized anew computes on real values, against the
// model as it came: `after` reads and gives FLOAT32 where `before` may have
// integers. Of the first kMostCompared samples in the order of their content.
// None if samples follow from each other. INVALID_ARGUMENT if a chunk does not
// fit `after`.
inline constexpr int64_t kMostCompared = 256;
absl::StatusOr<std::optional<OutputChange>> CompareOutputs(
    const Graph& before, const Graph& after, absl::Span<const v1::Chunk> chunks,
    ops::CpuPath cpu_path = ops::CpuPath::kAuto);

// A sentence without its end: "on 200 calibration samples the first output
// keeps 28.4 dB, and 3 answers differ". `samples`: what they are.
std::string ToText(const OutputChange& change, absl::string_view samples);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_OUTPUT_CHANGE_H_
