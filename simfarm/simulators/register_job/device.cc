#include "simfarm/simulators/register_job/device.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "simfarm/simulators/arithmetic.h"
#include "simfarm/simulators/register_job/job.h"
#include "simfarm/simulators/register_job/kernels.h"
#include "target/register_jobs.h"

namespace edgekiln::simfarm::register_job {
namespace {

using target::JobOperand;

class Device : public MmioDevice {
 public:
  Device(target::RegisterJobsView view, ChipMemory& chip, int32_t engine)
      : view_(std::move(view)), chip_(chip), engine_(engine) {}

  void Reset(RunMode mode) override {
    mode_ = mode;
    busy_ = false;
    held_.assign(view_.jobs().registers_size(), 0);
    record_.reset();
  }

  absl::Status StoreRecord(const v1::Location& location,
                           absl::Span<const uint32_t> words) override {
    if (view_.record_memory() < 0) {
      return JobError("the engine reads no record", "record");
    }
    const auto bytes = static_cast<int64_t>(4 * words.size());
    if (bytes != view_.record_bytes()) {
      return JobError(absl::StrCat("a record of ", bytes, " bytes"), "record",
                      absl::StrCat(view_.record_bytes(), " bytes"));
    }
    if (location.memory() != view_.record_memory()) {
      return JobError(
          absl::StrCat("the record lies in memory ", location.memory()),
          "record", absl::StrCat("memory ", view_.record_memory()));
    }
    const std::string where = absl::StrCat(
        "record, ", chip_.NameIn(location.memory(), location.address()));
    if (busy_) {
      return JobError("the engine is busy", where,
                      "no store until a poll has seen the end of its job");
    }
    if (location.address() % target::kJobRecordAlignment != 0) {
      return JobError(
          "the record is not aligned", where,
          absl::StrCat("a multiple of ", target::kJobRecordAlignment));
    }
    AccessFault fault;
    if (!chip_.WriteIn(kHost, location.memory(), location.address(), bytes,
                       &fault)) {
      return JobError(chip_.What(fault),
                      absl::StrCat("record, ", chip_.NameIn(location.memory(),
                                                            location.address() +
                                                                fault.at)));
    }
    if (mode_ != RunMode::kCheckOnly) {
      uint8_t* const to =
          chip_.FindIn(location.memory(), location.address(), bytes);
      for (size_t i = 0; i < words.size(); ++i) {
        StoreInt32(static_cast<int32_t>(words[i]), to + 4 * i);
      }
    }
    record_ = Record{location.address(), {words.begin(), words.end()}};
    return absl::OkStatus();
  }

  absl::StatusOr<std::optional<int64_t>> Write(uint32_t offset,
                                               uint32_t value) override {
    if (busy_) {
      return JobError("the engine is busy", RegisterAt(offset),
                      "no write until a poll has seen the end of its job");
    }
    if (offset == view_.jobs().start_offset()) {
      if (value != view_.jobs().start_value()) {
        return JobError(absl::StrCat("a write of ", value, " starts nothing"),
                        RegisterAt(offset),
                        absl::StrCat(view_.jobs().start_value()));
      }
      EK_ASSIGN_OR_RETURN(const std::optional<int64_t> cycles, Start());
      busy_ = cycles.has_value();
      return cycles;
    }
    const int32_t position = view_.FindRegister(offset);
    if (position < 0) {
      return JobError("no register can be written there", RegisterAt(offset));
    }
    const int bits = view_.jobs().registers(position).bits();
    if (bits < 32 && value >> bits != 0) {
      return JobError(absl::StrCat("the register has ", bits, " bits"),
                      RegisterAt(offset));
    }
    held_[position] = view_.Held(position, value);
    return std::nullopt;
  }

  absl::StatusOr<uint32_t> Read(uint32_t offset) override {
    const v1::RegisterJobs& jobs = view_.jobs();
    if (offset != jobs.status_offset()) {
      return JobError("no register can be read there", RegisterAt(offset));
    }
    return busy_ ? ~jobs.status_done() & jobs.status_mask()
                 : jobs.status_done();
  }

  void Complete() override { busy_ = false; }

 private:
  std::string RegisterAt(uint32_t offset) const {
    const int32_t position = view_.FindRegister(offset);
    return position < 0 ? absl::StrFormat("register 0x%x", offset)
                        : absl::StrCat("register ",
                                       view_.jobs().registers(position).name());
  }

