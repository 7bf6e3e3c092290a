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
#include "target/example.h"
#include "target/host_cost.h"
#include "target/isa_view.h"
#include "target/memories.h"
#include "target/op_variables.h"
#include "target/validate_firmware.h"
#include "target/validate_pattern.h"

namespace edgekiln::target {
namespace {

constexpr int64_t kMaxHertz = 1'000'000'000'000;
constexpr int64_t kMaxCycles = 1'000'000'000'000;
// Of a unit's clock to the chip's, in whose cycles everything is counted: if
// most jobs took one such cycle, no way to cut a layer would be the fastest.
constexpr int64_t kMaxClockRatio = 1000;
constexpr int kMaxNameBytes = 128;
constexpr int kMaxParameters = 256;
constexpr int kMaxMemories = 16;
constexpr int kMaxEngines = 8;
constexpr int kMaxLinks = 16;
constexpr int kMaxLinkDimensions = 8;
constexpr int kMaxGranuleBytes = 4096;
constexpr int kMaxQueueDepth = 65536;
constexpr int kMaxPatterns = 256;
constexpr int32_t kMaxAlignment = 4096;

// Of one machine, which the fix of every error depends on.
class MachineCheck {
 public:
  explicit MachineCheck(const v1::Machine& machine) : machine_(machine) {}

  absl::Status ValidateParts() const {
    EK_RETURN_IF_ERROR(
        CheckRange(machine_.clock_hz(), 1, kMaxHertz, "clock_hz"));
    EK_RETURN_IF_ERROR(CheckNames(
        machine_.parameters(), kMaxParameters, "parameters",
        [](const auto& p) -> auto& { return p.name(); }));
    EK_RETURN_IF_ERROR(ValidateMemories());
    EK_RETURN_IF_ERROR(CheckNames(
        machine_.engines(), kMaxEngines, "engines",
        [](const auto& e) -> auto& { return e.name(); }));
    EK_RETURN_IF_ERROR(ValidateLinks());
    for (int32_t i = 0; i < machine_.engines_size(); ++i) {
      EK_RETURN_IF_ERROR(ValidateEngine(i),
                         absl::StrCat("engine ", machine_.engines(i).name()));
    }
    EK_RETURN_IF_ERROR(ValidateHost());
    return machine_.has_firmware() ? ValidateFirmware(machine_)
                                   : absl::OkStatus();
  }

