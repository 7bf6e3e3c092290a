#include "simfarm/simulators/register_job/device.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "simfarm/simulators/register_job/job.h"
#include "simfarm/simulators/register_job/kernels.h"
#include "target/memories.h"
#include "target/register_jobs.h"

namespace edgekiln::simfarm::register_job {
namespace {

using target::JobOperand;

class Device : public MmioDevice {
 public:
  Device(target::RegisterJobsView view, ChipMemory& chip, int32_t memory,
         int32_t engine)
      : view_(std::move(view)), chip_(chip), memory_(memory), engine_(engine) {}

  void Reset(RunMode mode) override {
    mode_ = mode;
    busy_ = false;
    held_.assign(view_.jobs().registers_size(), 0);
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
      EK_ASSIGN_OR_RETURN(const int64_t cycles, Start());
      busy_ = true;
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

  absl::StatusOr<int64_t> Start() {
    const auto variables = view_.Decode(held_);
    if (!variables.ok()) {
      return JobError(std::string(variables.status().message()),
                      "start of a job");
    }
    EK_ASSIGN_OR_RETURN(const Job job,
                        CheckJob(view_, *variables, chip_, memory_));
    EK_RETURN_IF_ERROR(TellAccesses(job));
    if (mode_ != RunMode::kCheckOnly) EK_RETURN_IF_ERROR(Run(job));
    return job.cycles;
  }

  // All reads are reported before all writes: `out` overlaps no operand, or one
  // that is read element by element.
  absl::Status TellAccesses(const Job& job) {
    for (const JobOperand which : {JobOperand::kIn, JobOperand::kIn2,
                                   JobOperand::kWeights, JobOperand::kOut}) {
      const JobOperandPlace& place = job.operand(which);
      if (!place.layout) continue;
      absl::Status status;
      place.layout->VisitRuns([&](const target::Layout::Run& run) {
        status = Touch(which == JobOperand::kOut, place.address + run.offset,
                       run.bytes, target::JobOperandName(which));
        return status.ok();
      });
      EK_RETURN_IF_ERROR(status);
    }
    if (!job.has_table) return absl::OkStatus();
    return Touch(false, job.table_address(), job.table_bytes(), "table");
  }

  absl::Status Touch(bool writes, uint64_t address, int64_t bytes,
                     absl::string_view what) {
    AccessFault fault;
    const bool fine =
        writes ? chip_.WriteIn(engine_, memory_, address, bytes, &fault)
               : chip_.ReadIn(engine_, memory_, address, bytes, &fault);
    if (fine) return absl::OkStatus();
    return JobError(
        chip_.What(fault),
        absl::StrCat(what, ", ", chip_.NameIn(memory_, address + fault.at)));
  }

  absl::Status Run(const Job& job) {
    DenseOperands operands;
    const auto gather = [&](JobOperand which, std::string& dense) {
      const JobOperandPlace& place = job.operand(which);
      if (!place.layout) return;
      dense.resize(place.layout->dense_bytes());
      place.layout->Gather(BytesAt(place.address, place.bytes), dense.data());
    };
    gather(JobOperand::kIn, operands.in);
    gather(JobOperand::kIn2, operands.in2);
    gather(JobOperand::kWeights, operands.weights);
    if (job.has_table) {
      operands.table.assign(BytesAt(job.table_address(), job.table_bytes()),
                            job.table_bytes());
    }
    const JobOperandPlace& out = job.operand(JobOperand::kOut);
    operands.out.resize(out.layout->dense_bytes());
    EK_RETURN_IF_ERROR(Compute(job, operands));
    out.layout->Scatter(operands.out.data(), BytesAt(out.address, out.bytes));
    return absl::OkStatus();
  }

  char* BytesAt(uint64_t address, int64_t bytes) {
    return reinterpret_cast<char*>(chip_.FindIn(memory_, address, bytes));
  }

  const target::RegisterJobsView view_;
  ChipMemory& chip_;
  const int32_t memory_;
  const int32_t engine_;
  RunMode mode_ = RunMode::kChecked;
  bool busy_ = false;
  std::vector<int64_t> held_;  // By register.
};

class Simulator : public EngineSimulator {
 public:
  absl::StatusOr<std::unique_ptr<MmioDevice>> NewDevice(
      const v1::Machine& machine, ChipMemory& memory,
      DeviceContext context) const override {
    EK_ASSIGN_OR_RETURN(
        target::RegisterJobsView view,
        target::RegisterJobsView::Create(machine, context.engine));
    return std::make_unique<Device>(
        std::move(view), memory, target::LocalMemoryOf(machine, context.engine),
        context.engine);
  }
};

}  // namespace

std::unique_ptr<EngineSimulator> NewSimulator() {
  return std::make_unique<Simulator>();
}

}  // namespace edgekiln::simfarm::register_job
