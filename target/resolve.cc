#include "target/resolve.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "edgekiln/v1/graph.pb.h"
#include "target/example.h"
#include "target/expression.h"
#include "target/extend.h"
#include "target/memories.h"
#include "target/nearest_name.h"
#include "target/op_variables.h"
#include "target/parameters.h"
#include "target/recipes.h"
#include "target/resolve_firmware.h"
#include "target/resolve_patterns.h"
#include "target/validate_machine.h"

namespace edgekiln::target {
namespace {

constexpr int kMaxEntries = 256;  // Of any list in the descriptor.

absl::Status CheckCount(int count, const char* where) {
  if (count <= kMaxEntries) return absl::OkStatus();
  return InvalidTarget({.what = "too many entries",
                        .where = where,
                        .limit = absl::StrCat(kMaxEntries),
                        .need = absl::StrCat(count)});
}

absl::Status CheckCounts(const v1::TargetDescriptor& descriptor) {
  EK_RETURN_IF_ERROR(CheckCount(descriptor.parameters_size(), "parameters"));
  EK_RETURN_IF_ERROR(CheckCount(descriptor.constraints_size(), "constraints"));
  EK_RETURN_IF_ERROR(CheckCount(descriptor.presets_size(), "presets"));
  EK_RETURN_IF_ERROR(CheckCount(descriptor.memories_size(), "memories"));
  EK_RETURN_IF_ERROR(CheckCount(descriptor.links_size(), "links"));
  EK_RETURN_IF_ERROR(CheckCount(descriptor.engines_size(), "engines"));
  EK_RETURN_IF_ERROR(CheckCount(descriptor.host().costs_size(), "costs"));
  EK_RETURN_IF_ERROR(CheckCount(descriptor.host().firmware().costs_size(),
                                "host: firmware: costs"));
  for (const v1::Preset& preset : descriptor.presets()) {
    EK_RETURN_IF_ERROR(CheckCount(preset.set_size(), "presets: set"));
  }
  return absl::OkStatus();
}

absl::Status CheckProvenance(v1::Provenance provenance, std::string where) {
  if (provenance != v1::PROVENANCE_UNSPECIFIED) return absl::OkStatus();
  return InvalidTarget({.what = "provenance is missing",
                        .where = std::move(where),
                        .fix = "PUBLISHED, READ, FITTED or ASSUMED"});
}

// Every number says where it comes from.
absl::Status CheckProvenances(const v1::TargetDescriptor& descriptor) {
  for (const v1::Parameter& parameter : descriptor.parameters()) {
    EK_RETURN_IF_ERROR(
        CheckProvenance(parameter.provenance(),
                        absl::StrCat("parameter \"", parameter.name(), "\"")));
  }
  for (const v1::MemoryDescriptor& memory : descriptor.memories()) {
    EK_RETURN_IF_ERROR(CheckProvenance(
        memory.provenance(), absl::StrCat("memory \"", memory.name(), "\"")));
  }
  for (const v1::LinkDescriptor& link : descriptor.links()) {
    EK_RETURN_IF_ERROR(CheckProvenance(
        link.provenance(), absl::StrCat("link \"", link.name(), "\"")));
  }
  for (const v1::EngineDescriptor& engine : descriptor.engines()) {
    const std::string where = absl::StrCat("engine \"", engine.name(), "\"");
    if (engine.has_jobs()) {
      EK_RETURN_IF_ERROR(CheckProvenance(engine.jobs().provenance(),
                                         absl::StrCat(where, ": jobs")));
    }
    if (engine.jobs().has_record()) {
      EK_RETURN_IF_ERROR(CheckProvenance(engine.jobs().record().provenance(),
                                         absl::StrCat(where, ": record")));
    }
    if (engine.jobs().has_transfers()) {
      EK_RETURN_IF_ERROR(CheckProvenance(engine.jobs().transfers().provenance(),
                                         absl::StrCat(where, ": transfers")));
    }
    for (const v1::RegisterJobs::Job& job : engine.jobs().jobs()) {
      EK_RETURN_IF_ERROR(CheckProvenance(
          job.provenance(),
          absl::StrCat(where, ": job ",
                       v1::RegisterJobs::Kernel_Name(job.kernel()))));
    }
    for (const v1::CommandDescriptor& command : engine.isa().commands()) {
      EK_RETURN_IF_ERROR(CheckProvenance(
          command.provenance(),
          absl::StrCat(where, ": command ", command.mnemonic())));
    }
  }
  for (const v1::HostCost& cost : descriptor.host().costs()) {
    EK_RETURN_IF_ERROR(CheckProvenance(
        cost.provenance(), absl::StrCat("host: costs \"", cost.op(), "\"")));
  }
  for (const auto& cost : descriptor.host().firmware().costs()) {
    EK_RETURN_IF_ERROR(CheckProvenance(
        cost.provenance(), absl::StrCat("host: firmware: costs \"",
                                        cost.instruction_class(), "\"")));
  }
  return absl::OkStatus();
}

// The name would be ambiguous in expressions over ops.
absl::Status CheckNamesOfParameters(const v1::TargetDescriptor& descriptor) {
  for (const v1::Parameter& parameter : descriptor.parameters()) {
    const absl::Span<const std::string> taken = OpVariableNames();
    if (std::find(taken.begin(), taken.end(), parameter.name()) ==
        taken.end()) {
      continue;
    }
    return InvalidTarget(
        {.what = "the name is that of a variable of ops",
         .where = absl::StrCat("parameter \"", parameter.name(), "\""),
         .fix = absl::StrCat("call it otherwise: \"chip_", parameter.name(),
                             "\"")});
  }
  return absl::OkStatus();
}

constexpr int64_t kMaxWaitCycles = 10'000;
constexpr char kHostName[] = "host";  // In lists of who reaches what.
constexpr char kActors[] = "host and engines";

// Position by name among `what`.
absl::StatusOr<int32_t> PositionOf(const std::string& name,
                                   const std::vector<std::string>& names,
                                   absl::string_view what, std::string where) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) {
    return static_cast<int32_t>(found - names.begin());
  }
  return InvalidTarget(
      {.what = absl::StrCat("no name \"", name, "\" among ", what),
       .where = std::move(where),
       .fix = DidYouMean(name, names, "use a name that the file has")});
}

