#include "compiler/codegen/c/network.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/codegen/c/arena.h"
#include "compiler/codegen/c/channel_first.h"
#include "compiler/codegen/c/copied_outputs.h"
#include "compiler/codegen/c/identifiers.h"
#include "compiler/codegen/c/kernels.h"
#include "compiler/codegen/c/network_files.h"
#include "compiler/codegen/c/network_writer.h"
#include "compiler/codegen/c/steps.h"

namespace edgekiln::compiler {
namespace {

bool AllEmpty(const Graph& graph, const std::vector<TensorId>& outputs) {
  return std::all_of(outputs.begin(), outputs.end(), [&graph](TensorId id) {
    return graph.tensors[id].num_elements() == 0;
  });
}

std::vector<int64_t> RowMajor(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) {
    strides[i - 1] = strides[i] * shape[i];
  }
  return strides;
}

// Of [n, h, w, c] that lies as [n, c, h, w].
std::vector<int64_t> ChannelFirst(const std::vector<int64_t>& shape) {
  return {shape[1] * shape[2] * shape[3], shape[2], 1, shape[1] * shape[2]};
}

// What the code that layers share takes, beside RV32IMC's. Measured with gcc
// -O2 on helpers of the public networks.
struct CommonCode {
  int64_t percent = 100;
  bool has_floats = false;  // Instructions.
  bool has_doubles = false;
};

CommonCode CommonCodeOf(v1::Processor processor) {
  switch (processor) {
    case v1::RV32IM:
      return {.percent = 127};
    case v1::RV32IMF:
      return {.percent = 124, .has_floats = true};
    case v1::CORTEX_M0PLUS:
      return {.percent = 84};
    case v1::CORTEX_M4:
      return {.percent = 73, .has_floats = true};
    case v1::CORTEX_M7:
    case v1::CORTEX_M55:
      return {.percent = 73, .has_floats = true, .has_doubles = true};
    case v1::X86_64:
      return {.percent = 82, .has_floats = true, .has_doubles = true};
    default:
      return {};
  }
}

// All layers, and what they use.
class Network {
 public:
  Network(const Graph& graph, const COptions& options, const Recipes& recipes)
      : graph_(graph),
        options_(options),
        recipes_(recipes),
        tensors_(std::ssize(graph.tensors)),
        kernels_(options.kernels == nullptr ? KernelLibrary::Builtin()
                                            : *options.kernels,
                 options.processor),
        writer_(graph_,
                CPrefix(options.name.empty() ? graph.name : options.name)) {}

  // Without text.
  absl::StatusOr<NetworkNeed> Measure() {
    writer_.CountOnly();
    EK_ASSIGN_OR_RETURN(const ArenaPlan plan, Plan());
    NetworkNeed need;
    manifest_.arena_bytes = plan.bytes + CopiedOutputBytes(graph_);
    need.layer_ram_bytes.resize(layers_.size(), 0);
    for (size_t s = 0; s < uses_.size(); ++s) {
      int64_t& most = need.layer_ram_bytes[step_layer_[s]];
      most = std::max(most, plan.step_bytes[s]);
    }
    need.manifest = std::move(manifest_);
    return need;
  }

  absl::StatusOr<CSources> Emit() {
    EK_ASSIGN_OR_RETURN(const ArenaPlan plan, Plan());
    EK_RETURN_IF_ERROR(CheckMemory(plan.bytes));
    CSources sources;
    sources.files = NetworkFiles(writer_, layers_, plan,
                                 options_.recipe == CRecipe::kTable, manifest_);
    // With outputs that are copies of constants or states.
    EK_RETURN_IF_ERROR(CheckMemory(manifest_.arena_bytes));
    sources.manifest = std::move(manifest_);
    return sources;
  }