  absl::Status ValidatePatterns(const v1::Capabilities& capabilities) const {
    if (capabilities.engines_size() != machine_.engines_size()) {
      return Invalid("capabilities and machine differ in their engines",
                     "engines");
    }
    for (int i = 0; i < capabilities.engines_size(); ++i) {
      const v1::Capabilities::Engine& engine = capabilities.engines(i);
      const std::string where = absl::StrCat("engine ", engine.name());
      if (engine.name() != machine_.engines(i).name() ||
          engine.model() != machine_.engines(i).model()) {
        return Invalid("capabilities and machine differ", where);
      }
      EK_ASSIGN_OR_RETURN(const EngineModel* const model,
                          FindEngineModel(engine.model()), where);
      EK_RETURN_IF_ERROR(CheckRange(engine.patterns_size(), 0, kMaxPatterns,
                                    absl::StrCat(where, ": patterns")));
      for (const v1::OpPattern& pattern : engine.patterns()) {
        EK_RETURN_IF_ERROR(ValidateResolvedPattern(pattern), where);
        EK_RETURN_IF_ERROR(model->ValidatePattern(pattern, machine_, i), where);
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Invalid(std::string what, std::string where,
                       std::string limit = "") const {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     {.reason = "TARGET_INVALID",
                      .what = std::move(what),
                      .where = std::move(where),
                      .limit = std::move(limit),
                      .fix = absl::StrCat("correct the file; ",
                                          ShowsExample(machine_.has_firmware()),
                                          " is a valid one")});
  }

  absl::Status CheckRange(int64_t value, int64_t min, int64_t max,
                          const std::string& where) const {
    if (value >= min && value <= max) return absl::OkStatus();
    return Invalid(absl::StrCat("value ", value, " is out of range"), where,
                   absl::StrCat(min, " to ", max));
  }

  // Of an engine or the host.
  absl::Status CheckClock(int64_t hertz, const std::string& where) const {
    EK_RETURN_IF_ERROR(CheckRange(hertz, 1, kMaxHertz, where));
    if (hertz <= kMaxClockRatio * machine_.clock_hz()) return absl::OkStatus();
    return Invalid(absl::StrCat("a clock of ", hertz, " Hz"), where,
                   absl::StrCat(kMaxClockRatio,
                                " times the clock_hz of the "
                                "chip, which is ",
                                machine_.clock_hz()));
  }

  absl::Status CheckName(const std::string& name,
                         const std::string& where) const {
    const bool good =
        !name.empty() && name.size() <= kMaxNameBytes &&
        std::all_of(name.begin(), name.end(), [](char c) {
          return absl::ascii_isalnum(c) || c == '_' || c == '-' || c == '.';
        });
    if (good) return absl::OkStatus();
    return Invalid("not a name", where,
                   absl::StrCat("1 to ", kMaxNameBytes,
                                " letters, digits, '_', '-', '.'"));
  }

  // Names unique, at most `limit` of them. `name_of` gives a reference.
  template <typename Range, typename NameOf>
  absl::Status CheckNames(const Range& range, int limit,
                          const std::string& where, NameOf name_of) const {
    EK_RETURN_IF_ERROR(
        CheckRange(range.size(), 0, limit, absl::StrCat("number of ", where)));
    absl::flat_hash_set<absl::string_view> seen;
    seen.reserve(static_cast<size_t>(range.size()));
    for (const auto& element : range) {
      const std::string& name = name_of(element);
      EK_RETURN_IF_ERROR(CheckName(name, where));
      if (!seen.insert(name).second) {
        return Invalid(absl::StrCat("\"", name, "\" occurs twice"), where);
      }
    }
    return absl::OkStatus();
  }

  absl::Status ValidateMemory(const v1::ResolvedMemory& memory) const {
    const std::string where = absl::StrCat("memory ", memory.name());
    if (memory.holds().empty()) return Invalid("holds is missing", where);
    for (const int content : memory.holds()) {
      if (!v1::MemoryDescriptor::Content_IsValid(content) || content == 0) {
        return Invalid("holds something unknown", where,
                       "CODE, CONSTANTS, ACTIVATIONS");
      }
    }
    for (const int32_t engine : memory.engines()) {
      EK_RETURN_IF_ERROR(CheckRange(engine, 0, machine_.engines_size() - 1,
                                    absl::StrCat(where, ": engines")));
    }
    const int32_t alignment = memory.alignment_bytes();
    if (alignment < 1 || alignment > kMaxAlignment ||
        (alignment & (alignment - 1)) != 0) {
      return Invalid(absl::StrCat("alignment_bytes is ", alignment), where,
                     absl::StrCat("a power of two up to ", kMaxAlignment));
    }
    EK_RETURN_IF_ERROR(CheckRange(memory.capacity_bytes(), 1, kMaxMemoryBytes,
                                  absl::StrCat(where, ": capacity_bytes")));
    if (memory.base_address() > static_cast<uint64_t>(kMaxMemoryBytes) ||
        memory.base_address() + memory.capacity_bytes() >
            static_cast<uint64_t>(kMaxMemoryBytes)) {
      return Invalid("the memory ends above the 32-bit address space", where);
    }
    if (memory.base_address() % alignment != 0) {
      return Invalid("base_address is not aligned", where,
                     absl::StrCat("a multiple of ", alignment));
    }
    return absl::OkStatus();
  }

  // A program needs host memory for constants and for activations.
  absl::Status CheckHostReaches(v1::MemoryDescriptor::Content content) const {
    const bool found =
        std::any_of(machine_.memories().begin(), machine_.memories().end(),
                    [content](const v1::ResolvedMemory& memory) {
                      return memory.host_reaches() && Holds(memory, content);
                    });
    if (found) return absl::OkStatus();
    return Invalid(absl::StrCat("no memory that the host reaches holds ",
                                v1::MemoryDescriptor::Content_Name(content)),
                   "memories: reached_by, holds");
  }

  absl::Status ValidateMemories() const {
    EK_RETURN_IF_ERROR(CheckNames(
        machine_.memories(), kMaxMemories, "memories",
        [](const auto& m) -> auto& { return m.name(); }));
    std::vector<const v1::ResolvedMemory*> system;
    for (const v1::ResolvedMemory& memory : machine_.memories()) {
      EK_RETURN_IF_ERROR(ValidateMemory(memory));
      if (memory.host_reaches()) system.push_back(&memory);
    }
    EK_RETURN_IF_ERROR(CheckHostReaches(v1::MemoryDescriptor::CONSTANTS));
    EK_RETURN_IF_ERROR(CheckHostReaches(v1::MemoryDescriptor::ACTIVATIONS));
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

  absl::Status ValidateLink(const v1::ResolvedLink& link) const {
    EK_RETURN_IF_ERROR(CheckRange(link.owner(), kHostOwner,
                                  machine_.engines_size() - 1, "owner"));
    if (link.from().empty() || link.to().empty()) {
      return Invalid("the link joins nothing", "from, to");
    }
    for (const auto* ends : {&link.from(), &link.to()}) {
      for (const int32_t memory : *ends) {
        EK_RETURN_IF_ERROR(
            CheckRange(memory, 0, machine_.memories_size() - 1, "memories"));
      }
    }
    for (const int32_t memory : link.to()) {
      if (IsWritable(machine_.memories(memory))) continue;
      return Invalid(absl::StrCat("the link writes memory ",
                                  machine_.memories(memory).name(),
                                  ", which holds no ACTIVATIONS"),
                     "to");
    }
    if (link.contention() != v1::LinkDescriptor::OVERLAPPED &&
        link.contention() != v1::LinkDescriptor::BLOCKING) {
      return Invalid("contention is missing or unknown", "contention",
                     "OVERLAPPED, BLOCKING");
    }
    EK_RETURN_IF_ERROR(
        CheckRange(link.bytes_per_cycle(), 1, kMaxCycles, "bytes_per_cycle"));
    EK_RETURN_IF_ERROR(
        CheckRange(link.setup_cycles(), 0, kMaxCycles, "setup_cycles"));
    EK_RETURN_IF_ERROR(
        CheckRange(link.granule_bytes(), 1, kMaxGranuleBytes, "granule_bytes"));
    EK_RETURN_IF_ERROR(
        CheckRange(link.dimensions(), 1, kMaxLinkDimensions, "dimensions"));
    if (!link.has_window()) return absl::OkStatus();
    EK_RETURN_IF_ERROR(
        CheckRange(link.window(), 0, machine_.engines_size() - 1, "window"));
    if (link.owner() != kHostOwner) {
      return Invalid("window is given, but the link is not the host's",
                     "window", "owner: \"host\"");
    }
    if (!machine_.engines(link.window()).has_jobs()) {
      return Invalid("window names an engine that has no jobs", "window",
                     "an engine of model REGISTER_JOB");
    }
    return absl::OkStatus();
  }

  absl::Status ValidateLinks() const {
    EK_RETURN_IF_ERROR(CheckNames(
        machine_.links(), kMaxLinks, "links",
        [](const auto& l) -> auto& { return l.name(); }));
    for (const v1::ResolvedLink& link : machine_.links()) {
      EK_RETURN_IF_ERROR(ValidateLink(link),
                         absl::StrCat("link ", link.name()));
    }
    return absl::OkStatus();
  }

  absl::Status ValidateEngine(int32_t index) const {
    const v1::Machine::Engine& engine = machine_.engines(index);
    EK_RETURN_IF_ERROR(CheckClock(engine.clock_hz(), "clock_hz"));
    EK_RETURN_IF_ERROR(
        CheckRange(engine.macs_per_cycle(), 1, kMaxCycles, "macs_per_cycle"));
    if (engine.has_isa()) {
      EK_RETURN_IF_ERROR(CheckRange(engine.queue_depth(), 1, kMaxQueueDepth,
                                    "isa: queue_depth"));
      EK_RETURN_IF_ERROR(
          CheckRange(engine.isa().word_bytes(), 1, 8, "isa: word_bytes"));
      EK_RETURN_IF_ERROR(IsaView::Borrow(engine.isa()).status());
      EK_RETURN_IF_ERROR(CheckNames(
          engine.isa().registers(), 256, "isa: registers",
          [](const auto& r) -> auto& { return r.name(); }));
      EK_RETURN_IF_ERROR(CheckNames(
          engine.isa().commands(), 256, "isa: commands: mnemonic",
          [](const auto& c) -> auto& { return c.mnemonic(); }));
    }
    EK_ASSIGN_OR_RETURN(const EngineModel* const model,
                        FindEngineModel(engine.model()));
    EK_RETURN_IF_ERROR(model->ValidateEngine(machine_, index));
    if (!engine.has_isa()) return absl::OkStatus();
    return CommandTiming::Create(machine_, engine).status();
  }

  absl::Status ValidateHost() const {
    EK_RETURN_IF_ERROR(CheckClock(machine_.host_clock_hz(), "host: clock_hz"));
    EK_RETURN_IF_ERROR(CheckNames(
        machine_.host_costs(), 256, "host: costs",
        [](const auto& c) -> auto& { return c.op(); }));
    EK_ASSIGN_OR_RETURN(const HostCosts costs, HostCosts::Create(machine_));
    // An expression that no shape could satisfy is found here, not with the
    // first model.
    EK_ASSIGN_OR_RETURN(const OpVariables smallest,
                        VariablesOf(v1::OpAttributes(), {{}}, {{}}));
    for (const v1::Machine::HostClass& cost : machine_.host_costs()) {
      EK_ASSIGN_OR_RETURN(const int64_t cycles,
                          costs.Cycles(cost.op(), smallest));
      EK_RETURN_IF_ERROR(
          CheckRange(cycles, 0, kMaxCycles,
                     absl::StrCat("host: costs \"", cost.op(), "\"")));
    }
    return absl::OkStatus();
  }

  const v1::Machine& machine_;
};

}  // namespace

absl::Status ValidateMachine(const v1::Machine& machine) {
  return MachineCheck(machine).ValidateParts();
}

absl::Status ValidateCapabilities(const v1::Capabilities& capabilities,
                                  const v1::Machine& machine) {
  return MachineCheck(machine).ValidatePatterns(capabilities);
}

}  // namespace edgekiln::target
