#include "compiler/codegen/firmware/emit_firmware.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/error.h"
#include "base/rounding.h"
#include "base/status_macros.h"
#include "compiler/codegen/c/c_sources.h"
#include "compiler/codegen/c/kernel_library.h"
#include "compiler/codegen/firmware/io_estimate.h"
#include "compiler/codegen/firmware/own_kernels.h"
#include "compiler/codegen/firmware/runtime.h"
#include "compiler/codegen/firmware/stack_bound.h"
#include "compiler/codegen/firmware/startup.h"
#include "compiler/codegen/layer_rows.h"
#include "compiler/codegen/memory_map.h"
#include "compiler/codegen/tensor_uses.h"
#include "compiler/ir/storage.h"
#include "target/firmware.h"
#include "target/layout.h"

namespace edgekiln::compiler {
namespace {

// gcc takes two hundred times the bytes of an array that is written as numbers.
constexpr int64_t kMaxConstantBytes = int64_t{12} << 20;

CRecipe RecipeOf(const v1::CRecipe& recipe) {
  switch (recipe.kernels()) {
    case v1::CRecipe::SMALL:
      return CRecipe::kSize;
    case v1::CRecipe::PLAIN:
      return CRecipe::kPlain;
    case v1::CRecipe::UMA:
      return CRecipe::kUma;
    case v1::CRecipe::TABLE:
      return CRecipe::kTable;
    default:
      return CRecipe::kDefault;
  }
}

// Cycles of 100 instructions on the machine: how often classes occur in what
// the public int8 networks execute, rounded. An estimate.
int64_t CyclesOf100(const v1::Machine& machine, const v1::ResolvedMemory& flash,
                    const v1::ResolvedMemory& ram) {
  struct Share {
    absl::string_view name;
    int64_t percent;
  };
  constexpr Share kShares[] = {{"alu", 48},         {"load", 24},
                               {"store", 4},        {"branch_not_taken", 1},
                               {"branch_taken", 7}, {"multiply", 15},
                               {"multiply_high", 1}};
  int64_t cycles = 0;
  for (const Share& share : kShares) {
    int64_t cost = 1;
    for (const v1::Setting& setting : machine.firmware().costs()) {
      if (setting.name() == share.name) cost = setting.value();
    }
    cycles += share.percent * cost;
  }
  // Every instruction is fetched; half of what is loaded are constants.
  return cycles + 112 * int64_t{flash.wait_cycles()} +
         16 * int64_t{ram.wait_cycles()};
}

int64_t CyclesOf(int64_t instructions, int64_t cycles_of_100) {
  return instructions / 100 * cycles_of_100 +
         instructions % 100 * cycles_of_100 / 100;
}

// By how many hundredths more code is larger than estimated, per program that
// was refused. Measured: tests/bench/c_estimates_main.cc.
constexpr int64_t kAllowancePercent = 4;

// The C that is estimated to fit. Where none is, the smallest that the recipe
// allows: what the compiler makes of it decides.
absl::StatusOr<CSources> SourcesFor(const Graph& graph, COptions options,
                                    absl::Span<const int64_t> refused) {
  for (const int64_t bytes : refused) {
    options.code_allowance_percent += kAllowancePercent;
    // A limit of 0 would be none.
    options.flash_limit_bytes =
        std::clamp<int64_t>(bytes - 1, 1, options.flash_limit_bytes);
  }
  absl::StatusOr<CSources> sources = EmitC(graph, options);
  if (!absl::IsResourceExhausted(sources.status())) return sources;
  if (options.recipe == CRecipe::kDefault) options.recipe = CRecipe::kSize;
  options.flash_limit_bytes = 0;
  return EmitC(graph, options);
}

// What EmitC() says that it needs of RAM; nothing if that is not what it lacks.
std::optional<int64_t> RamNeedOf(const absl::Status& status) {
  const std::optional<ErrorDetail> detail = GetErrorDetail(status);
  int64_t need = 0;
  if (!detail.has_value() || detail->reason != "C_MEMORY" ||
      !absl::StrContains(detail->what, "RAM") ||
      !absl::SimpleAtoi(absl::StripSuffix(detail->need, " bytes"), &need)) {
    return std::nullopt;
  }
  return need;
}

// RAM that there is C for.
struct RamNeed {
  int64_t bytes = 0;
  bool is_least = false;
};

// Between what was refused and what that choice of kernels would need, as
// others may need less. Each step makes all of the C: there are few.
RamNeed NeedOfRam(const Graph& graph, COptions options,
                  absl::Span<const int64_t> refused, int64_t need) {
  constexpr int64_t kStep = target::kMemoryAlignment;
  constexpr int kMaxSteps = 6;
  int64_t fails = options.ram_limit_bytes / kStep;
  int64_t works = RoundUp(need, kStep) / kStep;
  for (int i = 0; i < kMaxSteps && works - fails > 1; ++i) {
    const int64_t middle = fails + (works - fails) / 2;
    options.ram_limit_bytes = middle * kStep;
    (SourcesFor(graph, options, refused).ok() ? works : fails) = middle;
  }
  return {works * kStep, works - fails == 1};
}

// What lacks RAM, with the memory's name and the stack that is kept.
absl::Status WithStack(const absl::Status& status, const RamNeed& need,
                       const v1::ResolvedMemory& ram, int64_t stack_bytes) {
  ErrorDetail detail = GetErrorDetail(status).value_or(ErrorDetail());
  detail.where = absl::StrCat("memory ", ram.name());
  detail.limit = absl::StrCat(ram.capacity_bytes(), " bytes");
  detail.need =
      absl::StrCat(need.is_least ? "" : "at most ",
                   RoundUp(need.bytes + stack_bytes, target::kMemoryAlignment),
                   " bytes, ", stack_bytes, " of them for the stack");
  return MakeError(status.code(), std::move(detail));
}

// What layers that have slower kernels lose.
std::string LossOf(const CManifest& manifest, int64_t cycles_of_100) {
  constexpr size_t kMostNamed = 8;
  int64_t all = 0;
  std::vector<std::pair<int64_t, std::string>> layers;
  for (const CGivenUp& given_up : manifest.given_up) {
    const CLayer& layer = manifest.layers[given_up.layer];
    const int64_t cycles = CyclesOf(given_up.instructions, cycles_of_100);
    all += cycles;
    layers.emplace_back(
        cycles, absl::StrCat(layer.id, " ", layer.kernel, " for ",
                             given_up.fastest, ", ", cycles, " cycles more"));
  }
  std::stable_sort(
      layers.begin(), layers.end(),
      [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text = absl::StrCat(
      "the fastest kernels do not fit the memory; slower ones take about ", all,
      " cycles more: ");
  for (size_t i = 0; i < std::min(layers.size(), kMostNamed); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : "; ", layers[i].second);
  }
  if (layers.size() > kMostNamed) {
    absl::StrAppend(&text, "; and ", layers.size() - kMostNamed,
                    " other layers");
  }
  return text;
}

class FirmwareWriter {
 public:
  FirmwareWriter(const Graph& graph, const v1::Machine& machine,
                 const SystemMemories& memories, CManifest manifest)
      : graph_(graph),
        machine_(machine),
        memories_(memories),
        ram_(memories.rams[0]),
        cycles_of_100_(CyclesOf100(machine, machine.memories(memories.flash),
                                   machine.memories(ram_))),
        manifest_(std::move(manifest)) {}

  int64_t CyclesOf(int64_t instructions) const {
    return compiler::CyclesOf(instructions, cycles_of_100_);
  }

  v1::Program Write() {
    program_.set_version(3);
    v1::Program::Firmware& firmware = *program_.mutable_firmware();
    firmware.set_processor(machine_.firmware().processor());
    firmware.set_run(kRunSymbol);
    firmware.set_stack_bytes(machine_.firmware().stack_bytes());
    AddLayers(firmware);
    AddPorts();
    AddCarries(graph_, &program_);
    AddTaps();
    AddUses();
    program_.set_flash_bytes(manifest_.constant_bytes + manifest_.code_bytes);
    program_.set_ram_bytes(manifest_.arena_bytes + firmware.stack_bytes());
    return std::move(program_);
  }

 private:
  void AddLayers(v1::Program::Firmware& firmware) {
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      v1::Program::Layer& layer = AddLayerRow(graph_, graph_.ops[i], &program_);
      const CLayer& made = manifest_.layers[i];
      layer.set_engine(-1);
      const int64_t cycles = CyclesOf(made.predicted_instructions);
      layer.set_predicted_cycles(cycles);
      program_.set_predicted_cycles(program_.predicted_cycles() + cycles);
      firmware.add_functions(made.function);
    }
  }

  v1::Location LocationAt(int64_t offset) const {
    v1::Location location;
    location.set_memory(ram_);
    location.set_address(machine_.memories(ram_).base_address() +
                         static_cast<uint64_t>(offset));
    return location;
  }

  int32_t IndexOf(const v1::Layout& layout) {
    const auto [place, is_new] = layouts_.try_emplace(
        layout.SerializeAsString(), program_.layouts_size());
    if (is_new) *program_.add_layouts() = layout;
    return place->second;
  }

  v1::Program::Binding BindingOf(TensorId id, const CPort& port) {
    const Tensor& tensor = graph_.tensors[id];
    v1::Program::Binding binding;
    *binding.mutable_type() = TypeOf(tensor);
    *binding.mutable_location() = LocationAt(port.offset);
    binding.set_layout(
        IndexOf(target::DenseLayout(tensor.shape, ElementBytes(tensor.type))));
    return binding;
  }

  void AddPorts() {
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      *program_.add_inputs() = BindingOf(graph_.inputs[i], manifest_.inputs[i]);
    }
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      *program_.add_outputs() =
          BindingOf(graph_.outputs[i], manifest_.outputs[i]);
    }
  }

