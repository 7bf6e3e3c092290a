#include "compiler/quantize/calibration_samples.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace edgekiln::compiler {
namespace {

bool IsStateInput(const Graph& graph, TensorId id) {
  return std::any_of(graph.states.begin(), graph.states.end(),
                     [id](const State& state) { return state.input == id; });
}

// Bytes of one sample of each input, 0 for carried states. Checks that the
// chunk has them.
absl::StatusOr<std::vector<int64_t>> SampleBytes(const Graph& graph,
                                                 const v1::Chunk& chunk) {
  if (chunk.arrays_size() != static_cast<int>(graph.inputs.size()) ||
      chunk.samples() < 0) {
    return InvalidCalibration(
        absl::StrCat(chunk.arrays_size(), " arrays"), "calibration data",
        absl::StrCat(graph.inputs.size(), " (one per model input)"),
        "give one array per model input");
  }
  std::vector<int64_t> bytes;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const Tensor& input = graph.tensors[graph.inputs[i]];
    const bool carried = chunk.arrays(static_cast<int>(i)).carried() &&
                         IsStateInput(graph, graph.inputs[i]);
    const int64_t one =
        carried ? 0 : input.num_elements() * ElementBytes(input.type);
    const std::optional<int64_t> all = CheckedMul(one, chunk.samples());
    const int64_t have =
        static_cast<int64_t>(chunk.arrays(static_cast<int>(i)).data().size());
    if (!all.has_value() || *all != have) {
      return InvalidCalibration(
          absl::StrCat(have, " bytes for ", chunk.samples(), " samples"),
          absl::StrCat("calibration data for input '", input.name, "'"),
          absl::StrCat(one, " bytes per sample"),
          "give samples of the shape of the model input");
    }
    bytes.push_back(one);
  }
  return bytes;
}

}  // namespace

absl::Status InvalidCalibration(std::string what, std::string where,
                                std::string need, std::string fix) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "CALIBRATION_INVALID",
                    .what = std::move(what),
                    .where = std::move(where),
                    .need = std::move(need),
                    .fix = std::move(fix)});
}

absl::StatusOr<CalibrationSamples> CalibrationSamples::Create(
    const Graph& graph, absl::Span<const v1::Chunk> chunks) {
  CalibrationSamples result;
  result.chunks_ = chunks;
  for (size_t c = 0; c < chunks.size(); ++c) {
    EK_ASSIGN_OR_RETURN(std::vector<int64_t> bytes,
                        SampleBytes(graph, chunks[c]));
    for (int64_t i = 0; i < chunks[c].samples(); ++i) {
      result.samples_.push_back({static_cast<int32_t>(c), i});
    }
    for (const v1::Chunk::Array& array : chunks[c].arrays()) {
      result.sequential_ = result.sequential_ || array.carried();
    }
    result.bytes_.push_back(std::move(bytes));
  }
  if (result.sequential_) return result;
  std::vector<std::pair<std::string, Sample>> named;
  for (int64_t i = 0; i < result.size(); ++i) {
    Sha256 hash;
    for (const absl::string_view input : result.Inputs(i)) hash.Update(input);
    named.emplace_back(hash.Finish().hash, result.samples_[i]);
  }
  // Equal samples are alike: which of them comes first changes nothing.
  std::stable_sort(
      named.begin(), named.end(),
      [](const auto& a, const auto& b) { return a.first < b.first; });
  for (int64_t i = 0; i < result.size(); ++i) {
    result.samples_[i] = named[i].second;
  }
  return result;
}

std::vector<absl::string_view> CalibrationSamples::Inputs(
    int64_t sample) const {
  const Sample& at = samples_[sample];
  std::vector<absl::string_view> inputs;
  const std::vector<int64_t>& bytes = bytes_[at.chunk];
  for (size_t i = 0; i < bytes.size(); ++i) {
    const std::string& data =
        chunks_[at.chunk].arrays(static_cast<int>(i)).data();
    inputs.push_back(
        absl::string_view(data).substr(static_cast<size_t>(at.index * bytes[i]),
                                       static_cast<size_t>(bytes[i])));
  }
  return inputs;
}

void CalibrationSamples::Keep(int64_t first, int64_t step) {
  std::vector<Sample> kept;
  for (int64_t i = first; i < size(); i += step) kept.push_back(samples_[i]);
  samples_ = std::move(kept);
}

void CalibrationSamples::Limit(int64_t count) {
  if (count < size()) samples_.resize(static_cast<size_t>(count));
}

}  // namespace edgekiln::compiler