 private:
  // Writes the layers, and all of the manifest but the ports.
  absl::StatusOr<ArenaPlan> Plan() {
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const Op op = graph_.ops[i];
      EK_RETURN_IF_ERROR(AddLayer(static_cast<int64_t>(i), op),
                         absl::StrCat("op ", op.id));
    }
    ArenaPlan plan = PlanArena(graph_, uses_);
    for (const LayerText& layer : layers_) {
      manifest_.layers.push_back(layer.layer);
      if (layer.body.empty()) manifest_.layers.back().function.clear();
      manifest_.code_bytes += layer.layer.code_bytes;
    }
    manifest_.tensors = Tensors(plan);
    const CommonCode common = CommonCodeOf(options_.processor);
    manifest_.code_bytes +=
        (writer_.helpers().CodeBytes() + FloatLibrary(common)) *
        common.percent / 100;
    manifest_.name = writer_.prefix();
    manifest_.pointer_calls = PointerCalls();
    manifest_.arena_bytes = plan.bytes;
    manifest_.state_bytes = plan.state_bytes;
    manifest_.constant_bytes = writer_.constant_bytes() + TableBytes();
    return plan;
  }

  absl::Status AddLayer(int64_t index, const Op& op) {
    LayerText text;
    text.layer.id = op.id;
    text.layer.function = CLayerFunction(writer_.prefix(), index, op.id);
    text.outputs = op.outputs;
    const int64_t constants = writer_.constant_bytes();
    for (const CStep& step : StepsOf(op, graph_)) {
      EK_RETURN_IF_ERROR(AddStep(step, recipes_[index], text));
      step_layer_.resize(uses_.size(), static_cast<size_t>(index));
    }
    text.layer.constant_bytes = writer_.constant_bytes() - constants;
    uses_.back().keeps = op.outputs;
    layers_.push_back(std::move(text));
    return absl::OkStatus();
  }

  absl::Status AddStep(const CStep& step, CRecipe recipe, LayerText& text) {
    StepUse use;
    use.writes = step.outputs;
    if (IsAlias(graph_, step) && !writer_.channel_first(step.inputs[0])) {
      use.reads = {step.inputs[0]};
      use.is_alias = true;
      text.layer.kernel = kAliasKernel;
      uses_.push_back(std::move(use));
      return absl::OkStatus();
    }
    StepWriter w(writer_, step);
    if (!AllEmpty(graph_, step.outputs)) {
      if (recipe == CRecipe::kUma) {
        PlanOrder(w, kernels_.HasKernel(w, recipe), !IsPort(step.outputs[0]));
      }
      EK_ASSIGN_OR_RETURN(const KernelChoice choice, kernels_.Emit(w, recipe));
      text.layer.kernel = choice.name;
      text.layer.predicted_instructions += choice.instructions;
      text.layer.code_bytes += choice.code_bytes;
      if (!choice.function.empty()) {
        text.layer.external_calls.push_back({choice.function, choice.header});
      }
      text.body += w.Block();
      text.can_fail = text.can_fail || w.can_fail();
      text.called.insert(text.called.end(), w.called().begin(),
                         w.called().end());
    }
    for (const size_t i : w.read()) use.reads.push_back(step.inputs[i]);
    use.scratch = w.scratch();
    for (const size_t i : w.overwrites()) {
      use.overwrites.push_back(step.inputs[i]);
    }
    uses_.push_back(std::move(use));
    return absl::OkStatus();
  }

  // Of kTable: the walk calls layers, and they call kernels.
  std::vector<CPointerCall> PointerCalls() const {
    std::vector<CPointerCall> calls;
    for (const LayerText& layer : layers_) {
      if (options_.recipe == CRecipe::kTable && !layer.body.empty()) {
        calls.push_back(
            {absl::StrCat(writer_.prefix(), "_invoke"), layer.layer.function});
      }
      for (const std::string& kernel : layer.called) {
        calls.push_back({layer.layer.function, kernel});
      }
    }
    return calls;
  }

  // Of kTable: entries of eight words, and a pointer to each layer.
  int64_t TableBytes() const {
    if (options_.recipe != CRecipe::kTable) return 0;
    constexpr int64_t kWord = 4;
    return 8 * kWord * std::ssize(writer_.entries()) +
           kWord * std::ssize(layers_);
  }