template <typename Descriptors>
std::vector<std::string> NamesOf(const Descriptors& descriptors) {
  std::vector<std::string> names;
  for (const auto& descriptor : descriptors) names.push_back(descriptor.name());
  return names;
}

// Engines by position; the host comes after them.
std::vector<std::string> NamesOfActors(const v1::TargetDescriptor& descriptor) {
  std::vector<std::string> names = NamesOf(descriptor.engines());
  names.push_back(kHostName);
  return names;
}

absl::Status SetMemories(const v1::TargetDescriptor& descriptor,
                         const std::vector<Constant>& values,
                         v1::Machine* machine) {
  const std::vector<std::string> actors = NamesOfActors(descriptor);
  for (const v1::MemoryDescriptor& memory : descriptor.memories()) {
    const std::string where = absl::StrCat("memory \"", memory.name(), "\"");
    v1::ResolvedMemory* resolved = machine->add_memories();
    resolved->set_name(memory.name());
    std::set<v1::MemoryDescriptor::Content> contents;
    for (const int content : memory.holds()) {
      contents.insert(static_cast<v1::MemoryDescriptor::Content>(content));
    }
    for (const auto content : contents) resolved->add_holds(content);
    std::set<int32_t> engines;
    for (const std::string& name : memory.reached_by()) {
      EK_ASSIGN_OR_RETURN(const int32_t actor,
                          PositionOf(name, actors, kActors,
                                     absl::StrCat(where, ": reached_by")));
      if (actor == descriptor.engines_size()) {
        resolved->set_host_reaches(true);
      } else {
        engines.insert(actor);
      }
    }
    for (const int32_t engine : engines) resolved->add_engines(engine);
    resolved->set_base_address(memory.base_address());
    resolved->set_alignment_bytes(
        memory.alignment_bytes() == 0 ? 1 : memory.alignment_bytes());
    EK_ASSIGN_OR_RETURN(const int64_t capacity,
                        EvaluateConstant(memory.capacity_bytes_expr(), values),
                        absl::StrCat(where, ": capacity_bytes_expr"));
    resolved->set_capacity_bytes(capacity);
    if (memory.wait_cycles_expr().empty()) continue;
    EK_ASSIGN_OR_RETURN(const int64_t wait,
                        EvaluateConstant(memory.wait_cycles_expr(), values),
                        absl::StrCat(where, ": wait_cycles_expr"));
    if (wait < 0 || wait > kMaxWaitCycles) {
      return InvalidTarget(
          {.what = absl::StrCat("value ", wait, " is out of range"),
           .where = absl::StrCat(where, ": wait_cycles_expr"),
           .limit = absl::StrCat("0 to ", kMaxWaitCycles),
           .fix = "correct the expression"});
    }
    resolved->set_wait_cycles(static_cast<int32_t>(wait));
  }
  return absl::OkStatus();
}

