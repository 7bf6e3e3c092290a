#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/checked_math.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "simfarm/session/loaded_program.h"
#include "simfarm/session/report.h"
#include "target/memories.h"

namespace edgekiln::simfarm {
namespace {

constexpr int32_t kVersion = 3;
// Far above what a compiler writes; below what hurts.
constexpr int kMaxEntries = 1 << 20;
constexpr int kMaxLayouts = 1 << 16;  // Each takes up to 3 KB when loaded.

absl::Status CheckCounts(const v1::Program& program) {
  if (program.version() != kVersion) {
    return InvalidProgram(
        absl::StrCat("program version ", program.version(), " is unknown"), "",
        absl::StrCat(kVersion));
  }
  for (const int count :
       {program.segments_size(), program.inputs_size(), program.outputs_size(),
        program.steps_size(), program.streams_size(), program.taps_size(),
        program.ranges_size(), program.layers_size(), program.carries_size()}) {
    if (count > kMaxEntries) {
      return InvalidProgram("too many entries", "", absl::StrCat(kMaxEntries));
    }
  }
  if (program.layouts_size() > kMaxLayouts) {
    return InvalidProgram("too many layouts", "", absl::StrCat(kMaxLayouts));
  }
  return absl::OkStatus();
}

absl::Status CheckLayers(const LoadedProgram& loaded) {
  for (const v1::Program::Layer& layer : loaded.program.layers()) {
    if (layer.engine() < loaded.machine.engines_size()) continue;
    return InvalidProgram(absl::StrCat("no engine ", layer.engine()),
                          absl::StrCat("layer ", layer.id()));
  }
  return absl::OkStatus();
}

// What every segment must have been cut from.
Digest DigestOfConstants(const v1::Program& program,
                         std::optional<absl::string_view> constants) {
  if (program.segments_size() == 0) return {};
  if (constants.has_value()) return DigestOf(*constants);
  return {.hash = program.segments(0).digest().hash(),
          .size_bytes = program.segments(0).digest().size_bytes()};
}

absl::Status CheckSegments(std::optional<absl::string_view> constants,
                           LoadedProgram* loaded) {
  const Digest verified = DigestOfConstants(loaded->program, constants);
  int64_t total = 0;
  for (const v1::Program::Segment& segment : loaded->program.segments()) {
    if (segment.digest().hash() != verified.hash ||
        segment.digest().size_bytes() != verified.size_bytes) {
      return InvalidProgram("a segment belongs to other constants", "segments");
    }
    const auto end = CheckedAdd(segment.blob_offset(), segment.size_bytes());
    if (segment.blob_offset() < 0 || segment.size_bytes() < 1 || !end ||
        *end > verified.size_bytes) {
      return InvalidProgram("a segment lies outside the constants", "segments",
                            absl::StrCat(verified.size_bytes, " bytes"));
    }
    if (segment.size_bytes() > loaded->options.max_memory_bytes - total) {
      return InvalidProgram("segments are too large", "segments");
    }
    total += segment.size_bytes();
    EK_RETURN_IF_ERROR(loaded->ReserveSystem(segment.location(),
                                             segment.size_bytes(),
                                             /*written=*/false, "segment"));
  }
  return absl::OkStatus();
}

// Host-driven engines are never launched: their memory keeps its content.
std::vector<ChipMemory::Kind> KindsOf(const v1::Machine& machine) {
  std::vector<ChipMemory::Kind> kinds;
  for (const v1::ResolvedMemory& memory : machine.memories()) {
    const bool writable = target::IsWritable(memory);
    if (!memory.host_reaches()) {
      kinds.push_back(writable ? ChipMemory::Kind::kShared
                               : ChipMemory::Kind::kSharedReadOnly);
    } else {
      kinds.push_back(writable ? ChipMemory::Kind::kReadWrite
                               : ChipMemory::Kind::kReadOnly);
    }
  }
  for (int32_t e = 0; e < machine.engines_size(); ++e) {
    if (machine.engines(e).has_jobs()) continue;
    for (const int32_t own : target::PrivateMemoriesOf(machine, e)) {
      kinds[own] = ChipMemory::Kind::kScratchpad;
    }
  }
  return kinds;
}

absl::Status LoadLayouts(LoadedProgram* loaded) {
  loaded->layouts.reserve(loaded->program.layouts_size());
  for (const v1::Layout& message : loaded->program.layouts()) {
    auto layout = target::Layout::Create(message);
    if (!layout.ok()) {
      return InvalidProgram(std::string(layout.status().message()),
                            absl::StrCat("layout ", loaded->layouts.size()));
    }
    loaded->layouts.push_back(*std::move(layout));
  }
  return absl::OkStatus();
}

absl::StatusOr<LoadedBinding> LoadBinding(const v1::Program::Binding& binding,
                                          bool written, const std::string& what,
                                          LoadedProgram* loaded) {
  EK_ASSIGN_OR_RETURN(const int64_t bytes, TensorBytes(binding.type()));
  LoadedBinding result;
  result.address = binding.location().address();
  EK_ASSIGN_OR_RETURN(result.layout, loaded->FindLayout(binding.layout()),
                      what);
  if (result.layout->dense_bytes() != bytes) {
    return InvalidProgram(
        absl::StrCat("a layout of ", result.layout->dense_bytes(),
                     " bytes of values for a tensor of ", bytes),
        what);
  }
  EK_RETURN_IF_ERROR(loaded->ReserveSystem(
      binding.location(), result.layout->size_bytes(), written, what));
  return result;
}

absl::Status LoadBindings(LoadedProgram* loaded) {
  for (const v1::Program::Binding& input : loaded->program.inputs()) {
    EK_ASSIGN_OR_RETURN(
        const LoadedBinding binding,
        LoadBinding(input, /*written=*/true,
                    absl::StrCat("input ", input.type().name()), loaded));
    loaded->inputs.push_back(binding);
  }
  for (const v1::Program::Binding& output : loaded->program.outputs()) {
    EK_ASSIGN_OR_RETURN(
        const LoadedBinding binding,
        LoadBinding(output, /*written=*/false,
                    absl::StrCat("output ", output.type().name()), loaded));
    loaded->outputs.push_back(binding);
  }
  return absl::OkStatus();
}

absl::Status CheckMemory(const LoadedProgram& loaded) {
  int64_t total = 0;
  for (const int64_t bytes : loaded.used_bytes) total += bytes;
  return CheckMemoryBytes(total, loaded.options);
}

// Flash gets its content once; what belongs into RAM is kept for every run.
void PlaceConstants(absl::string_view constants, LoadedProgram* loaded) {
  loaded->fixed.resize(loaded->used_bytes.size());
  for (size_t m = 0; m < loaded->fixed.size(); ++m) {
    if (!target::IsWritable(loaded->machine.memories(static_cast<int>(m)))) {
      loaded->fixed[m] = LazyBytes(loaded->used_bytes[m]);
    }
  }
  for (const v1::Program::Segment& segment : loaded->program.segments()) {
    const int32_t memory = segment.location().memory();
    if (loaded->fixed[memory].size() == 0) {
      if (loaded->constants.empty()) loaded->constants = std::string(constants);
      continue;
    }
    const uint64_t offset = segment.location().address() -
                            loaded->machine.memories(memory).base_address();
    std::memcpy(loaded->fixed[memory].data() + offset,
                constants.data() + segment.blob_offset(), segment.size_bytes());
  }
}

// Flash stays as it is, and taps are all that anybody looks at.
void KeepConstants(LoadedProgram* loaded) {
  for (LoadedStream& stream : loaded->streams) {
    std::vector<ShownRange> shown;
    for (const LoadedTap& tap : stream.taps) {
      const int32_t memory = tap.tap->location().memory();
      if (!loaded->IsScratchpad(memory)) continue;
      const int64_t begin = loaded->OffsetOf(tap.tap->location());
      shown.push_back({stream.WordOf(tap), begin,
                       begin + tap.layout->size_bytes(), memory});
    }
    stream.stream->KeepConstants(shown);
  }
}

}  // namespace

absl::Status InvalidProgram(std::string what, std::string where,
                            std::string limit) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kInfra,
                    .reason = "PROGRAM_INVALID",
                    .what = std::move(what),
                    .where = std::move(where),
                    .limit = std::move(limit)});
}

