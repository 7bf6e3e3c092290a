#include "target/register_jobs.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace edgekiln::target {
namespace {

using Kernel = v1::RegisterJobs;
using V = JobVariable;

// Whether the variable is bounded by kMaxJobExtent.
bool IsExtent(V variable) {
  return variable >= V::kInH && variable <= V::kDepthMultiplier;
}

}  // namespace

absl::StatusOr<JobCode> RegisterJobsView::Encode(
    const JobVariables& job) const {
  JobCode code;
  code.record.assign(record_bits_.size(), 0);
  code.writes.reserve(values_.size() + 1);
  std::vector<int64_t> held;
  held.reserve(values_.size());
  for (size_t i = 0; i < values_.size(); ++i) {
    const Kernel::Register& reg = jobs_.registers(static_cast<int>(i));
    if (!values_[i]) {
      held.push_back(0);
      continue;
    }
    EK_ASSIGN_OR_RETURN(const int64_t value, values_[i]->Evaluate(job.values()),
                        absl::StrCat("register ", reg.name()));
    if (value < LeastHeld(reg) || value > MostHeld(reg)) {
      return MakeError(
          absl::StatusCode::kOutOfRange,
          {.reason = "REGISTER_TOO_NARROW",
           .what =
               absl::StrCat("register ", reg.name(), " does not hold ", value),
           .where = absl::StrCat("register ", reg.name()),
           .limit = absl::StrCat(LeastHeld(reg), " to ", MostHeld(reg)),
           .need = absl::StrCat(value),
           .fix = value < 0 && !reg.is_signed() ? "is_signed: true"
                                                : "more bits"});
    }
    held.push_back(value);
    const uint64_t mask = (uint64_t{1} << reg.bits()) - 1;
    const auto bits =
        static_cast<uint32_t>(static_cast<uint64_t>(value) & mask);
    if (reg.in_record()) {
      code.record[reg.offset() / 4] |= bits << reg.low_bit();
    } else {
      code.writes.push_back({reg.offset(), bits});
    }
  }
  code.writes.push_back({jobs_.start_offset(), jobs_.start_value()});
  EK_RETURN_IF_ERROR(CheckTold(job, held));
  if (record_memory_ >= 0 && job[V::kRecordAddr] % kJobRecordAlignment != 0) {
    return MakeError(
        absl::StatusCode::kOutOfRange,
        {.reason = "RECORD_NOT_ALIGNED",
         .what = absl::StrCat("record_addr is ", job[V::kRecordAddr]),
         .where = "record",
         .limit = absl::StrCat("multiples of ", kJobRecordAlignment)});
  }
  return code;
}

// Values packed into one register may overflow into each other, although the
// register holds the sum.
absl::Status RegisterJobsView::CheckTold(const JobVariables& job,
                                         absl::Span<const int64_t> held) const {
  const int32_t position = FindCode(job[V::kKernel]);
  if (position < 0) return absl::OkStatus();
  const Kernel::Kernel kernel = jobs_.jobs(position).kernel();
  if (transfers_) {
    const auto transfer = transfers_->Decode(held);
    if (!transfer.ok() || transfer->has_value()) {
      return MakeError(
          absl::StatusCode::kOutOfRange,
          {.reason = "REGISTERS_TELL_OTHERWISE",
           .what = "the registers of the job tell a transfer",
           .where = absl::StrCat("job ", Kernel::Kernel_Name(kernel)),
           .fix = "correct the registers or the field transfer"});
    }
  }
  EK_ASSIGN_OR_RETURN(const JobVariables told, Decode(held));
  for (const V variable : variables_[position]) {
    const absl::string_view name = JobVariableName(variable);
    const bool too_large = IsExtent(variable) && job[variable] > kMaxJobExtent;
    if (told[variable] == job[variable] && !too_large) continue;
    return MakeError(
        absl::StatusCode::kOutOfRange,
        {.reason = "REGISTERS_TELL_OTHERWISE",
         .what = too_large ? absl::StrCat(name, " is ", job[variable])
                           : absl::StrCat("the registers tell ", told[variable],
                                          " for ", name, ", which is ",
                                          job[variable]),
         .where = absl::StrCat("job ", Kernel::Kernel_Name(kernel)),
         .limit = too_large ? absl::StrCat(kMaxJobExtent) : "",
         .need = absl::StrCat(name, " ", job[variable]),
         .fix = absl::StrCat("correct the registers or the field ", name)});
  }
  return absl::OkStatus();
}

int32_t RegisterJobsView::FindRegister(uint32_t offset) const {
  for (int32_t i = 0; i < jobs_.registers_size(); ++i) {
    const Kernel::Register& reg = jobs_.registers(i);
    if (!reg.in_record() && reg.offset() == offset) return i;
  }
  return -1;
}

int64_t RegisterJobsView::Held(int32_t position, uint32_t value) const {
  const Kernel::Register& reg = jobs_.registers(position);
  const uint64_t mask = (uint64_t{1} << reg.bits()) - 1;
  const auto held = static_cast<int64_t>(value & mask);
  return held > MostHeld(reg) ? held - static_cast<int64_t>(mask) - 1 : held;
}

void RegisterJobsView::HeldInRecord(absl::Span<const uint32_t> words,
                                    absl::Span<int64_t> held) const {
  for (int32_t i = 0; i < jobs_.registers_size(); ++i) {
    const Kernel::Register& reg = jobs_.registers(i);
    if (reg.in_record()) {
      held[i] = Held(i, words[reg.offset() / 4] >> reg.low_bit());
    }
  }
}

absl::StatusOr<JobVariables> RegisterJobsView::Decode(
    absl::Span<const int64_t> held) const {
  JobVariables job;
  for (int i = 0; i < kNumJobVariables; ++i) {
    const auto variable = static_cast<JobVariable>(i);
    if (fields_[i]) {
      EK_ASSIGN_OR_RETURN(job[variable], fields_[i]->Evaluate(held),
                          absl::StrCat("field ", JobVariableName(variable)));
    } else if (same_[i] >= 0) {
      job[variable] = held[same_[i]];
    }
  }
  return job;
}

int32_t RegisterJobsView::FindJob(Kernel::Kernel kernel) const {
  for (int32_t i = 0; i < jobs_.jobs_size(); ++i) {
    if (jobs_.jobs(i).kernel() == kernel) return i;
  }
  return -1;
}

int32_t RegisterJobsView::FindCode(int64_t code) const {
  for (int32_t i = 0; i < jobs_.jobs_size(); ++i) {
    if (jobs_.jobs(i).code() == code) return i;
  }
  return -1;
}

absl::StatusOr<int64_t> RegisterJobsView::OccupancyCycles(
    int32_t job, const JobVariables& variables) const {
  EK_ASSIGN_OR_RETURN(const int64_t cycles,
                      parsed_[job].occupancy.Evaluate(variables.values()),
                      "occupancy_cycles_expr");
  if (cycles >= 1 && cycles <= kMaxOccupancyCycles) return cycles;
  return MakeError(
      absl::StatusCode::kOutOfRange,
      {.reason = "TARGET_INVALID",
       .what = absl::StrCat("occupancy_cycles_expr gives ", cycles, " cycles"),
       .where =
           absl::StrCat("job ", Kernel::Kernel_Name(jobs_.jobs(job).kernel())),
       .limit = absl::StrCat("1 to ", kMaxOccupancyCycles, " cycles"),
       .fix = "correct the timing of this job in the target file"});
}

}  // namespace edgekiln::target