absl::Status SetLinks(const v1::TargetDescriptor& descriptor,
                      const std::vector<Constant>& values,
                      v1::Machine* machine) {
  const std::vector<std::string> actors = NamesOfActors(descriptor);
  const std::vector<std::string> memories = NamesOf(descriptor.memories());
  for (const v1::LinkDescriptor& link : descriptor.links()) {
    const std::string where = absl::StrCat("link \"", link.name(), "\"");
    v1::ResolvedLink* resolved = machine->add_links();
    resolved->set_name(link.name());
    EK_ASSIGN_OR_RETURN(const int32_t owner,
                        PositionOf(link.owner(), actors, kActors,
                                   absl::StrCat(where, ": owner")));
    resolved->set_owner(owner == descriptor.engines_size() ? kHostOwner
                                                           : owner);
    const auto positions =
        [&](const auto& names,
            const char* key) -> absl::StatusOr<std::set<int32_t>> {
      std::set<int32_t> found;
      for (const std::string& name : names) {
        EK_ASSIGN_OR_RETURN(const int32_t memory,
                            PositionOf(name, memories, "memories",
                                       absl::StrCat(where, ": ", key)));
        found.insert(memory);
      }
      return found;
    };
    EK_ASSIGN_OR_RETURN(const auto from, positions(link.from(), "from"));
    EK_ASSIGN_OR_RETURN(const auto to, positions(link.to(), "to"));
    resolved->mutable_from()->Add(from.begin(), from.end());
    resolved->mutable_to()->Add(to.begin(), to.end());
    resolved->set_contention(link.contention());
    EK_ASSIGN_OR_RETURN(const int64_t bandwidth,
                        EvaluateConstant(link.bytes_per_cycle_expr(), values),
                        absl::StrCat(where, ": bytes_per_cycle_expr"));
    EK_ASSIGN_OR_RETURN(const int64_t setup,
                        EvaluateConstant(link.setup_cycles_expr(), values),
                        absl::StrCat(where, ": setup_cycles_expr"));
    resolved->set_bytes_per_cycle(bandwidth);
    resolved->set_setup_cycles(setup);
    resolved->set_dimensions(link.dimensions());
    resolved->set_granule_bytes(
        link.granule_bytes() == 0 ? 1 : link.granule_bytes());
    if (link.window().empty()) continue;
    EK_ASSIGN_OR_RETURN(const int32_t window,
                        PositionOf(link.window(), NamesOf(descriptor.engines()),
                                   "engines", absl::StrCat(where, ": window")));
    resolved->set_window(window);
  }
  return absl::OkStatus();
}

v1::Isa IsaWithoutProse(v1::Isa isa) {
  for (v1::RegisterDescriptor& reg : *isa.mutable_registers()) {
    reg.clear_doc();
  }
  for (v1::CommandDescriptor& command : *isa.mutable_commands()) {
    command.clear_doc();
    command.clear_provenance();
  }
  return isa;
}

// Leaves the commands that this variant has.
absl::Status DropCommands(const std::vector<Constant>& values, v1::Isa& isa) {
  google::protobuf::RepeatedPtrField<v1::CommandDescriptor> kept;
  for (v1::CommandDescriptor& command : *isa.mutable_commands()) {
    if (!command.when_expr().empty()) {
      EK_ASSIGN_OR_RETURN(
          const int64_t has, EvaluateConstant(command.when_expr(), values),
          absl::StrCat("isa: command ", command.mnemonic(), ": when_expr"));
      if (has == 0) continue;
      command.clear_when_expr();
    }
    kept.Add(std::move(command));
  }
  isa.mutable_commands()->Swap(&kept);
  return absl::OkStatus();
}

