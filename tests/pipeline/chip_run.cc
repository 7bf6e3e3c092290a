#include "tests/pipeline/chip_run.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/codegen/placement.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/storage.h"
#include "compiler/partition/partition.h"
#include "compiler/passes/accumulator_graph.h"
#include "simfarm/session/session.h"
#include "target/layout.h"
#include "target/memories.h"
#include "target/resolve.h"

namespace edgekiln::tests {

namespace {

bool IsGiven(const compiler::Graph& graph, compiler::TensorId tensor) {
  return graph.tensors[tensor].is_constant() ||
         std::find(graph.inputs.begin(), graph.inputs.end(), tensor) !=
             graph.inputs.end();
}

// Compares what a run shows with what the interpreter holds.
class Comparer {
 public:
  Comparer(const compiler::AccumulatorGraph& compared,
           const compiler::Interpreter& interpreter, Comparison& result)
      : compared_(compared),
        interpreter_(interpreter),
        result_(result),
        covered_(compared.graph().tensors.size(), 0) {}

  absl::Status Visit(const v1::Program::Tap& tap, absl::string_view values) {
    const compiler::TensorId id = compared_.Find(tap.tensor());
    if (id < 0) return absl::InternalError("tap of no tensor");
    const compiler::Tensor& tensor = compared_.graph().tensors[id];
    EK_ASSIGN_OR_RETURN(
        const target::Layout part,
        target::Layout::OfBox(tap.box(), tensor.shape,
                              compiler::ElementBytes(tensor.type)));
    std::string buffer;
    const absl::string_view want =
        part.View(interpreter_.value(id).data(), buffer);
    covered_[id] += static_cast<int64_t>(values.size());
    Compare(tensor.name, want, values);
    return absl::OkStatus();
  }

  void Compare(absl::string_view name, absl::string_view want,
               absl::string_view got) {
    if (want.size() != got.size()) {
      ++result_.mismatches;
      return;
    }
    for (size_t i = 0; i < want.size(); ++i) {
      ++result_.compared;
      if (want[i] == got[i]) continue;
      if (result_.mismatches++ == 0) {
        result_.first_mismatch =
            absl::StrCat(name, "[", i, "]: want ", static_cast<int>(want[i]),
                         ", got ", static_cast<int>(got[i]));
      }
    }
  }

  int64_t covered(compiler::TensorId tensor) const { return covered_[tensor]; }

 private:
  const compiler::AccumulatorGraph& compared_;
  const compiler::Interpreter& interpreter_;
  Comparison& result_;
  std::vector<int64_t> covered_;
};

}  // namespace

v1::ResolvedTarget TargetWithScratchpad(absl::string_view descriptor,
                                        int64_t scratchpad_bytes) {
  v1::ResolvedTarget target = *target::ResolveTarget(descriptor);
  for (v1::ResolvedMemory& memory :
       *target.mutable_machine()->mutable_memories()) {
    const bool reached =
        std::count(memory.engines().begin(), memory.engines().end(), 0) > 0;
    if (memory.host_reaches() || !reached || !target::IsWritable(memory)) {
      continue;
    }
    memory.set_capacity_bytes(scratchpad_bytes);
  }
  return target;
}

absl::StatusOr<compiler::EmitResult> CompileQuantized(
    const compiler::Graph& graph, const v1::ResolvedTarget& target,
    const v1::TileRecipe& recipe) {
  EK_ASSIGN_OR_RETURN(v1::Partition partition,
                      compiler::PartitionGraph(graph, target.capabilities()));
  if (target.capabilities().engines_size() > 1) {
    EK_ASSIGN_OR_RETURN(
        partition, compiler::PlaceByCycles(partition, target.capabilities(),
                                           target.machine(), v1::ALL));
  }
  EK_ASSIGN_OR_RETURN(
      const v1::RegionPlans plan,
      compiler::TilePartition(partition, target.machine(), recipe));
  return compiler::EmitProgram(partition, plan, target.machine());
}

int64_t SmallestSramOf(const absl::Status& status) {
  const std::optional<ErrorDetail> detail = GetErrorDetail(status);
  int64_t bytes = -1;
  if (!detail || detail->reason != "SRAM_TOO_SMALL" ||
      !absl::SimpleAtoi(detail->need.substr(0, detail->need.find(' ')),
                        &bytes)) {
    return -1;
  }
  return bytes;
}

simfarm::SessionOptions OptionsOf(const compiler::Graph& graph) {
  simfarm::SessionOptions options;
  for (const compiler::Tensor& tensor : graph.tensors) {
    options.tensor_element_bytes.push_back(compiler::ElementBytes(tensor.type));
  }
  return options;
}

absl::StatusOr<Comparison> CompareWithInterpreter(
    const compiler::Graph& quantized, const v1::ResolvedTarget& target,
    const compiler::EmitResult& compiled,
    absl::Span<const std::string> samples) {
  EK_ASSIGN_OR_RETURN(
      const auto compared,
      compiler::AccumulatorGraph::Create(
          quantized, compiler::IntermediatesOf(compiled.program)));
  const compiler::Graph& graph = compared.graph();
  EK_ASSIGN_OR_RETURN(
      const std::unique_ptr<compiler::Interpreter> interpreter,
      compiler::Interpreter::Create(
          graph, {.keep = compiler::InterpreterOptions::Keep::kAllTensors}));
  EK_ASSIGN_OR_RETURN(
      const std::unique_ptr<simfarm::Session> session,
      simfarm::LoadSession(compiled.program, compiled.constants,
                           target.machine(), OptionsOf(quantized)));
  Comparison result;
  for (size_t s = 0; s < samples.size(); ++s) {
    std::vector<absl::string_view> inputs(graph.inputs.size());
    inputs[0] = samples[s];
    EK_RETURN_IF_ERROR(interpreter->Run(inputs));
    Comparer comparer(compared, *interpreter, result);
    const auto visit = [&](const v1::Program::Tap& tap,
                           absl::string_view values) {
      return comparer.Visit(tap, values);
    };
    std::vector<std::string> outputs;
    if (s == 0) {
      EK_ASSIGN_OR_RETURN(result.report,
                          session->RunChecked(inputs, visit, &outputs));
    } else {
      EK_RETURN_IF_ERROR(session->Run(inputs, visit, &outputs));
    }
    for (size_t o = 0; o < outputs.size(); ++o) {
      comparer.Compare("output", interpreter->value(graph.outputs[o]),
                       outputs[o]);
    }
    const std::vector<compiler::TensorId> storage = compiler::StorageOf(graph);
    for (size_t i = 0; i < graph.ops.size(); ++i) {
      const compiler::TensorId output = graph.ops[i].outputs[0];
      // Reshapes of what was there before the program ran.
      if (IsGiven(graph, storage[output])) continue;
      const compiler::Tensor& tensor = graph.tensors[output];
      result.uncovered +=
          tensor.num_elements() * compiler::ElementBytes(tensor.type) -
          comparer.covered(output);
    }
  }
  return result;
}

}  // namespace edgekiln::tests
