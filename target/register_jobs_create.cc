#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "target/memories.h"
#include "target/nearest_name.h"
#include "target/register_jobs.h"
#include "target/register_jobs_builder.h"

// Registers, records and fields.
namespace edgekiln::target {
namespace {

using Kernel = v1::RegisterJobs;

constexpr int kMaxRegisters = 256;
constexpr int kMaxJobs = 64;

std::vector<std::string> VariableNames() {
  std::vector<std::string> names;
  names.reserve(kNumJobVariables);
  for (int i = 0; i < kNumJobVariables; ++i) {
    names.emplace_back(JobVariableName(static_cast<JobVariable>(i)));
  }
  return names;
}

}  // namespace

absl::Status InvalidRegisterJobs(std::string what, std::string where,
                                 std::string fix) {
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      {.reason = "TARGET_INVALID",
       .what = std::move(what),
       .where = std::move(where),
       .limit = "engine model REGISTER_JOB (docs/targets/register_job.md)",
       .fix = std::move(fix)});
}

RegisterJobsView::Builder::Builder(const v1::Machine& machine, int32_t engine)
    : machine_(machine), engine_(engine) {
  view_.jobs_ = machine.engines(engine).jobs();
  view_.same_.fill(-1);
  view_.own_memory_ = LocalMemoryOf(machine, engine);
  for (const v1::ResolvedMemory& memory : machine.memories()) {
    view_.stages_.push_back({memory.name(), memory.capacity_bytes()});
  }
  for (const v1::Setting& setting : machine.parameters()) {
    constants_.push_back({setting.name(), setting.value()});
  }
}

absl::StatusOr<RegisterJobsView> RegisterJobsView::Builder::Build() {
  EK_RETURN_IF_ERROR(AddRecord());
  EK_RETURN_IF_ERROR(AddRegisters());
  EK_RETURN_IF_ERROR(AddFields());
  if (view_.jobs_.has_transfers()) {
    EK_ASSIGN_OR_RETURN(view_.transfers_,
                        RegisterTransfers::Create(machine_, engine_));
  }
  if (view_.record_memory_ >= 0) EK_RETURN_IF_ERROR(CheckRecordAddress());
  view_.has_converter_ =
      absl::c_any_of(ConverterVariables(),
                     [this](JobVariable variable) { return IsTold(variable); });
  if (view_.jobs_.jobs_size() > kMaxJobs) {
    return InvalidRegisterJobs("too many jobs", "jobs",
                               absl::StrCat("up to ", kMaxJobs));
  }
  std::set<int64_t> codes;
  std::map<int, const Kernel::Job*> kernels;  // The last so far.
  for (const Kernel::Job& job : view_.jobs_.jobs()) {
    const std::string where =
        absl::StrCat("job ", Kernel::Kernel_Name(job.kernel()));
    if (!Kernel::Kernel_IsValid(job.kernel()) ||
        job.kernel() == Kernel::KERNEL_UNSPECIFIED) {
      return InvalidRegisterJobs("kernel is missing or unknown", "jobs: kernel",
                                 "kernel: CONVOLUTION, for example");
    }
    if (!codes.insert(job.code()).second) {
      return InvalidRegisterJobs("code occurs twice", where,
                                 "a code of its own for each job");
    }
    const auto [before, is_first] = kernels.try_emplace(job.kernel(), &job);
    if (!is_first && before->second->where().empty()) {
      return InvalidRegisterJobs(
          "kernel occurs twice, and the job before takes whatever this does",
          where,
          "one job per kernel, or conditions in `where` of all but the last");
    }
    if (!is_first && before->second->results() != job.results()) {
      return InvalidRegisterJobs("jobs of one kernel differ in results", where,
                                 "the same results for both");
    }
    before->second = &job;
    EK_RETURN_IF_ERROR(AddJob(job), where);
  }
  return std::move(view_);
}

absl::StatusOr<int32_t> RegisterJobsView::Builder::FindMemory(
    const std::string& name, const std::string& where) const {
  std::vector<std::string> names;
  for (int32_t m = 0; m < machine_.memories_size(); ++m) {
    if (machine_.memories(m).name() == name) return m;
    names.push_back(machine_.memories(m).name());
  }
  return InvalidRegisterJobs(
      absl::StrCat("no memory is called \"", name, "\""), where,
      DidYouMean(name, names, "use a memory that the file has"));
}

bool RegisterJobsView::Builder::EngineReaches(int32_t memory) const {
  return absl::c_linear_search(machine_.memories(memory).engines(), engine_);
}