  // Cycles of a job; nothing of a transfer, which is over at once.
  absl::StatusOr<std::optional<int64_t>> Start() {
    if (view_.transfers() != nullptr) {
      const auto transfer = view_.transfers()->Decode(held_);
      if (!transfer.ok()) return TransferError(transfer.status());
      if (transfer->has_value()) {
        if (record_) {
          return JobError(
              "the host stored a record, but the registers tell a "
              "transfer",
              "start of a transfer");
        }
        EK_RETURN_IF_ERROR(Transfer(**transfer));
        return std::nullopt;
      }
    }
    if (view_.record_memory() >= 0) EK_RETURN_IF_ERROR(ReadRecord());
    const auto variables = view_.Decode(held_);
    if (!variables.ok()) {
      return JobError(std::string(variables.status().message()),
                      "start of a job");
    }
    if (record_) EK_RETURN_IF_ERROR(CheckRecordAddress(*variables));
    record_.reset();
    EK_ASSIGN_OR_RETURN(const Job job, CheckJob(view_, *variables, chip_));
    EK_RETURN_IF_ERROR(TellAccesses(job));
    if (mode_ != RunMode::kCheckOnly) EK_RETURN_IF_ERROR(Run(job));
    return job.cycles;
  }

  static absl::Status TransferError(const absl::Status& status) {
    return JobError(std::string(status.message()), "start of a transfer");
  }

  // The host's, as far as races are concerned.
  absl::Status Transfer(const target::Transfer& transfer) {
    for (const int64_t address : {transfer.from_addr, transfer.to_addr}) {
      if (address < 0 || address > target::kMaxJobAddress) {
        return JobError(absl::StrCat("an address is ", address),
                        "start of a transfer");
      }
    }
    if (transfer.bytes > target::kMaxJobAddress) {
      return JobError(absl::StrCat("a transfer of ", transfer.bytes, " bytes"),
                      "start of a transfer",
                      absl::StrCat(target::kMaxJobAddress, " bytes"));
    }
    EK_RETURN_IF_ERROR(TouchTransferred(/*writes=*/false, transfer.from_memory,
                                        transfer.from_addr, transfer.bytes));
    EK_RETURN_IF_ERROR(TouchTransferred(/*writes=*/true, transfer.to_memory,
                                        transfer.to_addr, transfer.bytes));
    if (transfer.from_memory == transfer.to_memory &&
        transfer.from_addr < transfer.to_addr + transfer.bytes &&
        transfer.to_addr < transfer.from_addr + transfer.bytes) {
      return JobError("a transfer writes what it reads", "start of a transfer");
    }
    if (mode_ == RunMode::kCheckOnly) return absl::OkStatus();
    const target::RegisterTransfers& how = *view_.transfers();
    const int64_t source = how.Place(transfer.from_addr);
    const int64_t target = how.Place(transfer.to_addr);
    const uint8_t* const from = chip_.FindIn(transfer.from_memory, source, 1);
    uint8_t* const to = chip_.FindIn(transfer.to_memory, target, 1);
    for (int64_t i = 0; i < transfer.bytes; ++i) {
      to[how.Place(transfer.to_addr + i) - target] =
          from[how.Place(transfer.from_addr + i) - source];
    }
    return absl::OkStatus();
  }

  // Of groups of reversed bytes the first and the last may be taken partly.
  absl::Status TouchTransferred(bool writes, int32_t memory, int64_t address,
                                int64_t bytes) {
    const int64_t group = view_.transfers()->reversed_bytes();
    const int64_t end = address + bytes;
    const auto touch = [&](int64_t at, int64_t count) -> absl::Status {
      AccessFault fault;
      const auto place = static_cast<uint64_t>(at);
      const bool fine = writes
                            ? chip_.WriteIn(kHost, memory, place, count, &fault)
                            : chip_.ReadIn(kHost, memory, place, count, &fault);
      if (fine) return absl::OkStatus();
      return JobError(
          chip_.What(fault),
          absl::StrCat("transfer, ", chip_.NameIn(memory, place + fault.at)));
    };
    while (address < end) {
      if (address % group == 0 && end - address >= group) {
        const int64_t whole = (end - address) / group * group;
        EK_RETURN_IF_ERROR(touch(address, whole));
        address += whole;
      } else {
        EK_RETURN_IF_ERROR(touch(view_.transfers()->Place(address), 1));
        ++address;
      }
    }
    return absl::OkStatus();
  }

  // What the engine reads of the record is what the host stored just before:
  // nobody can have changed it, and no value of memory matters.
  absl::Status ReadRecord() {
    if (!record_) {
      return JobError("the host stored no record for the job",
                      "start of a job");
    }
    for (size_t i = 0; i < record_->words.size(); ++i) {
      const uint32_t extra = record_->words[i] & ~view_.record_bits()[i];
      if (extra == 0) continue;
      return JobError(
          absl::StrFormat("a word of the record is 0x%x, with bits 0x%x of no "
                          "register",
                          record_->words[i], extra),
          absl::StrFormat("record, word at offset 0x%x", 4 * i),
          absl::StrFormat("bits 0x%x", view_.record_bits()[i]));
    }
    view_.HeldInRecord(record_->words, absl::MakeSpan(held_));
    return absl::OkStatus();
  }

