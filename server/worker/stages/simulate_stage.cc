// One chunk of samples on the simulated chip, every layer output compared with
// the reference: with its fingerprints, where an interpret stage left them, and
// otherwise with its values. Intermediates are compared by value: the interpret
// stage does not compute them.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/ir/interpreter.h"
#include "compiler/passes/accumulator_graph.h"
#include "server/worker/stages/chunk_states.h"
#include "server/worker/stages/compare.h"
#include "server/worker/stages/digest_comparison.h"
#include "server/worker/stages/graph_input.h"
#include "server/worker/stages/samples.h"
#include "server/worker/stages/session_input.h"
#include "server/worker/stages/stages.h"
#include "server/worker/stages/tensor_digests.h"

namespace edgekiln::server {
namespace {

using compiler::Graph;
using compiler::Interpreter;
using compiler::TensorId;

std::vector<int64_t> ElementBytesOf(const Graph& graph) {
  std::vector<int64_t> bytes;
  for (const compiler::Tensor& tensor : graph.tensors) {
    bytes.push_back(compiler::ElementBytes(tensor.type));
  }
  return bytes;
}

// The reference and the chip, sample by sample.
class SideBySide {
 public:
  // `graph` is the input "graph", `samples` are those of the chunk; the first
  // of them begins with `states`.
  static absl::StatusOr<SideBySide> Create(const StageInputs& inputs,
                                           const Graph& graph, int64_t samples,
                                           bool layers, ChunkStates states) {
    SideBySide both(inputs, graph, layers);
    EK_ASSIGN_OR_RETURN(both.loaded_,
                        WarmProgram(inputs, layers ? ElementBytesOf(graph)
                                                   : std::vector<int64_t>()));
    if (both.loaded_->outputs.size() != graph.outputs.size()) {
      return absl::InternalError("program and graph have different outputs");
    }
    EK_RETURN_IF_ERROR(both.AddIntermediates());
    EK_RETURN_IF_ERROR(both.loaded_->session->SetStates(std::move(states.chip)),
                       "states of the chunk before");
    if (both.loaded_->session->states().size() != graph.states.size()) {
      return absl::InternalError("program and graph have different states");
    }
    both.reference_states_ = std::move(states.reference);
    if (inputs.Has("digests") &&
        both.loaded_->intermediates.accumulators().empty()) {
      EK_ASSIGN_OR_RETURN(TensorDigests digests,
                          TensorDigests::Create(inputs, graph, samples));
      both.by_digest_.emplace(graph, std::move(digests));
      return both;
    }
    EK_RETURN_IF_ERROR(both.PrepareReference());
    return both;
  }

  // Computes sample `index` of the chunk, which is `sample` of the data set;
  // `outputs` gets those of the chip.
  absl::Status Run(const std::vector<absl::string_view>& inputs, int64_t index,
                   int64_t sample, std::vector<std::string>& outputs) {
    using Verdict = DigestComparison::Verdict;
    auto verdict = Verdict::kUnknown;
    if (by_digest_) {
      simfarm::Session& chip = *loaded_->session;
      const std::vector<std::string> states = chip.states();
      EK_ASSIGN_OR_RETURN(verdict, RunByDigest(WithStates(inputs, states),
                                               index, sample, outputs));
      if (verdict == Verdict::kEqual) {
        reference_states_ = chip.states();
        return absl::OkStatus();
      }
      EK_RETURN_IF_ERROR(chip.SetStates(states));
      EK_RETURN_IF_ERROR(PrepareReference());
      // The other samples will not be told apart either.
      if (verdict == Verdict::kUnknown) by_digest_.reset();
    }
    const int64_t mismatches = comparison_.mismatches();
    EK_RETURN_IF_ERROR(RunByValue(inputs, sample, outputs));
    if (verdict == Verdict::kDifferent &&
        comparison_.mismatches() == mismatches) {
      return absl::InternalError(absl::StrCat(
          "sample ", sample,
          ": what the chip computed has other digests than what the reference "
          "did, and the same values"));
    }
    return absl::OkStatus();
  }

  const Comparison& comparison() const { return comparison_; }
  bool is_firmware() const { return loaded_->is_firmware; }
  // Of the last sample.
  int64_t cycles() const { return loaded_->session->last_run().cycles; }

  // The states after the last sample.
  ChunkStates states() const {
    return {.reference = reference_states_, .chip = loaded_->session->states()};
  }

  // Layers of which some value was compared with nothing, after `samples`.
  std::vector<std::string> Unseen(int64_t samples) const {
    std::vector<std::string> layers;
    for (size_t i = 0; layers_ && i < ReferenceGraph().tensors.size(); ++i) {
      const auto tensor = static_cast<TensorId>(i);
      if (IsInputItself(tensor)) continue;
      if (tapped_[i] >= At(tensor).num_elements() * samples) continue;
      layers.push_back(LayerOf(tensor));
    }
    return layers;
  }