  v1::Layout LayoutOf(const CTensor& place) const {
    const Tensor& tensor = graph_.tensors[place.id];
    v1::Layout layout =
        target::DenseLayout(tensor.shape, ElementBytes(tensor.type));
    layout.clear_terms();
    for (size_t axis = 0; axis < tensor.shape.size(); ++axis) {
      if (tensor.shape[axis] <= 1) continue;
      v1::Layout::Term& term = *layout.add_terms();
      term.set_axis(static_cast<int32_t>(axis));
      term.set_stride_bytes(place.strides[axis] * ElementBytes(tensor.type));
    }
    return layout;
  }

  // What layers compute, in their order.
  void AddTaps() {
    std::vector<const CTensor*> computed;
    for (const CTensor& tensor : manifest_.tensors) {
      if (tensor.layer >= 0) computed.push_back(&tensor);
    }
    std::stable_sort(
        computed.begin(), computed.end(),
        [](const CTensor* a, const CTensor* b) { return a->layer < b->layer; });
    for (const CTensor* tensor : computed) {
      v1::Program::Tap& tap = *program_.add_taps();
      tap.set_stream(-1);
      tap.set_step(tensor->layer);
      tap.set_tensor(tensor->id);
      *tap.mutable_box() = target::WholeBox(graph_.tensors[tensor->id].shape);
      *tap.mutable_location() = LocationAt(tensor->offset);
      tap.set_layout(IndexOf(LayoutOf(*tensor)));
    }
  }

