#include "compiler/quantize/output_change.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "compiler/ir/interpreter.h"
#include "compiler/quantize/calibration_samples.h"
#include "compiler/quantize/noise.h"
#include "compiler/quantize/real_ports.h"

namespace edgekiln::compiler {
namespace {

std::vector<float> FirstOutput(const Interpreter& interpreter) {
  const absl::string_view bytes =
      interpreter.value(interpreter.graph().outputs[0]);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

std::ptrdiff_t Answer(const std::vector<float>& values) {
  return std::max_element(values.begin(), values.end()) - values.begin();
}

bool IsVector(const Tensor& tensor) {
  return tensor.num_elements() > 1 && !tensor.shape.empty() &&
         tensor.shape.back() == tensor.num_elements();
}

}  // namespace

absl::StatusOr<std::optional<OutputChange>> CompareOutputs(
    const Graph& before, const Graph& after, absl::Span<const v1::Chunk> chunks,
    ops::CpuPath cpu_path) {
  EK_ASSIGN_OR_RETURN(CalibrationSamples samples,
                      CalibrationSamples::Create(after, chunks));
  samples.Limit(std::min(samples.size(), kMostCompared));
  if (samples.size() == 0 || samples.sequential() || !after.states.empty() ||
      after.outputs.empty()) {
    return std::nullopt;
  }
  const Graph with_real_ports = WithRealPorts(before);
  if (with_real_ports.tensors[with_real_ports.outputs[0]].type != v1::FLOAT32 ||
      after.tensors[after.outputs[0]].type != v1::FLOAT32) {
    return std::nullopt;  // An index, say.
  }
  EK_ASSIGN_OR_RETURN(
      const std::unique_ptr<Interpreter> reference,
      Interpreter::Create(with_real_ports, {.cpu_path = cpu_path}));
  EK_ASSIGN_OR_RETURN(const std::unique_ptr<Interpreter> anew,
                      Interpreter::Create(after, {.cpu_path = cpu_path}));
  OutputChange change{.samples = samples.size()};
  if (IsVector(after.tensors[after.outputs[0]])) change.other_answers = 0;
  Noise noise;
  for (int64_t i = 0; i < samples.size(); ++i) {
    const std::vector<absl::string_view> inputs = samples.Inputs(i);
    EK_RETURN_IF_ERROR(reference->Run(inputs), "comparing outputs");
    EK_RETURN_IF_ERROR(anew->Run(inputs), "comparing outputs");
    const std::vector<float> expected = FirstOutput(*reference);
    const std::vector<float> values = FirstOutput(*anew);
    for (size_t k = 0; k < std::min(expected.size(), values.size()); ++k) {
      noise.AddPair(expected[k], values[k]);
    }
    if (change.other_answers && Answer(expected) != Answer(values)) {
      ++*change.other_answers;
    }
  }
  change.sqnr_db = noise.decibels();
  return change;
}

std::string ToText(const OutputChange& change, absl::string_view samples) {
  std::string text = absl::StrCat("on ", change.samples, " ", samples);
  if (!change.sqnr_db && change.other_answers.value_or(0) == 0) {
    return absl::StrCat(text, " the first output is the same");
  }
  absl::StrAppend(
      &text, " the first output keeps ",
      change.sqnr_db ? absl::StrFormat("%.1f dB", *change.sqnr_db) : "nothing");
  if (change.other_answers) {
    absl::StrAppend(
        &text, ", and ", *change.other_answers,
        *change.other_answers == 1 ? " answer differs" : " answers differ");
  }
  return text;
}

}  // namespace edgekiln::compiler