  absl::Status CheckRecordAddress(const target::JobVariables& variables) const {
    const int64_t told = variables[target::JobVariable::kRecordAddr];
    if (told == static_cast<int64_t>(record_->address)) {
      return absl::OkStatus();
    }
    return JobError(
        absl::StrFormat("the registers tell a record at 0x%x", told),
        "start of a job",
        absl::StrFormat("0x%x, where the host stored it", record_->address));
  }

  // All reads are reported before all writes: `out` overlaps no operand, or one
  // that is read element by element.
  absl::Status TellAccesses(const Job& job) {
    for (const JobOperand which : target::kAllJobOperands) {
      const JobOperandPlace& place = job.operand(which);
      if (!place.layout) continue;
      absl::Status status;
      place.layout->VisitTaken([&](int64_t offset, int64_t bytes) {
        status =
            Touch(which == JobOperand::kOut, place.memory,
                  place.address + offset, bytes, target::JobOperandName(which));
        return status.ok();
      });
      EK_RETURN_IF_ERROR(status);
    }
    if (!job.has_table) return absl::OkStatus();
    return Touch(false, view_.own_memory(), job.table_address(),
                 job.table_bytes(), "table");
  }

  absl::Status Touch(bool writes, int32_t memory, uint64_t address,
                     int64_t bytes, absl::string_view what) {
    AccessFault fault;
    const bool fine =
        writes ? chip_.WriteIn(engine_, memory, address, bytes, &fault)
               : chip_.ReadIn(engine_, memory, address, bytes, &fault);
    if (fine) return absl::OkStatus();
    return JobError(
        chip_.What(fault),
        absl::StrCat(what, ", ", chip_.NameIn(memory, address + fault.at)));
  }

  absl::Status Run(const Job& job) {
    DenseOperands operands;
    const auto gather = [&](JobOperand which, std::string& dense) {
      const JobOperandPlace& place = job.operand(which);
      if (!place.layout) return;
      dense.resize(place.layout->dense_bytes());
      place.layout->Gather(BytesAt(place.memory, place.address, place.bytes),
                           dense.data());
    };
    gather(JobOperand::kIn, operands.in);
    gather(JobOperand::kIn2, operands.in2);
    gather(JobOperand::kWeights, operands.weights);
    gather(JobOperand::kBias, operands.bias);
    gather(JobOperand::kAffine, operands.affine);
    if (job.cells) EK_RETURN_IF_ERROR(ReadCells(*job.cells, operands.weights));
    if (job.has_table) {
      operands.table.assign(
          BytesAt(view_.own_memory(), job.table_address(), job.table_bytes()),
          job.table_bytes());
    }
    const JobOperandPlace& out = job.operand(JobOperand::kOut);
    operands.out.resize(out.layout->dense_bytes());
    EK_RETURN_IF_ERROR(Compute(job, operands));
    out.layout->Scatter(operands.out.data(),
                        BytesAt(out.memory, out.address, out.bytes));
    return absl::OkStatus();
  }

  // Makes weights of their cells.
  static absl::Status ReadCells(const target::CellRows& cells,
                                std::string& weights) {
    std::string dense(static_cast<size_t>(cells.weights()), '\0');
    const absl::Status read = target::GetCells(
        cells, weights.data(), reinterpret_cast<int8_t*>(dense.data()));
    if (!read.ok()) return JobError(std::string(read.message()), "weights");
    weights = std::move(dense);
    return absl::OkStatus();
  }

  char* BytesAt(int32_t memory, uint64_t address, int64_t bytes) {
    return reinterpret_cast<char*>(chip_.FindIn(memory, address, bytes));
  }

  struct Record {
    uint64_t address = 0;
    std::vector<uint32_t> words;
  };

  const target::RegisterJobsView view_;
  ChipMemory& chip_;
  const int32_t engine_;
  RunMode mode_ = RunMode::kChecked;
  bool busy_ = false;
  std::vector<int64_t> held_;     // By register.
  std::optional<Record> record_;  // Stored for the next job.
};

class Simulator : public EngineSimulator {
 public:
  absl::StatusOr<std::unique_ptr<MmioDevice>> NewDevice(
      const v1::Machine& machine, ChipMemory& memory,
      DeviceContext context) const override {
    EK_ASSIGN_OR_RETURN(
        target::RegisterJobsView view,
        target::RegisterJobsView::Create(machine, context.engine));
    return std::make_unique<Device>(std::move(view), memory, context.engine);
  }
};

}  // namespace

std::unique_ptr<EngineSimulator> NewSimulator() {
  return std::make_unique<Simulator>();
}

}  // namespace edgekiln::simfarm::register_job