  void AddUses() {
    const std::vector<TensorId> storage = StorageOf(graph_);
    absl::flat_hash_map<TensorId, uint64_t> places;
    for (const CTensor& tensor : manifest_.tensors) {
      places.try_emplace(storage[tensor.id],
                         LocationAt(tensor.offset).address());
    }
    AddTensorUses(graph_, storage, machine_, {memories_, places, {}, {}},
                  &program_);
  }

  const Graph& graph_;
  const v1::Machine& machine_;
  const SystemMemories& memories_;
  const int32_t ram_;
  const int64_t cycles_of_100_;
  const CManifest manifest_;
  v1::Program program_;
  std::map<std::string, int32_t> layouts_;  // Of program_, by content.
};

void AddFile(std::string path, std::string text, v1::CSourceTree* tree) {
  v1::CSourceTree::File& file = *tree->add_files();
  file.set_path(std::move(path));
  file.set_text(std::move(text));
}

// The target's own kernels: their sources, and which layers call them.
void AddOwnKernels(const v1::Machine::Firmware& firmware,
                   const CManifest& manifest, v1::CSourceTree* tree) {
  std::vector<OwnCall> calls;
  for (const CLayer& layer : manifest.layers) {
    for (const CExternalCall& call : layer.external_calls) {
      calls.push_back({layer.function, call.function, call.header});
    }
  }
  if (calls.empty()) return;
  for (const v1::CSourceTree::File& file : firmware.sources()) {
    AddFile(OwnPath(file.path()), file.text(), tree);
  }
  AddFile(kOwnKernelsFile, OwnKernelsText(calls, !firmware.sources().empty()),
          tree);
}

}  // namespace

