#include "target/models/register_job.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "target/layout.h"
#include "target/memories.h"
#include "target/models/register_job/conditions.h"
#include "target/models/register_job/samples.h"
#include "target/models/register_job/tile_decisions.h"
#include "target/pattern_ops.h"
#include "target/register_jobs.h"

namespace edgekiln::target {
namespace {

using Jobs = v1::RegisterJobs;
using V = JobVariable;

constexpr int64_t kMaxHostCycles = 1'000'000;

// Whether every element of every operand has a place of its own.
absl::Status CheckLayouts(const RegisterJobsView& view, int32_t position,
                          const JobVariables& sample) {
  const Jobs::Kernel kernel = view.jobs().jobs(position).kernel();
  for (const JobOperand operand : view.OperandsOf(position)) {
    EK_ASSIGN_OR_RETURN(const v1::Layout layout,
                        view.OperandLayout(position, operand, sample));
    const absl::Status legal = Layout::Create(layout).status();
    if (legal.ok()) continue;
    return InvalidRegisterJobs(
        std::string(legal.message()),
        absl::StrCat("job ", Jobs::Kernel_Name(kernel), ": operand ",
                     JobOperandName(operand)),
        "correct its terms: axis, divide_expr, modulo_expr, "
        "stride_bytes_expr, or its size_bytes_expr");
  }
  return absl::OkStatus();
}

// Whether weights and what channels have beside them, which lie together in the
// host's memory, have bytes of their own in a small job. Those of an op are
// compared when they are packed.
absl::Status CheckConstantsApart(const RegisterJobsView& view,
                                 int32_t position) {
  const std::vector<JobOperand> operands = view.OperandsOf(position);
  if (!absl::c_any_of(operands, IsOfChannels) || view.HasCells(position)) {
    return absl::OkStatus();
  }
  // Several blocks of channels, the last one not full.
  const auto small = [](JobVariables& sample) {
    sample[V::kOutC] = 40;
    sample[V::kInC] = 5;
    sample[V::kKernelH] = 3;
    sample[V::kKernelW] = 2;
  };
  const absl::StatusOr<JobVariables> told =
      ToldSample(view, position, false, small);
  if (!told.ok()) return absl::OkStatus();  // Its conditions want others.
  const JobVariables& sample = *told;
  EK_RETURN_IF_ERROR(CheckLayouts(view, position, sample));
  EK_ASSIGN_OR_RETURN(
      const v1::Layout weights,
      view.OperandLayout(position, JobOperand::kWeights, sample));
  EK_ASSIGN_OR_RETURN(const Layout weight_layout, Layout::Create(weights));
  EK_ASSIGN_OR_RETURN(int64_t weights_begin,
                      view.AddressOf(position, JobOperand::kWeights, sample));
  weights_begin -= weights.first_byte();
  for (const JobOperand operand : operands) {
    const bool together = IsOfChannels(operand) &&
                          view.MemoryOf(position, operand) ==
                              view.MemoryOf(position, JobOperand::kWeights);
    if (!together) continue;
    EK_ASSIGN_OR_RETURN(const v1::Layout channels,
                        view.OperandLayout(position, operand, sample));
    EK_ASSIGN_OR_RETURN(const Layout layout, Layout::Create(channels));
    EK_ASSIGN_OR_RETURN(const int64_t begin,
                        view.AddressOf(position, operand, sample));
    if (ShareBytes(weight_layout, layout,
                   begin - channels.first_byte() - weights_begin)) {
      return InvalidConstantPlaces(view, position, "operands overlap");
    }
  }
  return absl::OkStatus();
}

// Checks that a sample is decoded unchanged, and that its operands have legal
// layouts.
absl::Status CheckSamples(const RegisterJobsView& view, int32_t position,
                          bool negative) {
  EK_ASSIGN_OR_RETURN(const JobVariables sample,
                      ToldSample(view, position, negative));
  return CheckLayouts(view, position, sample);
}

// Checks that the engine decodes what the host encodes.
absl::Status CheckFields(const RegisterJobsView& view) {
  for (int32_t position = 0; position < view.jobs().jobs_size(); ++position) {
    const Jobs::Job& job = view.jobs().jobs(position);
    const std::string where =
        absl::StrCat("job ", Jobs::Kernel_Name(job.kernel()));
    if (job.code() < 1) {
      return InvalidRegisterJobs("code is missing, or below 1", where,
                                 "code: 1 or more");
    }
    if (job.kind() == v1::LAYER_KIND_UNSPECIFIED) {
      return InvalidRegisterJobs("kind is missing", where,
                                 "kind: CONV, DEPTH, REQUANT or OTHER");
    }
    EK_RETURN_IF_ERROR(CheckSamples(view, position, false));
    EK_RETURN_IF_ERROR(CheckSamples(view, position, true));
    EK_RETURN_IF_ERROR(CheckConstantsApart(view, position));
  }
  return absl::OkStatus();
}

// Whether jobs read constants from the engine's own memory.
bool KeepsConstants(const RegisterJobsView& view) {
  for (int32_t job = 0; job < view.jobs().jobs_size(); ++job) {
    if (view.HasTable(job)) return true;
    for (const JobOperand operand : view.OperandsOf(job)) {
      if (IsConstant(operand) &&
          view.MemoryOf(job, operand) == view.own_memory()) {
        return true;
      }
    }
  }
  return false;
}

absl::Status CheckMemory(const v1::Machine& machine, int32_t engine,
                         const RegisterJobsView& view) {
  const std::string& name = machine.engines(engine).name();
  const int32_t memory = view.own_memory();
  const bool constants = KeepsConstants(view);
  if (memory < 0 || (constants && !Holds(machine.memories(memory),
                                         v1::MemoryDescriptor::CONSTANTS))) {
    const absl::string_view what =
        constants ? "constants and activations" : "activations";
    return InvalidRegisterJobs(
        absl::StrCat("the engine needs one memory beside the host's, for ",
                     what),
        "memories",
        absl::StrCat("reached_by: \"", name, "\" and holds: [",
                     constants ? "CONSTANTS, " : "",
                     "ACTIVATIONS] in one memory"));
  }
  const bool joined =
      absl::c_any_of(machine.links(), [memory](const v1::ResolvedLink& link) {
        return link.owner() == kHostOwner &&
               absl::c_linear_search(link.from(), memory) &&
               absl::c_linear_search(link.to(), memory);
      });
  if (joined) return absl::OkStatus();
  return InvalidRegisterJobs(
      absl::StrCat("no link of the host brings anything to memory ",
                   machine.memories(memory).name(), " and back"),
      "links", "a link with owner: \"host\" to and from it");
}

absl::Status NumericsError(const v1::OpPattern& pattern, std::string wrong,
                           std::string fix) {
  return InvalidRegisterJobs(
      absl::StrCat("numerics: ", wrong),
      absl::StrCat("patterns ", ChainName(pattern), ": numerics"),
      std::move(fix));
}

// Results BY_SHIFT are sums shifted right, rounding down, and nothing else.
absl::Status CheckShift(const v1::OpPattern& pattern,
                        const v1::Machine& machine, int32_t engine,
                        const Jobs::Job& job) {
  const v1::Numerics& numerics = pattern.numerics();
  if (numerics.requantization() != v1::Numerics::SHIFT) {
    return NumericsError(pattern, "requantization: the job shifts",
                         "requantization: SHIFT");
  }
  if (numerics.roundings_size() != 1 || numerics.roundings(0) != v1::FLOOR) {
    return NumericsError(pattern, "roundings: the job rounds down",
                         "roundings: FLOOR");
  }
  if (numerics.activation_zero_points() || numerics.per_channel()) {
    return NumericsError(pattern,
                         "the job has neither zero points nor a scale per "
                         "channel",
                         "remove activation_zero_points and per_channel");
  }
  if (numerics.largest_shift() < 1 || numerics.largest_shift() > kMaxJobShift) {
    return NumericsError(pattern, "largest_shift: the job shifts right only",
                         absl::StrCat("largest_shift: ", kMaxJobShift));
  }
  if (job.kernel() == Jobs::ADDITION && !numerics.one_input_scale()) {
    return NumericsError(pattern, "the job adds operands of one scale",
                         "one_input_scale: true");
  }
  EK_ASSIGN_OR_RETURN(const RegisterJobsView view,
                      RegisterJobsView::Create(machine, engine));
  const auto most = [&numerics](JobVariables& sample) {
    sample[V::kShift] = numerics.largest_shift();
  };
  if (ToldSample(view, view.FindCode(job.code()), false, most).ok()) {
    return absl::OkStatus();
  }
  return NumericsError(pattern,
                       "largest_shift: the registers do not tell so many",
                       "widen the register of shift, or lower largest_shift");
}

// Whether the registers tell all of a pattern's converter.
absl::Status CheckConverter(const v1::OpPattern& pattern,
                            const RegisterJobsView& view, int32_t position) {
  const v1::Numerics::Converter& converter = pattern.numerics().converter();
  const auto most = [&converter](JobVariables& sample) {
    sample[V::kGain] = converter.max_gain();
    sample[V::kCodeMin] = converter.min();
    sample[V::kCodeMax] = converter.max();
    sample[V::kCodeShift] = converter.max_shift();
  };
  if (ToldSample(view, position, false, most).ok()) return absl::OkStatus();
  return NumericsError(pattern,
                       "converter: the registers do not tell all of it",
                       "widen them, or lower max_gain or max_shift");
}

// Results BY_CONVERTER go through it, without bias or zero points.
absl::Status CheckConverted(const v1::OpPattern& pattern,
                            const RegisterJobsView& view, int32_t position) {
  const v1::Numerics& numerics = pattern.numerics();
  if (numerics.requantization() != v1::Numerics::ADC) {
    return NumericsError(pattern, "requantization: the job converts",
                         "requantization: ADC");
  }
  if (numerics.activation_zero_points()) {
    return NumericsError(pattern, "the job has no zero points",
                         "remove activation_zero_points");
  }
  return CheckConverter(pattern, view, position);
}

// What some engines of the model do and others do not: rounding down, weights
// of some values, a converter.
absl::Status CheckAbilities(const v1::OpPattern& pattern,
                            const v1::Machine& machine, int32_t engine,
                            const Jobs::Job& job) {
  const v1::Numerics& numerics = pattern.numerics();
  const WeightRange of_job = WeightRangeOf(job.weight_values());
  const WeightRange of_pattern = WeightRangeOf(numerics.weight_values());
  if (!numerics.weights().empty() &&
      (of_pattern.min < of_job.min || of_pattern.max > of_job.max)) {
    return NumericsError(
        pattern, "weight_values: the job takes fewer",
        absl::StrCat("weight_values: ",
                     v1::WeightValues_Name(job.weight_values())));
  }
  if (job.results() == Jobs::BY_SHIFT) {
    return CheckShift(pattern, machine, engine, job);
  }
  const bool converts = numerics.requantization() == v1::Numerics::ADC;
  if (!converts && job.results() != Jobs::BY_CONVERTER &&
      !absl::c_linear_search(numerics.roundings(), v1::FLOOR)) {
    return absl::OkStatus();
  }
  EK_ASSIGN_OR_RETURN(const RegisterJobsView view,
                      RegisterJobsView::Create(machine, engine));
  const int32_t position = view.FindCode(job.code());
  if (job.results() == Jobs::BY_CONVERTER) {
    return CheckConverted(pattern, view, position);
  }
  if (converts && !view.has_converter()) {
    return NumericsError(pattern,
                         "requantization: ADC, but no register tells converts",
                         "add registers for converts, gain, code_min, code_max "
                         "and code_shift");
  }
  if (converts) return CheckConverter(pattern, view, position);
  const auto down = [](JobVariables& sample) {
    sample[V::kRounding] = v1::FLOOR;
  };
  if (ToldSample(view, position, false, down).ok()) return absl::OkStatus();
  return NumericsError(pattern,
                       "roundings: FLOOR, but no register tells rounding 2",
                       "widen the registers or the field rounding");
}

// Accepts the arithmetic of docs/targets/register_job.md or a subset of it.
absl::Status CheckNumerics(const v1::OpPattern& pattern) {
  const v1::Numerics& numerics = pattern.numerics();
  const auto is_int8 = [](const auto& types) {
    return types.size() == 1 && types.Get(0) == v1::INT8;
  };
  const char* wrong = nullptr;
  if (!is_int8(numerics.activations()) ||
      (!numerics.weights().empty() && !is_int8(numerics.weights()))) {
    wrong = "activations and weights can only be INT8";
  } else if (numerics.weight_zero_points()) {
    wrong = "weight_zero_points, but weights have none";
  }
  if (wrong == nullptr) return absl::OkStatus();
  return NumericsError(pattern, wrong, "remove the rest");
}

class Model final : public EngineModel {
 public:
  absl::string_view folder() const override { return "register_job"; }