 private:
  SideBySide(const StageInputs& inputs, const Graph& graph, bool layers)
      : stage_inputs_(inputs), graph_(graph), layers_(layers) {}

  // To be called after the program is loaded.
  absl::Status AddIntermediates() {
    auto compared = compiler::AccumulatorGraph::Create(
        graph_, compiler::IntermediatesOf(loaded_->intermediates));
    // They come from the compiler: a mismatch is a bug of ours.
    if (!compared.ok()) {
      return absl::InternalError(absl::StrCat(
          "intermediates that the graph lacks: ", compared.status().message()));
    }
    reference_graph_ = *std::move(compared);
    producers_ = compiler::Producers(reference_graph_.graph());
    tapped_.resize(reference_graph_.graph().tensors.size(), 0);
    return absl::OkStatus();
  }

  const Graph& ReferenceGraph() const { return reference_graph_.graph(); }

  // Which intermediates were added.
  std::string FormOfReference() const {
    std::string form;
    for (const compiler::Intermediate& each :
         compiler::IntermediatesOf(loaded_->intermediates)) {
      absl::StrAppend(&form, " ", each.tensor, each.sums ? " sums of " : " of ",
                      each.result);
    }
    return form;
  }

  // The sample's inputs, with `states` for those that it does not give.
  std::vector<absl::string_view> WithStates(
      std::vector<absl::string_view> inputs,
      const std::vector<std::string>& states) const {
    for (size_t i = 0; i < inputs.size(); ++i) {
      for (size_t s = 0; inputs[i].empty() && s < states.size(); ++s) {
        if (graph_.states[s].input == graph_.inputs[i]) inputs[i] = states[s];
      }
    }
    return inputs;
  }

  absl::Status PrepareReference() {
    if (reference_ != nullptr) return absl::OkStatus();
    using Keep = compiler::InterpreterOptions::Keep;
    EK_ASSIGN_OR_RETURN(
        reference_,
        ReferenceOf(stage_inputs_, ReferenceGraph(),
                    layers_ ? Keep::kAllTensors : Keep::kOutputs,
                    FormOfReference()),
        "preparing the reference");
    return absl::OkStatus();
  }

  absl::Status RunChip(const std::vector<absl::string_view>& inputs,
                       const simfarm::TapVisitor& visit, int64_t sample,
                       std::vector<std::string>& outputs) {
    EK_RETURN_IF_ERROR(
        SimulationError(
            loaded_->session->Run(
                inputs, layers_ ? visit : simfarm::TapVisitor(), &outputs),
            loaded_->has_own_kernels),
        absl::StrCat("sample ", sample));
    return absl::OkStatus();
  }

  // Counts the sample if every value is right.
  absl::StatusOr<DigestComparison::Verdict> RunByDigest(
      const std::vector<absl::string_view>& inputs, int64_t index,
      int64_t sample, std::vector<std::string>& outputs) {
    by_digest_->Begin(index, inputs);
    const auto visit = [&](const v1::Program::Tap& tap,
                           absl::string_view values) {
      by_digest_->AddTap(tap, values);
      return absl::OkStatus();
    };
    EK_RETURN_IF_ERROR(RunChip(inputs, visit, sample, outputs));
    for (size_t i = 0; i < outputs.size(); ++i) {
      by_digest_->AddOutput(graph_.outputs[i], outputs[i]);
    }
    const DigestComparison::Verdict verdict = by_digest_->End();
    if (verdict != DigestComparison::Verdict::kEqual) return verdict;
    int64_t values = by_digest_->output_values();
    for (size_t i = 0; i < tapped_.size(); ++i) {
      tapped_[i] += by_digest_->tapped()[i];
      values += by_digest_->tapped()[i];
    }
    comparison_.AddEqual(values);
    return verdict;
  }

  absl::Status RunByValue(const std::vector<absl::string_view>& inputs,
                          int64_t sample, std::vector<std::string>& outputs) {
    EK_RETURN_IF_ERROR(reference_->SetStates(std::move(reference_states_)),
                       "states of the reference");
    EK_RETURN_IF_ERROR(reference_->Run(inputs), "running the reference");
    reference_states_ = reference_->states();
    const auto visit = [&](const v1::Program::Tap& tap,
                           absl::string_view values) {
      return CompareTap(tap, values, sample);
    };
    EK_RETURN_IF_ERROR(RunChip(inputs, visit, sample, outputs));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const TensorId output = graph_.outputs[i];
      EK_RETURN_IF_ERROR(
          comparison_.AddWhole(At(output), reference_->value(output),
                               outputs[i], absl::StrCat("output ", i), sample));
    }
    return absl::OkStatus();
  }