absl::Status RegisterJobsView::Builder::AddRecord() {
  const Kernel& jobs = view_.jobs_;
  const bool used = absl::c_any_of(
      jobs.registers(), [](const auto& reg) { return reg.in_record(); });
  if (used != jobs.has_record()) {
    return InvalidRegisterJobs(
        used ? "registers are in a record, but there is none"
             : "no register is in the record",
        used ? "registers: in_record" : "record",
        used ? "add record { memory: .. bytes: .. word_cycles_expr: .. }"
             : "set in_record of its registers, or remove the record");
  }
  if (!used) return absl::OkStatus();
  const Kernel::Record& record = jobs.record();
  EK_ASSIGN_OR_RETURN(view_.record_memory_,
                      FindMemory(record.memory(), "record: memory"));
  const v1::ResolvedMemory& memory = machine_.memories(view_.record_memory_);
  if (!memory.host_reaches() || !EngineReaches(view_.record_memory_) ||
      !IsWritable(memory)) {
    return InvalidRegisterJobs(
        absl::StrCat("memory ", memory.name(),
                     " is not one that the host writes and the engine reads"),
        "record: memory",
        "one with \"host\" and the engine in reached_by, and ACTIVATIONS in "
        "holds");
  }
  if (record.bytes() < 4 || record.bytes() > kMaxJobRecordBytes ||
      record.bytes() % 4 != 0) {
    return InvalidRegisterJobs(
        absl::StrCat("bytes is ", record.bytes()), "record: bytes",
        absl::StrCat("a multiple of 4, up to ", kMaxJobRecordBytes));
  }
  view_.record_bits_.assign(record.bytes() / 4, 0);
  return absl::OkStatus();
}

absl::Status RegisterJobsView::Builder::CheckRecordAddress() const {
  const auto index = static_cast<size_t>(JobVariable::kRecordAddr);
  std::vector<int32_t> used;
  if (view_.fields_[index]) {
    used = view_.fields_[index]->UsedVariables();
  } else if (view_.same_[index] >= 0) {
    used = {view_.same_[index]};
  }
  const bool in_window = absl::c_none_of(used, [this](int32_t position) {
    return view_.jobs_.registers(position).in_record();
  });
  if (!used.empty() && in_window) return absl::OkStatus();
  return InvalidRegisterJobs(
      "no register outside the record tells record_addr", "registers, fields",
      "add a register with value_expr: \"record_addr\", or a field");
}

absl::Status RegisterJobsView::Builder::AddToRecord(const Kernel::Register& reg,
                                                    const std::string& where) {
  if (reg.offset() % 4 != 0 || reg.offset() / 4 >= view_.record_bits_.size()) {
    return InvalidRegisterJobs(
        "the offset is no word of the record", absl::StrCat(where, ": offset"),
        absl::StrCat("a multiple of 4 below ", view_.jobs_.record().bytes()));
  }
  if (reg.low_bit() < 0 || reg.low_bit() + reg.bits() > 32) {
    return InvalidRegisterJobs("low_bit + bits is more than 32",
                               absl::StrCat(where, ": low_bit"),
                               absl::StrCat("0 to ", 32 - reg.bits()));
  }
  const auto bits =
      static_cast<uint32_t>(((uint64_t{1} << reg.bits()) - 1) << reg.low_bit());
  uint32_t& taken = view_.record_bits_[reg.offset() / 4];
  if ((taken & bits) != 0) {
    return InvalidRegisterJobs("it overlaps another register of the same word",
                               absl::StrCat(where, ": offset, low_bit"),
                               "choose bits that are free, or another word");
  }
  taken |= bits;
  return absl::OkStatus();
}

absl::Status RegisterJobsView::Builder::CheckInWindow(
    const Kernel::Register& reg, const std::string& where,
    std::set<uint32_t>& offsets) const {
  if (reg.offset() % 4 != 0 || !offsets.insert(reg.offset()).second ||
      reg.offset() == view_.jobs_.status_offset()) {
    return InvalidRegisterJobs(
        "the offset is not a multiple of 4, or is already used by a "
        "register, "
        "start_offset or status_offset",
        absl::StrCat(where, ": offset"),
        absl::StrCat(
            "choose a free multiple of 4",
            view_.record_memory_ >= 0 ? ", or set in_record: true" : ""));
  }
  if (reg.low_bit() != 0) {
    return InvalidRegisterJobs(
        "low_bit is given, but the register is not in the record",
        absl::StrCat(where, ": low_bit"), "remove it, or set in_record: true");
  }
  return absl::OkStatus();
}