  absl::Status ValidateEngine(const v1::Machine& machine,
                              int32_t engine) const override {
    const v1::Machine::Engine& e = machine.engines(engine);
    EK_ASSIGN_OR_RETURN(const RegisterJobsView view,
                        RegisterJobsView::Create(machine, engine));
    if (e.register_write_cycles() < 1 ||
        e.register_write_cycles() > kMaxHostCycles || e.poll_cycles() < 1 ||
        e.poll_cycles() > kMaxHostCycles) {
      return InvalidRegisterJobs(
          "a register write or a poll takes no time, or too much",
          "register_write_cycles_expr, poll_cycles_expr",
          absl::StrCat("1 to ", kMaxHostCycles, " cycles"));
    }
    if (e.job_cycles() < 0 || e.job_cycles() > kMaxHostCycles) {
      return InvalidRegisterJobs(
          "a job takes the host too much, or less than "
          "nothing",
          "job_cycles_expr", absl::StrCat("0 to ", kMaxHostCycles, " cycles"));
    }
    if (e.jobs().has_record() && (e.record_word_cycles() < 1 ||
                                  e.record_word_cycles() > kMaxHostCycles)) {
      return InvalidRegisterJobs(
          "a word of the record takes no time, or too much",
          "record: word_cycles_expr",
          absl::StrCat("1 to ", kMaxHostCycles, " cycles"));
    }
    EK_RETURN_IF_ERROR(CheckFields(view));
    return CheckMemory(machine, engine, view);
  }