  // Functions that compute floats on a processor which does not: as those of
  // firmware's runtime.c are on RV32IMC.
  int64_t FloatLibrary(const CommonCode& common) {
    const std::string helpers = writer_.helpers().Text();
    const auto uses = [&](absl::string_view type) {
      return absl::StrContains(helpers, type) ||
             std::any_of(layers_.begin(), layers_.end(),
                         [type](const LayerText& layer) {
                           return absl::StrContains(layer.body, type);
                         });
    };
    return (!common.has_floats && uses("float") ? 1400 : 0) +
           (!common.has_doubles && uses("double") ? 3200 : 0);
  }

  // Whether somebody outside the layers reads it.
  bool IsPort(TensorId id) const {
    const auto is = [id](const State& state) {
      return state.input == id || state.output == id;
    };
    return std::find(graph_.outputs.begin(), graph_.outputs.end(), id) !=
               graph_.outputs.end() ||
           std::any_of(graph_.states.begin(), graph_.states.end(), is);
  }

  std::vector<CTensor> Tensors(const ArenaPlan& plan) const {
    std::vector<int32_t> layer(static_cast<size_t>(tensors_), -1);
    for (size_t i = 0; i < layers_.size(); ++i) {
      const LayerText& text = layers_[i];
      for (const TensorId id : text.outputs) {
        layer[id] = text.layer.kernel == kAliasKernel
                        ? layer[graph_.ops[i].inputs[0]]
                        : static_cast<int32_t>(i);
      }
    }
    std::vector<CTensor> tensors;
    for (const auto& [id, offset] : plan.tensors) {
      const Tensor& tensor = graph_.tensors[id];
      if (id >= tensors_ || tensor.num_elements() == 0) continue;
      tensors.push_back({id, layer[id], offset,
                         tensor.num_elements() * ElementBytes(tensor.type),
                         writer_.channel_first(id) ? ChannelFirst(tensor.shape)
                                                   : RowMajor(tensor.shape)});
    }
    return tensors;
  }

  absl::Status CheckMemory(int64_t arena_bytes) const {
    const int64_t most = options_.ram_limit_bytes > 0
                             ? options_.ram_limit_bytes
                             : std::numeric_limits<int32_t>::max();
    if (arena_bytes > most)
      return TooLarge("RAM", "the arena", arena_bytes, most);
    return absl::OkStatus();
  }

  Graph graph_;  // With the tensors between steps.
  const COptions& options_;
  const Recipes& recipes_;
  const int64_t tensors_;  // Of the graph as it was given.
  const KernelEmitter kernels_;
  NetworkWriter writer_;
  std::vector<LayerText> layers_;
  std::vector<StepUse> uses_;
  std::vector<size_t> step_layer_;  // Of each of them.
  CManifest manifest_;
};

}  // namespace

absl::Status TooLarge(absl::string_view memory, absl::string_view what,
                      int64_t need, int64_t limit) {
  return MakeError(absl::StatusCode::kResourceExhausted,
                   {.fault = Fault::kUser,
                    .reason = "C_MEMORY",
                    .what = absl::StrCat("too little ", memory, " for ", what),
                    .limit = absl::StrCat(limit, " bytes"),
                    .need = absl::StrCat(need, " bytes"),
                    .fix = absl::StrCat("a chip with more ", memory,
                                        ", or a smaller network")});
}

absl::StatusOr<CSources> EmitNetwork(const Graph& graph,
                                     const COptions& options,
                                     const Recipes& recipes) {
  return Network(graph, options, recipes).Emit();
}

absl::StatusOr<NetworkNeed> MeasureNetwork(const Graph& graph,
                                           const COptions& options,
                                           const Recipes& recipes) {
  return Network(graph, options, recipes).Measure();
}

}  // namespace edgekiln::compiler
