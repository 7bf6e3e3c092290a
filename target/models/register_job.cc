#include "target/models/register_job.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "target/layout.h"
#include "target/memories.h"
#include "target/models/register_job/conditions.h"
#include "target/pattern_ops.h"
#include "target/register_jobs.h"

namespace edgekiln::target {
namespace {

using Jobs = v1::RegisterJobs;
using V = JobVariable;

constexpr int64_t kMaxHostCycles = 1'000'000;

// Sizes of jobs: extents are `base`, plus `step` for each variable before, plus
// its index modulo `modulo`.
struct SampleSizes {
  int64_t base;
  int64_t step;
  int64_t modulo;
};

// From several blocks along every axis down to what 1-bit registers hold.
constexpr SampleSizes kSampleSizes[] = {{513, 7, 1}, {65, 1, 1}, {9, 0, 7},
                                        {1, 0, 5},   {1, 0, 3},  {1, 0, 2},
                                        {1, 0, 1}};

// A job whose variables mostly differ from each other, so that swapped fields
// are noticed. Signed variables and flags depend on `negative`.
JobVariables SampleJob(int64_t code, const SampleSizes& sizes, bool negative) {
  JobVariables job;
  for (int i = 0; i < kNumJobVariables; ++i) {
    job[static_cast<V>(i)] = sizes.base + i * sizes.step + i % sizes.modulo;
  }
  job[V::kKernel] = code;
  for (const V address :
       {V::kInAddr, V::kIn2Addr, V::kWeightsAddr, V::kTableAddr, V::kOutAddr}) {
    job[address] *= 4096;
  }
  const int64_t sign = negative ? -1 : 1;
  job[V::kInZeroPoint] = sign * 3;
  job[V::kIn2ZeroPoint] = sign * 4;
  job[V::kOutZeroPoint] = sign * 5;
  job[V::kClampMin] = -7;
  job[V::kClampMax] = sign * 6;
  job[V::kInShift] = sign * 8;
  job[V::kIn2Shift] = sign * 9;
  job[V::kOutShift] = sign * 10;
  job[V::kLeftShift] = 20;
  job[V::kInMultiplier] = (int64_t{1} << 30) + 1;
  job[V::kIn2Multiplier] = (int64_t{1} << 30) + 2;
  job[V::kOutMultiplier] = (int64_t{1} << 30) + 4;
  job[V::kRounding] = negative ? 1 : 0;
  job[V::kOutInt32] = negative ? 0 : 1;
  job[V::kCountPad] = negative ? 1 : 0;
  job[V::kConverts] = negative ? 0 : 1;
  job[V::kGain] = 37;
  job[V::kCodeMin] = -9;
  job[V::kCodeMax] = 11;
  job[V::kCodeShift] = 5;
  return job;
}

// Whether every element of every operand has a place of its own.
absl::Status CheckLayouts(const RegisterJobsView& view, int32_t position,
                          const JobVariables& sample) {
  const Jobs::Kernel kernel = view.jobs().jobs(position).kernel();
  for (const JobOperand operand : OperandsOfKernel(kernel)) {
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

// The largest sample that fits the registers, if it is decoded unchanged.
// `change` is made to it before.
absl::StatusOr<JobVariables> ToldSample(
    const RegisterJobsView& view, int32_t position, bool negative,
    absl::FunctionRef<void(JobVariables&)> change = [](JobVariables&) {}) {
  const int64_t code = view.jobs().jobs(position).code();
  absl::Status told;
  for (const SampleSizes& sizes : kSampleSizes) {
    JobVariables sample = SampleJob(code, sizes, negative);
    change(sample);
    told = view.Encode(sample).status();
    if (told.ok()) return sample;
    const auto detail = GetErrorDetail(told);
    if (!detail) return told;
    if (detail->reason != "REGISTER_TOO_NARROW") break;
  }
  return MakeError(absl::StatusCode::kInvalidArgument, *GetErrorDetail(told));
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
  }
  return absl::OkStatus();
}

absl::Status CheckMemory(const v1::Machine& machine, int32_t engine) {
  const std::string& name = machine.engines(engine).name();
  const int32_t memory = LocalMemoryOf(machine, engine);
  if (memory < 0 || !IsWritable(machine.memories(memory)) ||
      !Holds(machine.memories(memory), v1::MemoryDescriptor::CONSTANTS)) {
    return InvalidRegisterJobs(
        "the engine needs one memory beside the host's, for constants and "
        "activations",
        "memories",
        absl::StrCat("reached_by: \"", name,
                     "\" and holds: [CONSTANTS, ACTIVATIONS] in one memory"));
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
  const bool converts = numerics.requantization() == v1::Numerics::ADC;
  if (!converts && !absl::c_linear_search(numerics.roundings(), v1::FLOOR)) {
    return absl::OkStatus();
  }
  EK_ASSIGN_OR_RETURN(const RegisterJobsView view,
                      RegisterJobsView::Create(machine, engine));
  const int32_t position = view.FindJob(job.kernel());
  if (converts && !view.has_converter()) {
    return NumericsError(pattern,
                         "requantization: ADC, but no register tells converts",
                         "add registers for converts, gain, code_min, code_max "
                         "and code_shift");
  }
  if (converts) {
    const v1::Numerics::Converter& converter = numerics.converter();
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
    EK_RETURN_IF_ERROR(CheckFields(view));
    return CheckMemory(machine, engine);
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
      const auto job = absl::c_find_if(jobs.jobs(), [kernel](const auto& j) {
        return j.kernel() == kernel;
      });
      if (job != jobs.jobs().end()) {
        EK_RETURN_IF_ERROR(CheckAbilities(pattern, machine, engine, *job));
        continue;
      }
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
      const google::protobuf::Any&) const override {
    return InvalidRegisterJobs("the engine model has no decisions for recipes",
                               "decisions", "remove them");
  }
};

}  // namespace

const EngineModel& RegisterJobModel() {
  static const Model* const model = new Model;
  return *model;
}

}  // namespace edgekiln::target
