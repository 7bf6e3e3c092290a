#include "target/models/register_job/samples.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"

namespace edgekiln::target {
namespace {

using V = JobVariable;

// Conditions of a job are met one after the other, by trial.
constexpr int kMaxTries = 1000;  // For one sample.

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
  for (const V address : {V::kInAddr, V::kIn2Addr, V::kWeightsAddr,
                          V::kTableAddr, V::kOutAddr, V::kRecordAddr}) {
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
  job[V::kShift] = 6;
  return job;
}

// Values that a variable may get so that a condition holds: those of the other
// variables, small ones, and multiples of what blocks often count.
std::vector<int64_t> Candidates(const JobVariables& job, V variable,
                                const std::vector<V>& used) {
  std::vector<int64_t> values = {job[variable]};
  for (const V other : used) {
    if (other != variable) values.push_back(job[other]);
  }
  for (int64_t block = 2; block <= 256; block *= 2) {
    const int64_t below = job[variable] / block * block;
    values.push_back(below > 0 ? below : block);
  }
  for (int64_t small = 1; small <= 8; ++small) values.push_back(small);
  if (variable == V::kClampMin || variable == V::kClampMax) {
    // The ends of int8 and of what a ReLU leaves.
    for (const int64_t end : {0, -128, 127}) values.push_back(end);
  }
  if (variable == V::kCodeMin || variable == V::kCodeMax) {
    // The ends of what so many bits hold.
    for (int64_t end = 2; end <= 1 << 15; end *= 2) {
      values.push_back(variable == V::kCodeMin ? -end : end - 1);
    }
  }
  if (variable == V::kPadTop || variable == V::kPadLeft) values.push_back(0);
  return values;
}

// Changes one variable, or two, so that the first condition that does not hold
// does, and those before it, too. False if no candidates do, or none are left
// of `tries`. Conditions with sums take too long to be tried out.
bool Repair(const RegisterJobsView& view, int32_t position, int& tries,
            JobVariables& job) {
  const int32_t failed = view.FailedCondition(position, job);
  if (failed < 0 ||
      absl::StrContains(view.jobs().jobs(position).where(failed).expr(),
                        "sum")) {
    return false;
  }
  std::vector<V> used;
  for (const V variable : view.VariablesOfCondition(position, failed)) {
    if (variable != V::kKernel) used.push_back(variable);
  }
  const auto better = [&](const JobVariables& changed) {
    if (--tries < 0) return false;
    const int32_t now = view.FailedCondition(position, changed);
    return now < 0 || now > failed;
  };
  for (const V variable : used) {
    for (const int64_t value : Candidates(job, variable, used)) {
      JobVariables changed = job;
      changed[variable] = value;
      if (better(changed)) {
        job = changed;
        return true;
      }
    }
  }
  for (const V first : used) {
    for (const V second : used) {
      if (second <= first) continue;
      for (const int64_t a : Candidates(job, first, used)) {
        for (const int64_t b : Candidates(job, second, used)) {
          JobVariables changed = job;
          changed[first] = a;
          changed[second] = b;
          if (better(changed)) {
            job = changed;
            return true;
          }
        }
      }
    }
  }
  return false;
}

}  // namespace

absl::StatusOr<JobVariables> ToldSample(
    const RegisterJobsView& view, int32_t position, bool negative,
    absl::FunctionRef<void(JobVariables&)> change) {
  const int64_t code = view.jobs().jobs(position).code();
  absl::Status told;
  for (const SampleSizes& sizes : kSampleSizes) {
    JobVariables sample = SampleJob(code, sizes, negative);
    change(sample);
    int tries = kMaxTries;
    while (Repair(view, position, tries, sample)) {
    }
    told = view.Encode(sample).status();
    if (told.ok()) told = view.CheckJob(position, sample);
    if (told.ok()) return sample;
    const auto detail = GetErrorDetail(told);
    if (!detail) return told;
    const bool smaller = detail->reason == "REGISTER_TOO_NARROW" ||
                         detail->reason == "JOB_REFUSED" ||
                         detail->reason == "STAGED_TOO_LARGE";
    if (!smaller) break;
  }
  ErrorDetail detail = *GetErrorDetail(told);
  if (detail.reason == "JOB_REFUSED") {
    detail.what =
        absl::StrCat("no job was found that meets all of where: ", detail.what);
    detail.fix = "correct its conditions";
  }
  return MakeError(absl::StatusCode::kInvalidArgument, std::move(detail));
}

}  // namespace edgekiln::target