v1::RegisterJobs JobsWithoutProse(const v1::RegisterJobs& jobs) {
  v1::RegisterJobs stripped = jobs;
  stripped.clear_provenance();
  if (stripped.has_record()) stripped.mutable_record()->clear_provenance();
  if (stripped.has_transfers()) {
    stripped.mutable_transfers()->clear_provenance();
  }
  for (v1::RegisterJobs::Register& reg : *stripped.mutable_registers()) {
    reg.clear_doc();
  }
  for (v1::RegisterJobs::Job& job : *stripped.mutable_jobs()) {
    job.clear_provenance();
  }
  return stripped;
}

// Takes the instruction set out of `engine`.
absl::Status SetEngine(v1::EngineDescriptor& engine,
                       const std::vector<Constant>& values,
                       v1::Machine::Engine* resolved) {
  const auto evaluate = [&](const std::string& expr, const char* key) {
    auto value = EvaluateConstant(expr, values);
    if (!value.ok()) value = Annotate(value.status(), key);
    return value;
  };
  resolved->set_name(engine.name());
  resolved->set_model(engine.model());
  EK_ASSIGN_OR_RETURN(const int64_t clock,
                      evaluate(engine.clock_hz_expr(), "clock_hz_expr"));
  EK_ASSIGN_OR_RETURN(const int64_t macs, evaluate(engine.macs_per_cycle_expr(),
                                                   "macs_per_cycle_expr"));
  resolved->set_clock_hz(clock);
  resolved->set_macs_per_cycle(macs);
  if (engine.has_isa()) {
    *resolved->mutable_isa() =
        IsaWithoutProse(std::move(*engine.mutable_isa()));
    EK_RETURN_IF_ERROR(DropCommands(values, *resolved->mutable_isa()));
    EK_ASSIGN_OR_RETURN(
        const int64_t queue,
        evaluate(resolved->isa().queue_depth_expr(), "isa: queue_depth_expr"));
    resolved->set_queue_depth(
        static_cast<int32_t>(std::clamp<int64_t>(queue, 0, 1 << 30)));
  }
  if (engine.has_jobs()) {
    const v1::RegisterJobs& jobs = engine.jobs();
    *resolved->mutable_jobs() = JobsWithoutProse(jobs);
    EK_ASSIGN_OR_RETURN(const int64_t write,
                        evaluate(jobs.register_write_cycles_expr(),
                                 "jobs: register_write_cycles_expr"));
    EK_ASSIGN_OR_RETURN(const int64_t poll, evaluate(jobs.poll_cycles_expr(),
                                                     "jobs: poll_cycles_expr"));
    resolved->set_register_write_cycles(write);
    resolved->set_poll_cycles(poll);
    if (!jobs.job_cycles_expr().empty()) {
      EK_ASSIGN_OR_RETURN(const int64_t job, evaluate(jobs.job_cycles_expr(),
                                                      "jobs: job_cycles_expr"));
      resolved->set_job_cycles(job);
    }
    if (jobs.has_record()) {
      EK_ASSIGN_OR_RETURN(const int64_t word,
                          evaluate(jobs.record().word_cycles_expr(),
                                   "jobs: record: word_cycles_expr"));
      resolved->set_record_word_cycles(word);
    }
  }
  return absl::OkStatus();
}

absl::Status SetHost(const v1::HostDescriptor& host,
                     const std::vector<Constant>& values,
                     v1::Machine* machine) {
  machine->set_host_name(host.name());
  EK_ASSIGN_OR_RETURN(const int64_t clock,
                      EvaluateConstant(host.clock_hz_expr(), values),
                      "host: clock_hz_expr");
  machine->set_host_clock_hz(clock);
  const auto* ops = v1::OpAttributes::descriptor();
  for (const v1::HostCost& cost : host.costs()) {
    const std::string where = absl::StrCat("host: costs \"", cost.op(), "\"");
    if (cost.op() != "default" && cost.op() != "copy" &&
        ops->FindFieldByName(cost.op()) == nullptr) {
      std::vector<std::string> names = {"default", "copy"};
      for (int i = 0; i < ops->field_count(); ++i) {
        names.push_back(ops->field(i)->name());
      }
      return InvalidTarget(
          {.what = "no such op",
           .where = where,
           .fix = DidYouMean(
               cost.op(), names,
               absl::StrCat("see ", ShowsExample(host.has_firmware()),
                            " for costs"))});
    }
    v1::Machine::HostClass* resolved = machine->add_host_costs();
    resolved->set_op(cost.op());
    resolved->set_cycles_expr(cost.cycles_expr());
  }
  if (host.has_firmware()) {
    EK_ASSIGN_OR_RETURN(*machine->mutable_firmware(),
                        ResolveFirmware(host.firmware(), values));
  }
  return absl::OkStatus();
}