  absl::Status ValidatePattern(const v1::OpPattern& pattern,
                               const v1::Machine& machine,
                               int32_t engine) const override {
    EK_RETURN_IF_ERROR(CheckNumerics(pattern));
    const Jobs& jobs = machine.engines(engine).jobs();
    for (const std::string& op : pattern.ops()) {
      const Jobs::Kernel kernel = JobKernelOf(op);
      const std::string where = absl::StrCat("patterns ", ChainName(pattern));
      if (kernel == Jobs::KERNEL_UNSPECIFIED) {
        return InvalidRegisterJobs(absl::StrCat("ops: no kernel computes ", op),
                                   where, "remove the pattern");
      }
      bool found = false;
      for (const Jobs::Job& job : jobs.jobs()) {
        if (job.kernel() != kernel) continue;
        EK_RETURN_IF_ERROR(CheckAbilities(pattern, machine, engine, job));
        found = true;
      }
      if (found) continue;
      return InvalidRegisterJobs(absl::StrCat("jobs: the pattern needs a job ",
                                              Jobs::Kernel_Name(kernel)),
                                 where, "add the job, or remove the pattern");
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<v1::OpPattern::Condition>> ImpliedConditions(
      const v1::Machine& machine, int32_t engine, absl::string_view op,
      bool /*sums*/) const override {
    return JobConditions(machine, engine, op);
  }

  absl::StatusOr<google::protobuf::Any> ValidateTileDecisions(
      const google::protobuf::Any& decisions) const override {
    return RepackTileDecisions(decisions);
  }
};

}  // namespace

const EngineModel& RegisterJobModel() {
  static const Model* const model = new Model;
  return *model;
}

}  // namespace edgekiln::target
