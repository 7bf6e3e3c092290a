#include "compiler/quantize/output_change.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "compiler/ir/interpreter.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/quantize/calibration_samples.h"
#include "compiler/quantize/noise.h"

namespace edgekiln::compiler {
namespace {

// The same network with FLOAT32 for integers at inputs and outputs.
Graph WithRealPorts(const Graph& graph) {
  Graph real = graph;  // Constants stay shared.
  FreshNames names(graph);
  std::vector<Op> first;
  std::vector<Op> last;
  const auto convert = [&](TensorId& port, bool is_input) {
    if (!real.tensors[port].quantization) return;
    Tensor tensor = real.tensors[port];
    tensor.name = names.TensorName(absl::StrCat(tensor.name, ".real"));
    tensor.type = v1::FLOAT32;
    tensor.quantization.reset();
    tensor.data = ConstantData();
    real.tensors.push_back(std::move(tensor));
    const auto added = static_cast<TensorId>(real.tensors.size()) - 1;
    Op op;
    op.id = names.OpId("real");
    if (is_input) {
      op.attributes.mutable_quantize();
      op.inputs = {added};
      op.outputs = {port};
      first.push_back(std::move(op));
    } else {
      op.attributes.mutable_dequantize();
      op.inputs = {port};
      op.outputs = {added};
      last.push_back(std::move(op));
    }
    port = added;
  };
  for (TensorId& input : real.inputs) convert(input, true);
  for (TensorId& output : real.outputs) convert(output, false);
  real.ops.insert(real.ops.begin(), first.begin(), first.end());
  real.ops.insert(real.ops.end(), last.begin(), last.end());
  return real;
}

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
