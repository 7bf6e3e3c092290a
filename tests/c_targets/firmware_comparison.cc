#include "tests/c_targets/firmware_comparison.h"

#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/codegen/c/testing/compiled_networks.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/same_values.h"
#include "edgekiln/v1/program.pb.h"
#include "simfarm/session/session.h"
#include "tests/c_targets/firmware_build.h"

namespace edgekiln::tests {
namespace {

using compiler::Graph;
using compiler::TensorId;

// The inputs of a state are left to both sides.
std::vector<absl::string_view> InputsOf(
    const Graph& graph, const std::vector<std::string>& values) {
  std::vector<absl::string_view> inputs;
  size_t next = 0;
  for (const TensorId input : graph.inputs) {
    bool is_state = false;
    for (const compiler::State& state : graph.states) {
      is_state = is_state || state.input == input;
    }
    inputs.push_back(is_state ? absl::string_view()
                              : absl::string_view(values[next++]));
  }
  return inputs;
}

absl::Status Differs(const std::string& what, uint64_t sample) {
  return absl::InternalError(
      absl::StrCat("sample ", sample, ": ", what, " is not the interpreter's"));
}

}  // namespace

absl::Status CompareFirmware(const Graph& graph, const std::string& target,
                             v1::CRecipe::Kernels kernels,
                             v1::CompilerFamily family) {
  EK_ASSIGN_OR_RETURN(const v1::Machine machine, MachineOf(target));
  EK_ASSIGN_OR_RETURN(const BuiltFirmware built,
                      BuildFirmware(graph, machine, kernels, nullptr, family));
  // Objects of clang do not tell who calls by a pointer.
  const bool is_bounded = family != v1::CLANG || kernels != v1::CRecipe::TABLE;
  if (is_bounded && built.program.firmware().sections().stack_bytes() == 0) {
    return absl::InternalError("nobody knows how much stack it takes");
  }
  simfarm::SessionOptions options;
  for (const compiler::Tensor& tensor : graph.tensors) {
    options.tensor_element_bytes.push_back(compiler::ElementBytes(tensor.type));
  }
  EK_ASSIGN_OR_RETURN(
      const auto session,
      simfarm::LoadSession(built.program, built.elf, machine, options));
  EK_ASSIGN_OR_RETURN(
      const auto reference,
      compiler::Interpreter::Create(
          graph, {.keep = compiler::InterpreterOptions::Keep::kAllTensors}));
  const auto same = [&](TensorId tensor, absl::string_view bytes) {
    return compiler::SameValues(graph.tensors[tensor].type,
                                reference->value(tensor), bytes);
  };
  for (uint64_t sample = 0; sample < 2; ++sample) {
    const std::vector<std::string> values =
        compiler::RandomInputs(graph, sample);
    const std::vector<absl::string_view> inputs = InputsOf(graph, values);
    const absl::Status expected = reference->Run(inputs);
    int taps = 0;
    const auto visit = [&](const v1::Program::Tap& tap,
                           absl::string_view bytes) {
      ++taps;
      if (!expected.ok() || same(tap.tensor(), bytes)) return absl::OkStatus();
      return Differs(
          absl::StrCat("layer ", built.program.layers(tap.step()).id()),
          sample);
    };
    std::vector<std::string> outputs;
    const absl::Status ran =
        sample == 0 ? session->RunChecked(inputs, visit, &outputs).status()
                    : session->Run(inputs, visit, &outputs);
    if (ran.ok() != expected.ok()) {
      return absl::InternalError(
          absl::StrCat(ran.ToString(), "; expected: ", expected.ToString()));
    }
    if (!expected.ok()) continue;
    if (taps != built.program.taps_size()) return Differs("all", sample);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!same(graph.outputs[i], outputs[i])) {
        return Differs(absl::StrCat("output ", i), sample);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::tests