absl::StatusOr<FirmwareSources> EmitFirmware(
    const Graph& graph, const v1::Machine& machine, const v1::CRecipe& recipe,
    absl::Span<const int64_t> refused_flash_bytes) {
  if (!machine.has_firmware()) {
    return absl::FailedPreconditionError("the machine runs no firmware");
  }
  EK_ASSIGN_OR_RETURN(const SystemMemories memories, SystemMemoriesOf(machine));
  const v1::ResolvedMemory& flash = machine.memories(memories.flash);
  const v1::ResolvedMemory& ram = machine.memories(memories.rams[0]);
  const int64_t stack = machine.firmware().stack_bytes();
  std::optional<KernelLibrary> library;
  if (!machine.firmware().kernels().empty()) {
    EK_ASSIGN_OR_RETURN(library,
                        KernelLibrary::WithOwn(machine.firmware().kernels()));
  }
  const COptions options = {
      .recipe = RecipeOf(recipe),
      .max_constant_bytes = kMaxConstantBytes,
      .flash_limit_bytes = flash.capacity_bytes(),
      .ram_limit_bytes = std::max<int64_t>(ram.capacity_bytes() - stack, 1),
      .processor = machine.firmware().processor(),
      .kernels = library ? &*library : nullptr};
  absl::StatusOr<CSources> fitting =
      SourcesFor(graph, options, refused_flash_bytes);
  if (!fitting.ok()) {
    const std::optional<int64_t> need = RamNeedOf(fitting.status());
    if (!need.has_value()) return fitting.status();
    return WithStack(fitting.status(),
                     NeedOfRam(graph, options, refused_flash_bytes, *need), ram,
                     stack);
  }
  CSources made = *std::move(fitting);
  const std::string prefix = made.manifest.name;
  FirmwareSources result;
  if (!made.manifest.given_up.empty()) {
    result.warnings.push_back(
        LossOf(made.manifest, CyclesOf100(machine, flash, ram)));
  }
  for (CFile& file : made.files) {
    AddFile(std::move(file.path), std::move(file.text), &result.sources);
  }
  if (!made.manifest.pointer_calls.empty()) {
    std::vector<PointerCall> calls;
    for (const CPointerCall& call : made.manifest.pointer_calls) {
      calls.push_back({call.caller, call.callee});
    }
    AddFile(kPointerCallsFile, PointerCallsText(calls), &result.sources);
  }
  AddOwnKernels(machine.firmware(), made.manifest, &result.sources);
  AddFile("firmware.ld", LinkerScript(flash, ram, prefix), &result.sources);
  AddFile(kRuntimeFile, RuntimeText(), &result.sources);
  AddFile("start.S", StartText(machine.firmware().processor(), prefix),
          &result.sources);
  std::sort(result.sources.mutable_files()->begin(),
            result.sources.mutable_files()->end(),
            [](const auto& a, const auto& b) { return a.path() < b.path(); });
  FirmwareWriter writer(graph, machine, memories, std::move(made.manifest));
  result.program = writer.Write();
  result.io_conversion_cycles = writer.CyclesOf(
      IoConversionInstructions(graph, machine.firmware().processor()));
  result.memory_bytes.resize(static_cast<size_t>(machine.memories_size()), 0);
  result.memory_bytes[memories.flash] = result.program.flash_bytes();
  result.memory_bytes[memories.rams[0]] = result.program.ram_bytes();
  return result;
}

}  // namespace edgekiln::compiler