  const compiler::Tensor& At(TensorId tensor) const {
    return ReferenceGraph().tensors[static_cast<size_t>(tensor)];
  }

  const compiler::Op& OpAt(int32_t op) const {
    return ReferenceGraph().ops[static_cast<size_t>(op)];
  }

  // Under whatever shape: nothing was computed that could be compared.
  bool IsInputItself(TensorId tensor) const {
    int32_t op = producers_[static_cast<size_t>(tensor)];
    while (op >= 0 && OpAt(op).attributes.has_reshape()) {
      tensor = OpAt(op).inputs[0];
      op = producers_[static_cast<size_t>(tensor)];
    }
    return op < 0;
  }

  std::string LayerOf(TensorId tensor) const {
    const int32_t op = producers_[static_cast<size_t>(tensor)];
    return op < 0 ? "input" : OpAt(op).id;
  }

  absl::Status CompareTap(const v1::Program::Tap& tap, absl::string_view values,
                          int64_t sample) {
    const TensorId tensor = reference_graph_.Find(tap.tensor());
    if (tensor < 0) return absl::InternalError("tap of no tensor");
    const int64_t before = comparison_.compared();
    EK_RETURN_IF_ERROR(comparison_.Add(At(tensor), reference_->value(tensor),
                                       tap.box(), values, LayerOf(tensor),
                                       sample));
    tapped_[static_cast<size_t>(tensor)] += comparison_.compared() - before;
    return absl::OkStatus();
  }

  const StageInputs& stage_inputs_;
  const Graph& graph_;
  bool layers_;
  // graph_ with intermediates; producers_ and tapped_ refer to it.
  compiler::AccumulatorGraph reference_graph_;
  std::vector<int32_t> producers_;
  std::vector<int64_t> tapped_;  // Values compared, by tensor.
  std::shared_ptr<LoadedProgram> loaded_;
  std::optional<DigestComparison> by_digest_;
  std::vector<std::string> reference_states_;  // Before the next sample.
  // Null while digests do.
  std::shared_ptr<Interpreter> reference_;
  Comparison comparison_;
};

}  // namespace

absl::StatusOr<StageOutput> RunSimulate(const v1::SimulateOptions& options,
                                        const StageInputs& inputs,
                                        const ProgressSink& progress) {
  EK_ASSIGN_OR_RETURN(const auto read, GraphInput(inputs));
  const Graph& graph = *read;
  const std::vector<v1::TensorType> in = TypesOf(graph, graph.inputs);
  const std::vector<v1::TensorType> out = TypesOf(graph, graph.outputs);
  EK_ASSIGN_OR_RETURN(const ChunkReader chunk, ChunkReader::Create(inputs, in));
  EK_ASSIGN_OR_RETURN(AccuracyCounter accuracy,
                      AccuracyCounter::Create(inputs, in, out, chunk));
  EK_ASSIGN_OR_RETURN(ChunkStates states,
                      StatesBefore(inputs, graph, chunk, /*with_chip=*/true));
  EK_ASSIGN_OR_RETURN(
      SideBySide both,
      SideBySide::Create(inputs, graph, chunk.samples(),
                         options.compare_layers(), std::move(states)));
  ChunkWriter writer(out, chunk.first_sample());
  std::vector<int64_t> cycles;  // By sample, where they depend on data.
  v1::StageProgress state;
  state.set_total(chunk.samples());
  state.set_unit("samples");
  for (int64_t i = 0; i < chunk.samples(); ++i) {
    std::vector<std::string> outputs;
    EK_RETURN_IF_ERROR(
        both.Run(chunk.Sample(i), i, chunk.first_sample() + i, outputs));
    if (both.is_firmware()) cycles.push_back(both.cycles());
    if (!outputs.empty()) accuracy.Count(i, outputs[0]);
    writer.Append(outputs);
    state.set_done(i + 1);
    progress(state);
  }
  StageOutput output;
  output.Add("chunk", writer.chunk());
  AddStates(chunk, both.states(), output);
  v1::StageSummary::Samples& summary = *output.summary.mutable_samples();
  summary.set_samples(chunk.samples());
  accuracy.AddTo(summary);
  for (std::string& warning : accuracy.Warnings()) {
    output.warnings.push_back(std::move(warning));
  }
  summary.set_outputs_compared(both.comparison().compared());
  summary.set_mismatches(both.comparison().mismatches());
  summary.set_first_mismatch(both.comparison().first_mismatch());
  if (!cycles.empty()) {
    summary.set_cycles_min(*std::min_element(cycles.begin(), cycles.end()));
    summary.set_cycles_max(*std::max_element(cycles.begin(), cycles.end()));
  }
  for (const std::string& layer : both.Unseen(chunk.samples())) {
    output.warnings.push_back(absl::StrCat(
        "layer ", layer, " was not compared in full with the reference"));
  }
  return output;
}

}  // namespace edgekiln::server