absl::Status CheckMemoryBytes(int64_t bytes, const SessionOptions& options) {
  if (bytes <= options.max_memory_bytes) return absl::OkStatus();
  return MakeError(
      absl::StatusCode::kResourceExhausted,
      {.fault = Fault::kQuota,
       .reason = "PROGRAM_TOO_LARGE",
       .what = "the program uses too much simulated memory",
       .where = "memories of the program",
       .limit = absl::StrCat(options.max_memory_bytes, " bytes"),
       .need = absl::StrCat(bytes, " bytes"),
       .fix = "use a smaller network, or a target with smaller memories"});
}

absl::StatusOr<const target::Layout*> LoadedProgram::FindLayout(
    int32_t index) const {
  if (index >= 0 && index < static_cast<int32_t>(layouts.size())) {
    return &layouts[index];
  }
  return InvalidProgram(absl::StrCat("no layout ", index), "");
}

absl::Status LoadedProgram::Reserve(int32_t memory, uint64_t address,
                                    int64_t bytes, absl::string_view what) {
  if (memory < 0 || memory >= machine.memories_size()) {
    return InvalidProgram(absl::StrCat("no memory ", memory),
                          std::string(what));
  }
  const v1::ResolvedMemory& m = machine.memories(memory);
  const uint64_t offset = address - m.base_address();
  if (bytes < 0 || address < m.base_address() ||
      offset > static_cast<uint64_t>(m.capacity_bytes()) ||
      bytes > m.capacity_bytes() - static_cast<int64_t>(offset)) {
    return InvalidProgram(
        "an address lies outside its memory",
        absl::StrFormat("%s at 0x%x, %d bytes", what, address, bytes),
        absl::StrFormat("%s: 0x%x, %d bytes", m.name(), m.base_address(),
                        m.capacity_bytes()));
  }
  used_bytes[memory] =
      std::max(used_bytes[memory], static_cast<int64_t>(offset) + bytes);
  return absl::OkStatus();
}

