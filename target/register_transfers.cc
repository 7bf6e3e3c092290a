#include "target/register_transfers.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "target/memories.h"
#include "target/nearest_name.h"
#include "target/register_jobs.h"

namespace edgekiln::target {
namespace {

constexpr char kIsTransfer[] = "transfer";
constexpr char kWhere[] = "transfers";

std::vector<std::string> RegisterNames(const v1::RegisterJobs& jobs) {
  std::vector<std::string> names;
  for (const auto& reg : jobs.registers()) names.push_back(reg.name());
  return names;
}

std::array<int64_t, 5> ValuesOf(const Transfer& transfer) {
  return {transfer.from_memory, transfer.to_memory, transfer.from_addr,
          transfer.to_addr, transfer.bytes};
}

// The one link in the window that these registers start; null if there is none
// or more than one.
const v1::ResolvedLink* LinkIn(const v1::Machine& machine, int32_t engine) {
  const v1::ResolvedLink* found = nullptr;
  for (const v1::ResolvedLink& link : machine.links()) {
    if (!link.has_window() || link.window() != engine) continue;
    if (found != nullptr) return nullptr;
    found = &link;
  }
  return found;
}

}  // namespace

bool operator==(const Transfer& a, const Transfer& b) {
  return ValuesOf(a) == ValuesOf(b);
}

const std::vector<std::string>& TransferVariableNames() {
  static const auto* const names = new std::vector<std::string>{
      "from_memory", "to_memory", "from_addr", "to_addr", "bytes"};
  return *names;
}

absl::StatusOr<RegisterTransfers> RegisterTransfers::Create(
    const v1::Machine& machine, int32_t engine) {
  const v1::RegisterJobs& jobs = machine.engines(engine).jobs();
  std::vector<Constant> constants;
  for (const v1::Setting& setting : machine.parameters()) {
    constants.push_back({setting.name(), setting.value()});
  }
  RegisterTransfers transfers;
  transfers.registers_ = jobs.registers_size();
  const int32_t reversed = jobs.transfers().reversed_bytes();
  if (reversed != 0 && reversed != 2 && reversed != 4 && reversed != 8) {
    return InvalidRegisterJobs(absl::StrCat("reversed_bytes is ", reversed),
                               kWhere, "0, 2, 4 or 8");
  }
  transfers.flip_ = std::max(reversed, 1) - 1;
  EK_RETURN_IF_ERROR(transfers.AddWrites(jobs, constants));
  EK_RETURN_IF_ERROR(transfers.AddFields(jobs, constants));
  EK_RETURN_IF_ERROR(transfers.AddLink(machine, engine));
  EK_RETURN_IF_ERROR(transfers.CheckOperands(machine, engine));
  EK_RETURN_IF_ERROR(transfers.TryTransfers(machine));
  return transfers;
}

absl::Status RegisterTransfers::AddWrites(
    const v1::RegisterJobs& jobs, const std::vector<Constant>& constants) {
  const std::vector<std::string> names = RegisterNames(jobs);
  std::set<std::string> told;
  if (jobs.transfers().writes().empty()) {
    return InvalidRegisterJobs(
        "transfers write no register", absl::StrCat(kWhere, ": writes"),
        "add writes { register_name: .. value_expr: .. }");
  }
  for (const auto& write : jobs.transfers().writes()) {
    const std::string where =
        absl::StrCat(kWhere, ": register_name ", write.register_name());
    const auto found =
        std::find(names.begin(), names.end(), write.register_name());
    if (found == names.end()) {
      return InvalidRegisterJobs(
          "there is no such register", where,
          DidYouMean(write.register_name(), names, "one of `registers`"));
    }
    const auto position = static_cast<int32_t>(found - names.begin());
    const auto& reg = jobs.registers(position);
    if (reg.in_record() || reg.is_signed()) {
      return InvalidRegisterJobs(
          "the register is signed, or part of the record", where,
          "an unsigned register of the window");
    }
    if (!told.insert(write.register_name()).second) {
      return InvalidRegisterJobs("the register occurs twice", where,
                                 "one value for each register");
    }
    EK_ASSIGN_OR_RETURN(Expression value,
                        Expression::Compile(write.value_expr(), constants,
                                            TransferVariableNames()),
                        absl::StrCat(where, ": value_expr"));
    writes_.push_back({position, reg.bits(), std::move(value)});
    offsets_.push_back(reg.offset());
  }
  for (const auto& reg : jobs.registers()) {
    if (!reg.value_expr().empty() || told.count(reg.name()) > 0) continue;
    return InvalidRegisterJobs("neither jobs nor transfers write it",
                               absl::StrCat("register ", reg.name()),
                               "give it a value_expr, or name it in writes of "
                               "transfers");
  }
  return absl::OkStatus();
}

absl::Status RegisterTransfers::AddFields(
    const v1::RegisterJobs& jobs, const std::vector<Constant>& constants) {
  const std::vector<std::string> registers = RegisterNames(jobs);
  std::vector<std::string> names = TransferVariableNames();
  names.push_back(kIsTransfer);
  std::set<std::string> told;
  for (const auto& field : jobs.transfers().fields()) {
    const std::string where =
        absl::StrCat(kWhere, ": variable ", field.variable());
    const auto found = std::find(names.begin(), names.end(), field.variable());
    if (found == names.end()) {
      return InvalidRegisterJobs(
          "no such variable", where,
          DidYouMean(field.variable(), names,
                     "see docs/targets/register_job.md"));
    }
    if (!told.insert(field.variable()).second) {
      return InvalidRegisterJobs("the variable occurs twice", where,
                                 "remove one");
    }
    EK_ASSIGN_OR_RETURN(
        Expression value,
        Expression::Compile(field.value_expr(), constants, registers),
        absl::StrCat(where, ": value_expr"));
    const auto index = static_cast<size_t>(found - names.begin());
    (index == kVariables ? is_transfer_ : fields_[index]) = std::move(value);
  }
  for (const std::string& name : names) {
    if (told.count(name) > 0) continue;
    return InvalidRegisterJobs("no field tells the variable",
                               absl::StrCat(kWhere, ": ", name),
                               "add fields { variable: .. value_expr: .. }");
  }
  for (const int32_t position : is_transfer_.UsedVariables()) {
    if (!jobs.registers(position).value_expr().empty()) continue;
    return InvalidRegisterJobs(
        "a register that tells transfers from jobs is not written by jobs",
        absl::StrCat("register ", jobs.registers(position).name()),
        "give it a value_expr");
  }
  return absl::OkStatus();
}

absl::Status RegisterTransfers::AddLink(const v1::Machine& machine,
                                        int32_t engine) {
  const v1::ResolvedLink* const link = LinkIn(machine, engine);
  if (link == nullptr || link->dimensions() != 1) {
    return InvalidRegisterJobs(
        "no link, or more than one, is part of the window and counts nothing "
        "but bytes",
        "links, transfers",
        "one link with this engine as window and dimensions: 1");
  }
  from_.assign(link->from().begin(), link->from().end());
  to_.assign(link->to().begin(), link->to().end());
  return absl::OkStatus();
}

// A transfer cuts groups of bytes wherever it begins and ends: in arrays that
// are reversed otherwise, these would be other bytes than the move's.
absl::Status RegisterTransfers::CheckOperands(const v1::Machine& machine,
                                              int32_t engine) const {
  const v1::RegisterJobs& jobs = machine.engines(engine).jobs();
  const auto is_joined = [this, &machine, engine](const std::string& name) {
    for (const std::vector<int32_t>* const joined : {&from_, &to_}) {
      for (const int32_t memory : *joined) {
        if (name.empty() ? memory == LocalMemoryOf(machine, engine)
                         : machine.memories(memory).name() == name) {
          return true;
        }
      }
    }
    return false;
  };
  for (const auto& job : jobs.jobs()) {
    for (const auto& operand : job.operands()) {
      if (std::max(operand.reversed_bytes(), 1) == reversed_bytes() ||
          !is_joined(operand.memory())) {
        continue;
      }
      return InvalidRegisterJobs(
          absl::StrCat("reversed_bytes is ", operand.reversed_bytes(), ", but ",
                       jobs.transfers().reversed_bytes(),
                       " of the transfers of link ",
                       LinkIn(machine, engine)->name(),
                       ", which joins the operand's memory"),
          absl::StrCat("job ", v1::RegisterJobs::Kernel_Name(job.kernel()),
                       ": operand ", operand.name()),
          "the same reversed_bytes for transfers and operand");
    }
  }
  return absl::OkStatus();
}

// At the ends of all pairs of memories.
absl::Status RegisterTransfers::TryTransfers(const v1::Machine& machine) const {
  for (const int32_t from : from_) {
    for (const int32_t to : to_) {
      for (const int64_t bytes : {1, 6, 64}) {
        const v1::ResolvedMemory& source = machine.memories(from);
        const v1::ResolvedMemory& target = machine.memories(to);
        if (source.capacity_bytes() < bytes ||
            target.capacity_bytes() < bytes) {
          continue;
        }
        const Transfer transfer = {
            from, to,
            static_cast<int64_t>(source.base_address()) +
                source.capacity_bytes() - bytes,
            static_cast<int64_t>(target.base_address()) +
                std::min<int64_t>(target.capacity_bytes() - bytes, 5),
            bytes};
        const auto told = Encode(transfer);
        if (told.ok()) continue;
        return InvalidRegisterJobs(std::string(told.status().message()), kWhere,
                                   "correct writes or fields");
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TransferValue>> RegisterTransfers::Encode(
    const Transfer& transfer) const {
  const std::array<int64_t, kVariables> variables = ValuesOf(transfer);
  std::vector<TransferValue> values;
  values.reserve(writes_.size());
  std::vector<int64_t> held(static_cast<size_t>(registers_), 0);
  for (const Write& write : writes_) {
    EK_ASSIGN_OR_RETURN(const int64_t value, write.value.Evaluate(variables),
                        "a register of a transfer");
    if (value < 0 || value >> write.bits != 0) {
      return MakeError(absl::StatusCode::kOutOfRange,
                       {.reason = "REGISTER_TOO_NARROW",
                        .what = absl::StrCat(
                            "a register of transfers does not hold ", value),
                        .where = kWhere,
                        .limit = absl::StrCat(write.bits, " bits")});
    }
    held[static_cast<size_t>(write.position)] = value;
    values.push_back({write.position, static_cast<uint32_t>(value)});
  }
  EK_ASSIGN_OR_RETURN(const std::optional<Transfer> told, Decode(held));
  if (!told || !(*told == transfer)) {
    return MakeError(
        absl::StatusCode::kOutOfRange,
        {.reason = "REGISTERS_TELL_OTHERWISE",
         .what = absl::StrCat("the registers do not tell a transfer of ",
                              transfer.bytes, " bytes from ",
                              transfer.from_addr, " to ", transfer.to_addr),
         .where = kWhere,
         .fix = "correct the writes or the fields of transfers"});
  }
  return values;
}

absl::StatusOr<std::optional<Transfer>> RegisterTransfers::Decode(
    absl::Span<const int64_t> held) const {
  EK_ASSIGN_OR_RETURN(const int64_t is_transfer, is_transfer_.Evaluate(held),
                      kWhere);
  if (is_transfer == 0) return std::nullopt;
  std::array<int64_t, kVariables> told = {};
  for (size_t i = 0; i < told.size(); ++i) {
    EK_ASSIGN_OR_RETURN(told[i], fields_[i].Evaluate(held),
                        TransferVariableNames()[i]);
  }
  for (const size_t i : {0, 1}) {
    const std::vector<int32_t>& joined = i == 0 ? from_ : to_;
    if (std::find(joined.begin(), joined.end(), told[i]) != joined.end()) {
      continue;
    }
    return absl::OutOfRangeError(absl::StrCat("the link does not join memory ",
                                              told[i], " (",
                                              TransferVariableNames()[i], ")"));
  }
  if (told[4] < 1) {
    return absl::OutOfRangeError(
        absl::StrCat("a transfer of ", told[4], " bytes"));
  }
  return Transfer{static_cast<int32_t>(told[0]), static_cast<int32_t>(told[1]),
                  told[2], told[3], told[4]};
}

}  // namespace edgekiln::target
