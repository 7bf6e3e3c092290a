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
#include "target/register_jobs.h"

namespace edgekiln::target {
namespace {

using Jobs = v1::RegisterJobs;
using V = JobVariable;

constexpr int64_t kMaxHostCycles = 1'000'000;
constexpr int64_t kMaxJobExtent = 65536;

absl::Status Invalid(std::string what, std::string where, std::string fix) {
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      {.reason = "TARGET_INVALID",
       .what = std::move(what),
       .where = std::move(where),
       .limit = "engine model REGISTER_JOB (docs/targets/register_job.md)",
       .fix = std::move(fix)});
}

// Jobs that no two fields mistake for one another: small, and one of several
// blocks along every axis whose signed variables are negative.
std::vector<JobVariables> SampleJobs(int64_t code) {
  std::vector<JobVariables> samples;
  for (const bool small : {true, false}) {
    JobVariables job;
    for (int i = 0; i < kNumJobVariables; ++i) {
      job[static_cast<V>(i)] = small ? 1 + i % 5 : 513 + 3 * i;
    }
    job[V::kKernel] = code;
    for (const V address : {V::kInAddr, V::kIn2Addr, V::kWeightsAddr,
                            V::kTableAddr, V::kOutAddr}) {
      job[address] *= 4096;
    }
    const int64_t sign = small ? 1 : -1;
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
    job[V::kRounding] = small ? 0 : 1;
    job[V::kOutInt32] = small ? 1 : 0;
    job[V::kCountPad] = small ? 0 : 1;
    samples.push_back(job);
  }
  return samples;
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
    return Invalid(std::string(legal.message()),
                   absl::StrCat("job ", Jobs::Kernel_Name(kernel), ": operand ",
                                JobOperandName(operand)),
                   "correct its terms: axis, divide_expr, modulo_expr, "
                   "stride_bytes_expr, or its size_bytes_expr");
  }
  return absl::OkStatus();
}

// Whether the engine understands what the host writes.
absl::Status CheckFields(const RegisterJobsView& view) {
  for (int32_t position = 0; position < view.jobs().jobs_size(); ++position) {
    const Jobs::Job& job = view.jobs().jobs(position);
    const std::string where =
        absl::StrCat("job ", Jobs::Kernel_Name(job.kernel()));
    if (job.code() < 1) {
      return Invalid("code is missing, or below 1", where, "code: 1 or more");
    }
    if (job.kind() == v1::LAYER_KIND_UNSPECIFIED) {
      return Invalid("kind is missing", where,
                     "kind: CONV, DEPTH, REQUANT or OTHER");
    }
    for (const JobVariables& sample : SampleJobs(job.code())) {
      EK_RETURN_IF_ERROR(CheckLayouts(view, position, sample));
      EK_ASSIGN_OR_RETURN(const std::vector<RegisterWrite> writes,
                          view.Encode(sample));
      std::vector<int64_t> held(view.jobs().registers_size(), 0);
      for (const RegisterWrite& write : writes) {
        const int32_t position = view.FindRegister(write.offset);
        if (position >= 0) held[position] = view.Held(position, write.value);
      }
      EK_ASSIGN_OR_RETURN(const JobVariables told, view.Decode(held));
      for (const V variable : VariablesOfKernel(job.kernel())) {
        if (told[variable] == sample[variable]) continue;
        return Invalid(absl::StrCat("the registers tell ", told[variable],
                                    " for ", JobVariableName(variable),
                                    ", which is ", sample[variable]),
                       absl::StrCat("job ", Jobs::Kernel_Name(job.kernel())),
                       absl::StrCat("correct the registers or the field ",
                                    JobVariableName(variable)));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckMemory(const v1::Machine& machine, int32_t engine) {
  const std::string& name = machine.engines(engine).name();
  const int32_t memory = LocalMemoryOf(machine, engine);
  if (memory < 0 || !IsWritable(machine.memories(memory)) ||
      !Holds(machine.memories(memory), v1::MemoryDescriptor::CONSTANTS)) {
    return Invalid(
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
  return Invalid(absl::StrCat("no link of the host brings anything to memory ",
                              machine.memories(memory).name(), " and back"),
                 "links", "a link with owner: \"host\" to and from it");
}

// Windows and extents that a job may have are bounded: so are the layers that
// become jobs.
absl::Status CheckLimits(const v1::OpPattern& pattern) {
  const bool window = pattern.pattern() == v1::OpPattern::CONV2D ||
                      pattern.pattern() == v1::OpPattern::DEPTHWISE_CONV2D ||
                      pattern.pattern() == v1::OpPattern::AVERAGE_POOL2D ||
                      pattern.pattern() == v1::OpPattern::MAX_POOL2D;
  const std::pair<const char*, int64_t> limits[] = {
      {"max_kernel", window ? pattern.max_kernel() : 1},
      {"max_stride", window ? pattern.max_stride() : 1}};
  for (const auto& [key, value] : limits) {
    if (value >= 1 && value <= kMaxJobExtent) continue;
    return Invalid(
        absl::StrCat(key, value == 0 ? " is missing" : " is too high"),
        absl::StrCat("patterns ",
                     v1::OpPattern::Pattern_Name(pattern.pattern())),
        absl::StrCat(key, ": 1 to ", kMaxJobExtent));
  }
  return absl::OkStatus();
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
      return Invalid("a register write or a poll takes no time, or too much",
                     "register_write_cycles_expr, poll_cycles_expr",
                     absl::StrCat("1 to ", kMaxHostCycles, " cycles"));
    }
    EK_RETURN_IF_ERROR(CheckFields(view));
    return CheckMemory(machine, engine);
  }

  absl::Status ValidatePattern(
      const v1::OpPattern& pattern,
      const v1::Machine::Engine& engine) const override {
    const Jobs::Kernel kernel = KernelOf(pattern.pattern());
    const bool has = absl::c_any_of(
        engine.jobs().jobs(),
        [kernel](const Jobs::Job& job) { return job.kernel() == kernel; });
    if (has) return CheckLimits(pattern);
    return Invalid(absl::StrCat("jobs: the pattern needs a job ",
                                Jobs::Kernel_Name(kernel)),
                   absl::StrCat("patterns ",
                                v1::OpPattern::Pattern_Name(pattern.pattern())),
                   "add the job, or remove the pattern");
  }

  absl::StatusOr<google::protobuf::Any> ValidateTileDecisions(
      const google::protobuf::Any&) const override {
    return Invalid("the engine model has no decisions for recipes", "decisions",
                   "remove them");
  }

 private:
  static Jobs::Kernel KernelOf(v1::OpPattern::Pattern pattern) {
    switch (pattern) {
      case v1::OpPattern::CONV2D:
      case v1::OpPattern::FULLY_CONNECTED:
        return Jobs::CONVOLUTION;
      case v1::OpPattern::DEPTHWISE_CONV2D:
        return Jobs::DEPTHWISE_CONVOLUTION;
      case v1::OpPattern::ADD:
        return Jobs::ADDITION;
      case v1::OpPattern::AVERAGE_POOL2D:
        return Jobs::AVERAGE_POOLING;
      case v1::OpPattern::MAX_POOL2D:
        return Jobs::MAXIMUM_POOLING;
      default:
        return Jobs::KERNEL_UNSPECIFIED;
    }
  }
};

}  // namespace

const EngineModel& RegisterJobModel() {
  static const Model* const model = new Model;
  return *model;
}

}  // namespace edgekiln::target