absl::Status LoadedProgram::ReserveSystem(const v1::Location& location,
                                          int64_t bytes, bool written,
                                          absl::string_view what) {
  EK_RETURN_IF_ERROR(
      Reserve(location.memory(), location.address(), bytes, what));
  if (!IsSystem(location.memory())) {
    return InvalidProgram("the host cannot reach a scratchpad",
                          std::string(what));
  }
  if (written && !target::IsWritable(machine.memories(location.memory()))) {
    return InvalidProgram("flash cannot be written", std::string(what));
  }
  return absl::OkStatus();
}

void LoadedProgram::AddMemories(const std::vector<int64_t>& sizes,
                                ChipMemory& chip) const {
  for (int32_t m = 0; m < machine.memories_size(); ++m) {
    chip.Add({.name = machine.memories(m).name(),
              .kind = kinds[m],
              .base = machine.memories(m).base_address(),
              .size = sizes[m]});
  }
}

int64_t LoadedProgram::OffsetOf(const v1::Location& location) const {
  return static_cast<int64_t>(
      location.address() - machine.memories(location.memory()).base_address());
}

std::string LoadedProgram::NameRegisters(int32_t engine, int32_t layer) const {
  const bool known = engine >= 0 && engine < machine.engines_size();
  return absl::StrCat("engine ",
                      known ? machine.engines(engine).name() : "(none)",
                      ", layer ", program.layers(layer).id());
}

absl::Status LoadedProgram::NeedSimulator(int32_t engine,
                                          SimulatorMaker new_simulator) {
  if (engine < 0 || engine >= machine.engines_size()) {
    return InvalidProgram(absl::StrCat("no engine ", engine), "");
  }
  if (simulators[engine] != nullptr) return absl::OkStatus();
  EK_ASSIGN_OR_RETURN(simulators[engine],
                      new_simulator(machine.engines(engine)));
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<LoadedProgram>> LoadInterface(
    v1::Program program, std::shared_ptr<const v1::Machine> machine,
    const SessionOptions& options) {
  EK_RETURN_IF_ERROR(CheckCounts(program));
  auto loaded = std::make_shared<LoadedProgram>(std::move(machine));
  loaded->program = std::move(program);
  loaded->options = options;
  loaded->used_bytes.resize(loaded->machine.memories_size());
  loaded->simulators.resize(loaded->machine.engines_size());
  loaded->kinds = KindsOf(loaded->machine);
  EK_RETURN_IF_ERROR(LoadLayouts(loaded.get()));
  EK_RETURN_IF_ERROR(LoadBindings(loaded.get()));
  EK_RETURN_IF_ERROR(LoadCarries(loaded.get()));
  return loaded;
}

absl::StatusOr<std::shared_ptr<const LoadedProgram>> LoadProgram(
    v1::Program program, std::optional<absl::string_view> constants,
    std::shared_ptr<const v1::Machine> machine, const SessionOptions& options,
    SimulatorMaker new_simulator) {
  EK_ASSIGN_OR_RETURN(
      const std::shared_ptr<LoadedProgram> loaded,
      LoadInterface(std::move(program), std::move(machine), options));
  EK_RETURN_IF_ERROR(CheckLayers(*loaded));
  EK_RETURN_IF_ERROR(CheckSegments(constants, loaded.get()));
  loaded->steps.resize(loaded->program.steps_size());
  EK_RETURN_IF_ERROR(LoadStreams(loaded.get(), new_simulator));
  EK_RETURN_IF_ERROR(LoadTaps(loaded.get()));
  EK_RETURN_IF_ERROR(LoadSteps(loaded.get(), new_simulator));
  EK_RETURN_IF_ERROR(CheckMemory(*loaded));
  if (constants.has_value()) {
    PlaceConstants(*constants, loaded.get());
    KeepConstants(loaded.get());
  }
  EK_ASSIGN_OR_RETURN(loaded->report, MakeReport(*loaded));
  return loaded;
}

}  // namespace edgekiln::simfarm