absl::Status RegisterJobsView::Builder::AddRegisters() {
  const Kernel& jobs = view_.jobs_;
  if (jobs.registers_size() > kMaxRegisters) {
    return InvalidRegisterJobs("too many registers", "registers",
                               absl::StrCat("up to ", kMaxRegisters));
  }
  std::set<uint32_t> offsets = {jobs.start_offset()};
  std::set<std::string> names;
  if (jobs.start_offset() % 4 != 0 || jobs.status_offset() % 4 != 0) {
    return InvalidRegisterJobs("an offset is not a multiple of 4",
                               "start_offset, status_offset",
                               "start_offset: 0x80");
  }
  if (jobs.start_offset() == jobs.status_offset()) {
    return InvalidRegisterJobs("start_offset and status_offset are the same",
                               "start_offset, status_offset",
                               "status_offset: 0x84");
  }
  if (jobs.start_value() == 0) {
    return InvalidRegisterJobs("start_value is missing, or 0", "jobs",
                               "start_value: 1");
  }
  if ((jobs.status_done() & ~jobs.status_mask()) != 0 ||
      jobs.status_mask() == 0) {
    return InvalidRegisterJobs(
        "the masked status can never equal status_done",
        "status_mask, status_done",
        "set in status_mask every bit of status_done, and at "
        "least one");
  }
  for (int i = 0; i < jobs.registers_size(); ++i) {
    const Kernel::Register& reg = jobs.registers(i);
    const std::string where = absl::StrCat("register ", reg.name());
    if (reg.name().empty() || !names.insert(reg.name()).second) {
      return InvalidRegisterJobs("a name is missing or occurs twice", where,
                                 "give each register a name of its own");
    }
    if (reg.bits() < 1 || reg.bits() > 32) {
      return InvalidRegisterJobs("bits is missing or too large", where,
                                 "bits: 1 to 32");
    }
    if (reg.in_record()) {
      EK_RETURN_IF_ERROR(AddToRecord(reg, where));
    } else {
      EK_RETURN_IF_ERROR(CheckInWindow(reg, where, offsets));
    }
    register_names_.push_back(reg.name());
    // RegisterTransfers checks that transfers write it.
    if (reg.value_expr().empty() && !reg.in_record()) {
      if (!jobs.has_transfers()) {
        return InvalidRegisterJobs(
            "value_expr is missing, and there are no transfers that write it",
            where, "value_expr: \"0\", for example");
      }
      view_.values_.emplace_back();
      continue;
    }
    EK_ASSIGN_OR_RETURN(
        view_.values_.emplace_back(),
        Expression::Compile(reg.value_expr(), constants_, VariableNames()),
        absl::StrCat(where, ": value_expr"));
    if (const auto same = FindJobVariable(reg.value_expr())) {
      view_.same_[static_cast<size_t>(*same)] = i;
    }
  }
  return absl::OkStatus();
}

absl::Status RegisterJobsView::Builder::AddFields() {
  for (const Kernel::Field& field : view_.jobs_.fields()) {
    const std::string where =
        absl::StrCat("fields over registers: variable ", field.variable());
    const auto variable = FindJobVariable(field.variable());
    if (!variable) {
      return InvalidRegisterJobs(
          "no such variable", where,
          DidYouMean(field.variable(), VariableNames(),
                     "see docs/targets/register_job.md"));
    }
    auto& place = view_.fields_[static_cast<size_t>(*variable)];
    if (place) {
      return InvalidRegisterJobs("the variable occurs twice", where,
                                 "remove one");
    }
    EK_ASSIGN_OR_RETURN(
        place,
        Expression::Compile(field.value_expr(), constants_, register_names_),
        absl::StrCat(where, ": value_expr"));
  }
  return absl::OkStatus();
}

bool RegisterJobsView::Builder::IsTold(JobVariable variable) const {
  const auto index = static_cast<size_t>(variable);
  return view_.fields_[index] || view_.same_[index] >= 0;
}

absl::StatusOr<Expression> RegisterJobsView::Builder::Compile(
    const std::string& text) const {
  return Expression::Compile(text, constants_, VariableNames());
}

absl::StatusOr<RegisterJobsView> RegisterJobsView::Create(
    const v1::Machine& machine, int32_t engine) {
  if (!machine.engines(engine).has_jobs()) {
    return InvalidRegisterJobs("the engine model is driven by registers",
                               "jobs", "add jobs { .. }");
  }
  return Builder(machine, engine).Build();
}

}  // namespace edgekiln::target
