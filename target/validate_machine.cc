#include "target/validate_machine.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "target/command_timing.h"
#include "target/engine_model.h"
#include "target/isa_view.h"

namespace edgekiln::target {
namespace {

constexpr int64_t kMaxHertz = 1'000'000'000'000;
constexpr int64_t kMaxCycles = 1'000'000'000'000;
constexpr int kMaxNameBytes = 128;
constexpr int kMaxParameters = 256;
constexpr int kMaxMemories = 16;
constexpr int kMaxEngines = 8;
constexpr int kMaxQueueDepth = 65536;
constexpr int kMaxPatterns = 256;

absl::Status Invalid(std::string what, std::string where,
                     std::string limit = "") {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.reason = "TARGET_INVALID",
                    .what = std::move(what),
                    .where = std::move(where),
                    .limit = std::move(limit),
                    .fix = "correct the file; `edgekiln targets show dla` is a "
                           "valid one"});
}

absl::Status CheckRange(int64_t value, int64_t min, int64_t max,
                        const std::string& where) {
  if (value >= min && value <= max) return absl::OkStatus();
  return Invalid(absl::StrCat("value ", value, " is out of range"), where,
                 absl::StrCat(min, " to ", max));
}

absl::Status CheckName(const std::string& name, const std::string& where) {
  const bool good =
      !name.empty() && name.size() <= kMaxNameBytes &&
      std::all_of(name.begin(), name.end(), [](char c) {
        return absl::ascii_isalnum(c) || c == '_' || c == '-' || c == '.';
      });
  if (good) return absl::OkStatus();
  return Invalid(
      "not a name", where,
      absl::StrCat("1 to ", kMaxNameBytes, " letters, digits, '_', '-', '.'"));
}

