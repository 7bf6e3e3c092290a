#include "simfarm/simulators/register_job/job.h"

#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/checked_math.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "target/layout_parts.h"

namespace edgekiln::simfarm::register_job {
namespace {

using Jobs = v1::RegisterJobs;
using target::JobOperand;
using target::JobVariable;
using V = target::JobVariable;

constexpr int64_t kMaxExtent = 1 << 16;
constexpr int64_t kMaxElements = int64_t{1} << 32;
constexpr int64_t kMaxLeftShift = 22;  // 9 bits more fit 32.
constexpr int64_t kMinShift = -31;
constexpr int64_t kMaxShift = 30;
constexpr int64_t kMaxRounding = 2;

constexpr int64_t kMinCode = std::numeric_limits<int16_t>::min();
constexpr int64_t kMaxCode = std::numeric_limits<int16_t>::max();

struct Range {
  V variable;
  int64_t min;
  int64_t max;
};

// The range of each variable that a kernel depends on.
constexpr Range kRanges[] = {
    {V::kInH, 1, kMaxExtent},
    {V::kInW, 1, kMaxExtent},
    {V::kInC, 1, kMaxExtent},
    {V::kOutH, 1, kMaxExtent},
    {V::kOutW, 1, kMaxExtent},
    {V::kOutC, 1, kMaxExtent},
    {V::kKernelH, 1, kMaxExtent},
    {V::kKernelW, 1, kMaxExtent},
    {V::kStrideH, 1, kMaxExtent},
    {V::kStrideW, 1, kMaxExtent},
    {V::kDilationH, 1, kMaxExtent},
    {V::kDilationW, 1, kMaxExtent},
    {V::kPadTop, 0, kMaxExtent},
    {V::kPadLeft, 0, kMaxExtent},
    {V::kDepthMultiplier, 1, kMaxExtent},
    {V::kInZeroPoint, -128, 127},
    {V::kIn2ZeroPoint, -128, 127},
    {V::kOutZeroPoint, -128, 127},
    {V::kClampMin, -128, 127},
    {V::kClampMax, -128, 127},
    {V::kInMultiplier, 0, 0x7fffffff},
    {V::kIn2Multiplier, 0, 0x7fffffff},
    {V::kOutMultiplier, 0, 0x7fffffff},
    {V::kInShift, kMinShift, kMaxShift},
    {V::kIn2Shift, kMinShift, kMaxShift},
    {V::kOutShift, kMinShift, kMaxShift},
    {V::kLeftShift, 0, kMaxLeftShift},
    {V::kRounding, 0, kMaxRounding},
    {V::kOutInt32, 0, 1},
    {V::kCountPad, 0, 1},
    {V::kConverts, 0, 1},
    {V::kGain, 0, 0x7fffffff},
    {V::kCodeMin, kMinCode, kMaxCode},
    {V::kCodeMax, kMinCode, kMaxCode},
    {V::kCodeShift, 0, target::kMaxJobCodeShift},
    {V::kShift, 0, target::kMaxJobShift},
    {V::kInAddr, 0, target::kMaxJobAddress},
    {V::kIn2Addr, 0, target::kMaxJobAddress},
    {V::kWeightsAddr, 0, target::kMaxJobAddress},
    {V::kTableAddr, 0, target::kMaxJobAddress},
    {V::kOutAddr, 0, target::kMaxJobAddress},
    {V::kRecordAddr, 0, target::kMaxJobAddress},
};

absl::Status CheckRanges(const Job& job, const std::vector<V>& variables) {
  for (const V variable : variables) {
    for (const Range& range : kRanges) {
      if (range.variable != variable) continue;
      const int64_t value = job[variable];
      if (value >= range.min && value <= range.max) break;
      return JobError(
          absl::StrCat(target::JobVariableName(variable), " is ", value),
          absl::StrCat("job ", Jobs::Kernel_Name(job.kernel)),
          absl::StrCat(range.min, " to ", range.max));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckParameters(const Job& job) {
  if (job[V::kClampMin] > job[V::kClampMax]) {
    return JobError("clamp_min is above clamp_max",
                    absl::StrCat("job ", Jobs::Kernel_Name(job.kernel)));
  }
  const bool pools = job.kernel == Jobs::AVERAGE_POOLING;
  if (pools && job[V::kRounding] == kMaxRounding) {
    return JobError("rounding is 2", "job AVERAGE_POOLING", "0 or 1");
  }
  if (job.converts() &&
      (job[V::kGain] < 1 || job[V::kCodeMin] > job[V::kCodeMax])) {
    return JobError("gain is below 1, or code_min is above code_max",
                    absl::StrCat("job ", Jobs::Kernel_Name(job.kernel)));
  }
  if (job.kernel == Jobs::DEPTHWISE_CONVOLUTION &&
      job[V::kOutC] > job[V::kInC] * job[V::kDepthMultiplier]) {
    return JobError("more output channels than in_c * depth_multiplier",
                    "job DEPTHWISE_CONVOLUTION");
  }
  return absl::OkStatus();
}

absl::Status CheckPlace(std::string name, uint64_t address, int64_t bytes,
                        int64_t alignment, ChipMemory& chip, int32_t memory,
                        int32_t own_memory) {
  const auto where = [&] {
    return absl::StrCat(name, " at ", chip.NameIn(memory, address), ", ", bytes,
                        " bytes");
  };
  if (!chip.Reserve(memory, address, bytes)) {
    return JobError(absl::StrCat("an operand leaves ",
                                 memory == own_memory ? "the engine's memory"
                                                      : "its memory"),
                    where());
  }
  if (address % static_cast<uint64_t>(alignment) != 0) {
    return JobError("an operand is not aligned", where(),
                    absl::StrCat("a multiple of ", alignment));
  }
  return absl::OkStatus();
}

absl::Status PlaceOperand(const target::RegisterJobsView& view,
                          int32_t position, JobOperand which, ChipMemory& chip,
                          Job& job) {
  const std::string name(target::JobOperandName(which));
  auto message = view.OperandLayout(position, which, job.variables);
  if (!message.ok()) {
    return JobError(std::string(message.status().message()), name);
  }
  int64_t elements = 1;
  for (const int64_t extent : message->extents()) {
    const auto product = CheckedMul(elements, extent);
    if (!product || *product > kMaxElements) {
      return JobError("an operand has too many elements", name,
                      absl::StrCat(kMaxElements));
    }
    elements = *product;
  }
  auto layout = target::Layout::Create(*message);
  if (!layout.ok()) {
    return JobError(std::string(layout.status().message()), name);
  }
  JobOperandPlace& place = job.operands[static_cast<size_t>(which)];
  const auto address = view.AddressOf(position, which, job.variables);
  if (!address.ok()) {
    return JobError(std::string(address.status().message()), name);
  }
  place.memory = view.MemoryOf(position, which);
  // The begin of a group of reversed bytes.
  place.address = static_cast<uint64_t>(*address - message->first_byte());
  place.bytes = layout->end_bytes();
  EK_RETURN_IF_ERROR(CheckPlace(name, place.address, place.bytes,
                                layout->element_bytes(), chip, place.memory,
                                view.own_memory()));
  place.layout = *std::move(layout);
  return absl::OkStatus();
}

// Whether each element of the operand lies at the same address as that of
// `out`.
absl::StatusOr<bool> LiesInPlace(const target::RegisterJobsView& view,
                                 JobOperand which, const Job& job) {
  if (job.operand(which).address != job.operand(JobOperand::kOut).address) {
    return false;
  }
  const int32_t position = view.FindCode(job[V::kKernel]);
  EK_ASSIGN_OR_RETURN(const v1::Layout read,
                      view.OperandLayout(position, which, job.variables));
  EK_ASSIGN_OR_RETURN(
      const v1::Layout written,
      view.OperandLayout(position, JobOperand::kOut, job.variables));
  return target::SamePlaces(read, written);
}

absl::Status CheckOverlap(const target::RegisterJobsView& view,
                          const Job& job) {
  const JobOperandPlace& out = job.operand(JobOperand::kOut);
  const auto overlaps = [&](uint64_t address, int64_t bytes) {
    return address < out.address + static_cast<uint64_t>(out.bytes) &&
           out.address < address + static_cast<uint64_t>(bytes);
  };
  const std::string where =
      absl::StrFormat("out at 0x%x, %d bytes", out.address, out.bytes);
  for (const JobOperand which : target::kAllJobOperands) {
    const JobOperandPlace& place = job.operand(which);
    if (which == JobOperand::kOut || place.memory != out.memory) continue;
    if (place.layout && overlaps(place.address, place.bytes)) {
      if (job.kernel == Jobs::ADDITION) {
        EK_ASSIGN_OR_RETURN(const bool in_place, LiesInPlace(view, which, job));
        if (in_place) continue;
      }
      return JobError(
          absl::StrCat("out overlaps ", target::JobOperandName(which)), where);
    }
  }
  if (job.has_table && overlaps(job.table_address(), job.table_bytes())) {
    return JobError("out overlaps the table", where);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status JobError(std::string what, std::string where, std::string limit) {
  return MakeError(absl::StatusCode::kFailedPrecondition,
                   {.fault = Fault::kInfra,
                    .reason = "PROGRAM_INVALID",
                    .what = std::move(what),
                    .where = std::move(where),
                    .limit = std::move(limit)});
}

absl::StatusOr<Job> CheckJob(const target::RegisterJobsView& view,
                             const target::JobVariables& variables,
                             ChipMemory& chip) {
  const int32_t position = view.FindCode(variables[V::kKernel]);
  if (position < 0) {
    return JobError(
        absl::StrCat("the engine has no kernel ", variables[V::kKernel]),
        "start of a job");
  }
  Job job;
  job.kernel = view.jobs().jobs(position).kernel();
  job.variables = variables;
  job.has_table = view.HasTable(position);
  job.results = view.jobs().jobs(position).results();
  job.weights =
      target::WeightRangeOf(view.jobs().jobs(position).weight_values());
  EK_RETURN_IF_ERROR(CheckRanges(job, view.VariablesOf(position)));
  EK_RETURN_IF_ERROR(CheckParameters(job));
  if (const absl::Status met = view.CheckJob(position, variables); !met.ok()) {
    // An expression of it may not have a value: then there is no detail.
    ErrorDetail detail = GetErrorDetail(met).value_or(
        ErrorDetail{.what = std::string(met.message())});
    detail.fault = Fault::kInfra;
    detail.reason = "PROGRAM_INVALID";
    detail.fix.clear();
    return MakeError(absl::StatusCode::kFailedPrecondition, std::move(detail));
  }
  if (view.HasCells(position)) {
    auto cells = view.CellsOf(position, variables);
    if (!cells.ok()) {
      return JobError(std::string(cells.status().message()), "weights");
    }
    job.cells = *std::move(cells);
  }
  for (const JobOperand which : view.OperandsOf(position)) {
    EK_RETURN_IF_ERROR(PlaceOperand(view, position, which, chip, job));
  }
  if (job.has_table) {
    EK_RETURN_IF_ERROR(CheckPlace("table", job.table_address(),
                                  job.table_bytes(), target::kJobTableAlignment,
                                  chip, view.own_memory(), view.own_memory()));
  }
  EK_RETURN_IF_ERROR(CheckOverlap(view, job));
  auto cycles = view.OccupancyCycles(position, variables);
  if (!cycles.ok()) {
    return JobError(std::string(cycles.status().message()),
                    absl::StrCat("job ", Jobs::Kernel_Name(job.kernel)));
  }
  job.cycles = *cycles;
  return job;
}

}  // namespace edgekiln::simfarm::register_job
