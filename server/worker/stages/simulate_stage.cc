// One chunk of samples on the simulated chip, every layer output compared with
// the reference interpreter.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/ir/interpreter.h"
#include "server/worker/stages/compare.h"
#include "server/worker/stages/graph_input.h"
#include "server/worker/stages/samples.h"
#include "server/worker/stages/session_input.h"
#include "server/worker/stages/stages.h"

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
  // `graph` is the input "graph".
  static absl::StatusOr<SideBySide> Create(const StageInputs& inputs,
                                           const Graph& graph, bool layers) {
    SideBySide both(graph, layers);
    EK_ASSIGN_OR_RETURN(both.loaded_,
                        WarmProgram(inputs, layers ? ElementBytesOf(graph)
                                                   : std::vector<int64_t>()));
    if (both.loaded_->outputs.size() != graph.outputs.size()) {
      return absl::InternalError("program and graph have different outputs");
    }
    using Keep = compiler::InterpreterOptions::Keep;
    EK_ASSIGN_OR_RETURN(
        both.reference_,
        ReferenceOf(inputs, graph, layers ? Keep::kAllTensors : Keep::kOutputs),
        "preparing the reference");
    return both;
  }

  // Computes one sample; `outputs` gets those of the chip.
  absl::Status Run(const std::vector<absl::string_view>& inputs, int64_t sample,
                   std::vector<std::string>& outputs) {
    EK_RETURN_IF_ERROR(reference_->Run(inputs), "running the reference");
    simfarm::TapVisitor visit;
    if (layers_) {
      visit = [&](const v1::Program::Tap& tap, absl::string_view values) {
        return CompareTap(tap, values, sample);
      };
    }
    EK_RETURN_IF_ERROR(
        SimulationError(loaded_->session->Run(inputs, visit, &outputs)),
        absl::StrCat("sample ", sample));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const TensorId output = graph_.outputs[i];
      EK_RETURN_IF_ERROR(
          comparison_.AddWhole(At(output), reference_->value(output),
                               outputs[i], absl::StrCat("output ", i), sample));
    }
    return absl::OkStatus();
  }

  const Comparison& comparison() const { return comparison_; }

  // Layers of which some value was compared with nothing, after `samples`.
  std::vector<std::string> Unseen(int64_t samples) const {
    std::vector<std::string> layers;
    for (size_t i = 0; layers_ && i < graph_.tensors.size(); ++i) {
      if (IsInputItself(static_cast<TensorId>(i))) continue;
      if (tapped_[i] >= graph_.tensors[i].num_elements() * samples) continue;
      layers.push_back(LayerOf(static_cast<TensorId>(i)));
    }
    return layers;
  }

 private:
  SideBySide(const Graph& graph, bool layers)
      : graph_(graph),
        layers_(layers),
        producers_(compiler::Producers(graph)),
        tapped_(graph.tensors.size(), 0) {}

  const compiler::Tensor& At(TensorId tensor) const {
    return graph_.tensors[static_cast<size_t>(tensor)];
  }

  // Under whatever shape: nothing was computed that could be compared.
  bool IsInputItself(TensorId tensor) const {
    int32_t op = producers_[static_cast<size_t>(tensor)];
    while (op >= 0 &&
           graph_.ops[static_cast<size_t>(op)].attributes.has_reshape()) {
      tensor = graph_.ops[static_cast<size_t>(op)].inputs[0];
      op = producers_[static_cast<size_t>(tensor)];
    }
    return op < 0;
  }

  std::string LayerOf(TensorId tensor) const {
    const int32_t op = producers_[static_cast<size_t>(tensor)];
    return op < 0 ? "input" : graph_.ops[static_cast<size_t>(op)].id;
  }

  absl::Status CompareTap(const v1::Program::Tap& tap, absl::string_view values,
                          int64_t sample) {
    if (tap.tensor() < 0 ||
        tap.tensor() >= static_cast<int>(graph_.tensors.size())) {
      return absl::InternalError("tap of no tensor");
    }
    const int64_t before = comparison_.compared();
    EK_RETURN_IF_ERROR(
        comparison_.Add(At(tap.tensor()), reference_->value(tap.tensor()),
                        tap.slice(), values, LayerOf(tap.tensor()), sample));
    tapped_[static_cast<size_t>(tap.tensor())] +=
        comparison_.compared() - before;
    return absl::OkStatus();
  }

  const Graph& graph_;
  bool layers_;
  std::vector<int32_t> producers_;
  std::vector<int64_t> tapped_;  // Values compared, by tensor.
  std::shared_ptr<LoadedProgram> loaded_;
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
  if (in.empty() || out.empty()) {
    return absl::InvalidArgumentError("model without inputs or outputs");
  }
  EK_ASSIGN_OR_RETURN(const ChunkReader chunk, ChunkReader::Create(inputs, in));
  EK_ASSIGN_OR_RETURN(Top1Counter top1,
                      Top1Counter::Create(inputs, in[0], out[0], chunk));
  EK_ASSIGN_OR_RETURN(
      SideBySide both,
      SideBySide::Create(inputs, graph, options.compare_layers()));
  ChunkWriter writer(out, chunk.first_sample());
  v1::StageProgress state;
  state.set_total(chunk.samples());
  state.set_unit("samples");
  for (int64_t i = 0; i < chunk.samples(); ++i) {
    std::vector<std::string> outputs;
    EK_RETURN_IF_ERROR(
        both.Run(chunk.Sample(i), chunk.first_sample() + i, outputs));
    top1.Count(i, outputs[0]);
    writer.Append(outputs);
    state.set_done(i + 1);
    progress(state);
  }
  StageOutput output;
  output.Add("chunk", writer.chunk());
  v1::StageSummary::Samples& summary = *output.summary.mutable_samples();
  summary.set_samples(chunk.samples());
  summary.set_labelled(top1.labelled());
  summary.set_correct(top1.correct());
  summary.set_outputs_compared(both.comparison().compared());
  summary.set_mismatches(both.comparison().mismatches());
  summary.set_first_mismatch(both.comparison().first_mismatch());
  for (const std::string& layer : both.Unseen(chunk.samples())) {
    output.warnings.push_back(absl::StrCat(
        "layer ", layer, " was not compared in full with the reference"));
  }
  return output;
}

}  // namespace edgekiln::server