// Names unique, at most `limit` of them.
template <typename Range, typename NameOf>
absl::Status CheckNames(const Range& range, int limit, const std::string& where,
                        NameOf name_of) {
  EK_RETURN_IF_ERROR(
      CheckRange(range.size(), 0, limit, absl::StrCat("number of ", where)));
  absl::flat_hash_set<std::string> seen;
  for (const auto& element : range) {
    EK_RETURN_IF_ERROR(CheckName(name_of(element), where));
    if (!seen.insert(name_of(element)).second) {
      return Invalid(absl::StrCat("\"", name_of(element), "\" occurs twice"),
                     where);
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateMemories(const v1::Machine& machine) {
  EK_RETURN_IF_ERROR(CheckNames(machine.memories(), kMaxMemories, "memories",
                                [](const auto& m) { return m.name(); }));
  std::vector<const v1::ResolvedMemory*> system;
  bool ram = false;
  bool flash = false;
  for (const v1::ResolvedMemory& memory : machine.memories()) {
    const std::string where = absl::StrCat("memory ", memory.name());
    if (!v1::MemoryDescriptor::Kind_IsValid(memory.kind()) ||
        memory.kind() == v1::MemoryDescriptor::KIND_UNSPECIFIED) {
      return Invalid("kind is missing", where);
    }
    EK_RETURN_IF_ERROR(CheckRange(memory.capacity_bytes(), 1, kMaxMemoryBytes,
                                  absl::StrCat(where, ": capacity_bytes")));
    if (memory.base_address() > static_cast<uint64_t>(kMaxMemoryBytes) ||
        memory.base_address() + memory.capacity_bytes() >
            static_cast<uint64_t>(kMaxMemoryBytes)) {
      return Invalid("the memory ends above the 32-bit address space", where);
    }
    ram |= memory.kind() == v1::MemoryDescriptor::RAM;
    flash |= memory.kind() == v1::MemoryDescriptor::FLASH;
    if (memory.kind() != v1::MemoryDescriptor::SCRATCHPAD) {
      system.push_back(&memory);
    }
  }
  if (!ram || !flash) {
    return Invalid("needs one memory of kind RAM and one of kind FLASH",
                   "memories");
  }
  std::sort(system.begin(), system.end(), [](const auto* a, const auto* b) {
    return a->base_address() < b->base_address();
  });
  for (size_t i = 1; i < system.size(); ++i) {
    if (system[i - 1]->base_address() + system[i - 1]->capacity_bytes() >
        system[i]->base_address()) {
      return Invalid(absl::StrCat("memories ", system[i - 1]->name(), " and ",
                                  system[i]->name(), " overlap"),
                     "memories: base_address");
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateEngine(const v1::Machine& machine,
                            const v1::Machine::Engine& engine) {
  EK_RETURN_IF_ERROR(CheckRange(engine.clock_hz(), 1, kMaxHertz, "clock_hz"));
  EK_ASSIGN_OR_RETURN(const EngineModel* const model,
                      FindEngineModel(engine.model()));
  if (engine.scratchpad() < 0 ||
      engine.scratchpad() >= machine.memories_size() ||
      machine.memories(engine.scratchpad()).kind() !=
          v1::MemoryDescriptor::SCRATCHPAD) {
    return Invalid("needs a memory of kind SCRATCHPAD", "scratchpad");
  }
  if (engine.contention() != v1::DmaDescriptor::OVERLAPPED_DMA &&
      engine.contention() != v1::DmaDescriptor::BLOCKING_DMA) {
    return Invalid("contention is missing or unknown", "dma",
                   "OVERLAPPED_DMA, BLOCKING_DMA");
  }
  EK_RETURN_IF_ERROR(CheckRange(engine.dma_bytes_per_cycle(), 1, kMaxCycles,
                                "dma: bytes_per_cycle"));
  EK_RETURN_IF_ERROR(CheckRange(engine.dma_setup_cycles(), 0, kMaxCycles,
                                "dma: setup_cycles"));
  EK_RETURN_IF_ERROR(
      CheckRange(engine.macs_per_cycle(), 1, kMaxCycles, "macs_per_cycle"));
  EK_RETURN_IF_ERROR(
      CheckRange(engine.queue_depth(), 1, kMaxQueueDepth, "isa: queue_depth"));
  EK_RETURN_IF_ERROR(
      CheckRange(engine.isa().word_bytes(), 1, 8, "isa: word_bytes"));
  EK_RETURN_IF_ERROR(IsaView::Create(engine.isa()).status());
  EK_RETURN_IF_ERROR(CheckNames(engine.isa().registers(), 256, "isa: registers",
                                [](const auto& r) { return r.name(); }));
  EK_RETURN_IF_ERROR(CheckNames(engine.isa().commands(), 256,
                                "isa: commands: mnemonic",
                                [](const auto& c) { return c.mnemonic(); }));
  EK_RETURN_IF_ERROR(model->ValidateIsa(engine.isa()), "isa");
  return CommandTiming::Create(machine, engine).status();
}

absl::Status ValidateHost(const v1::Machine& machine) {
  EK_RETURN_IF_ERROR(
      CheckRange(machine.host_clock_hz(), 1, kMaxHertz, "host: clock_hz"));
  EK_RETURN_IF_ERROR(CheckNames(machine.host_costs(), 256, "host: costs",
                                [](const auto& c) { return c.op(); }));
  bool has_default = false;
  for (const v1::Machine::HostClass& cost : machine.host_costs()) {
    const std::string where = absl::StrCat("host: costs \"", cost.op(), "\"");
    EK_RETURN_IF_ERROR(
        CheckRange(cost.cycles_per_element(), 0, kMaxCycles, where));
    EK_RETURN_IF_ERROR(
        CheckRange(cost.cycles_per_call(), 0, kMaxCycles, where));
    has_default |= cost.op() == "default";
  }
  if (!has_default) return Invalid("needs costs with op \"default\"", "host");
  return absl::OkStatus();
}

absl::Status ValidatePattern(const v1::OpPattern& pattern) {
  if (!v1::OpPattern::Pattern_IsValid(pattern.pattern()) ||
      pattern.pattern() == v1::OpPattern::PATTERN_UNSPECIFIED) {
    return Invalid("pattern is missing", "patterns");
  }
  const std::string where =
      absl::StrCat("patterns ", v1::OpPattern::Pattern_Name(pattern.pattern()));
  if (pattern.element_types().empty()) {
    return Invalid("needs at least one of element_types", where);
  }
  for (const int64_t limit :
       {int64_t{pattern.max_kernel()}, int64_t{pattern.max_stride()},
        int64_t{pattern.max_dilation()}, pattern.max_extent()}) {
    EK_RETURN_IF_ERROR(CheckRange(limit, 0, int64_t{1} << 32, where));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateMachine(const v1::Machine& machine) {
  EK_RETURN_IF_ERROR(CheckRange(machine.clock_hz(), 1, kMaxHertz, "clock_hz"));
  EK_RETURN_IF_ERROR(CheckNames(machine.parameters(), kMaxParameters,
                                "parameters",
                                [](const auto& p) { return p.name(); }));
  EK_RETURN_IF_ERROR(ValidateMemories(machine));
  EK_RETURN_IF_ERROR(CheckNames(machine.engines(), kMaxEngines, "engines",
                                [](const auto& e) { return e.name(); }));
  absl::flat_hash_set<int32_t> scratchpads;
  for (const v1::Machine::Engine& engine : machine.engines()) {
    const std::string where = absl::StrCat("engine ", engine.name());
    EK_RETURN_IF_ERROR(ValidateEngine(machine, engine), where);
    if (!scratchpads.insert(engine.scratchpad()).second) {
      return Invalid("two engines share a scratchpad", where);
    }
  }
  return ValidateHost(machine);
}

absl::Status ValidateCapabilities(const v1::Capabilities& capabilities,
                                  const v1::Machine& machine) {
  if (capabilities.engines_size() != machine.engines_size()) {
    return Invalid("capabilities and machine differ in their engines",
                   "engines");
  }
  for (int i = 0; i < capabilities.engines_size(); ++i) {
    const v1::Capabilities::Engine& engine = capabilities.engines(i);
    const std::string where = absl::StrCat("engine ", engine.name());
    if (engine.name() != machine.engines(i).name() ||
        engine.model() != machine.engines(i).model()) {
      return Invalid("capabilities and machine differ", where);
    }
    EK_ASSIGN_OR_RETURN(const EngineModel* const model,
                        FindEngineModel(engine.model()), where);
    EK_RETURN_IF_ERROR(CheckRange(engine.patterns_size(), 0, kMaxPatterns,
                                  absl::StrCat(where, ": patterns")));
    for (const v1::OpPattern& pattern : engine.patterns()) {
      EK_RETURN_IF_ERROR(ValidatePattern(pattern), where);
      EK_RETURN_IF_ERROR(
          model->ValidatePattern(pattern, machine.engines(i).isa()), where);
    }
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::target