// Takes the instruction sets out of `descriptor`.
absl::StatusOr<v1::Machine> BuildMachine(v1::TargetDescriptor& descriptor,
                                         const std::vector<Constant>& values) {
  v1::Machine machine;
  EK_ASSIGN_OR_RETURN(const int64_t clock,
                      EvaluateConstant(descriptor.clock_hz_expr(), values),
                      "clock_hz_expr");
  machine.set_clock_hz(clock);
  for (const Constant& value : values) {
    v1::Setting* setting = machine.add_parameters();
    setting->set_name(value.name);
    setting->set_value(value.value);
  }
  EK_RETURN_IF_ERROR(SetMemories(descriptor, values, &machine));
  EK_RETURN_IF_ERROR(SetLinks(descriptor, values, &machine));
  for (v1::EngineDescriptor& engine : *descriptor.mutable_engines()) {
    EK_RETURN_IF_ERROR(SetEngine(engine, values, machine.add_engines()),
                       absl::StrCat("engine \"", engine.name(), "\""));
  }
  EK_RETURN_IF_ERROR(SetHost(descriptor.host(), values, &machine));
  EK_RETURN_IF_ERROR(AddOwnKernels(descriptor, &machine));
  EK_RETURN_IF_ERROR(ValidateMachine(machine));
  return machine;
}

}  // namespace

absl::StatusOr<v1::ResolvedTarget> ResolveTarget(absl::string_view text) {
  EK_ASSIGN_OR_RETURN(TargetAndFiles resolved, ResolveTargetAndFiles(text));
  return std::move(resolved.target);
}

absl::StatusOr<TargetAndFiles> ResolveTargetAndFiles(absl::string_view text) {
  EK_ASSIGN_OR_RETURN(v1::TargetDescriptor file, ParseDescriptor(text));
  std::vector<std::string> files;
  EK_ASSIGN_OR_RETURN(v1::TargetDescriptor descriptor,
                      WithExtended(std::move(file), files));
  EK_RETURN_IF_ERROR(CheckCounts(descriptor));
  EK_RETURN_IF_ERROR(CheckProvenances(descriptor));
  EK_RETURN_IF_ERROR(CheckParameters(descriptor));
  EK_RETURN_IF_ERROR(CheckNamesOfParameters(descriptor));
  EK_RETURN_IF_ERROR(CheckPresets(descriptor));
  EK_ASSIGN_OR_RETURN(const std::vector<Constant> values,
                      ParameterValues(descriptor, descriptor.set()));
  v1::ResolvedTarget resolved;
  resolved.set_name(descriptor.name());
  EK_ASSIGN_OR_RETURN(*resolved.mutable_machine(),
                      BuildMachine(descriptor, values));
  for (int32_t i = 0; i < descriptor.engines_size(); ++i) {
    v1::EngineDescriptor& engine = *descriptor.mutable_engines(i);
    v1::Capabilities::Engine* capable =
        resolved.mutable_capabilities()->add_engines();
    capable->set_name(engine.name());
    capable->set_model(engine.model());
    EK_ASSIGN_OR_RETURN(*capable->mutable_patterns(),
                        ResolvePatterns(std::move(*engine.mutable_patterns()),
                                        values, resolved.machine(), i),
                        absl::StrCat("engine \"", engine.name(), "\""));
  }
  EK_RETURN_IF_ERROR(
      ValidateCapabilities(resolved.capabilities(), resolved.machine()));
  EK_ASSIGN_OR_RETURN(*resolved.mutable_recipes(), ResolveRecipes(descriptor));
  return TargetAndFiles{std::move(resolved), std::move(files)};
}

}  // namespace edgekiln::target
