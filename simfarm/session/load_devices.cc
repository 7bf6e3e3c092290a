#include "simfarm/session/load_devices.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/checked_math.h"
#include "base/status_macros.h"
#include "simfarm/session/transfers.h"

namespace edgekiln::simfarm {

DeviceLoader::DeviceLoader(LoadedProgram* loaded, SimulatorMaker new_simulator)
    : loaded_(loaded),
      new_simulator_(new_simulator),
      engines_(loaded->machine.engines_size()) {
  loaded->transfers.resize(engines_.size());
  std::vector<int64_t> sizes;
  for (const v1::ResolvedMemory& memory : loaded->machine.memories()) {
    sizes.push_back(memory.capacity_bytes());
  }
  loaded->AddMemories(sizes, chip_);
}

absl::Status DeviceLoader::Need(int32_t engine) {
  EK_RETURN_IF_ERROR(loaded_->NeedSimulator(engine, new_simulator_));
  const v1::Machine::Engine& description = loaded_->machine.engines(engine);
  if (!description.has_jobs()) {
    return InvalidProgram(
        "the engine runs streams: the host does not drive it by registers", "");
  }
  std::unique_ptr<MmioDevice>& device = engines_[engine].device;
  if (device != nullptr) return absl::OkStatus();
  EK_ASSIGN_OR_RETURN(
      device, loaded_->simulators[engine]->NewDevice(
                  loaded_->machine, chip_,
                  {.engine = engine, .cpu_path = loaded_->options.cpu_path}));
  device->Reset(RunMode::kCheckOnly);
  return absl::OkStatus();
}

absl::Status DeviceLoader::Write(const v1::Program::RegisterWrites& writes,
                                 LoadedStep* step) {
  if (writes.writes().empty()) {
    return InvalidProgram("the step writes no registers", "");
  }
  EK_RETURN_IF_ERROR(Need(writes.engine()));
  Engine& engine = engines_[writes.engine()];
  const v1::Machine::Engine& description =
      loaded_->machine.engines(writes.engine());
  const auto spend = [step](int64_t cycles) {
    const auto sum = CheckedAdd(step->host_cycles, cycles);
    if (!sum) return InvalidProgram("the writes take too long", "");
    step->host_cycles = *sum;
    return absl::OkStatus();
  };
  if (writes.has_record()) {
    const auto& words = writes.record().words();
    EK_RETURN_IF_ERROR(
        engine.device->StoreRecord(writes.record().location(), words));
    const auto cycles =
        CheckedMul(words.size(), description.record_word_cycles());
    if (!cycles) return InvalidProgram("the writes take too long", "");
    EK_RETURN_IF_ERROR(spend(*cycles));
  }
  for (const v1::Program::RegisterWrites::Write& write : writes.writes()) {
    EK_ASSIGN_OR_RETURN(const std::optional<int64_t> job,
                        engine.device->Write(write.offset(), write.value()));
    EK_RETURN_IF_ERROR(spend(description.register_write_cycles()));
    if (!job.has_value()) {
      if (!description.jobs().has_transfers() ||
          write.offset() != description.jobs().start_offset()) {
        continue;
      }
      return InvalidProgram(
          "the registers start a transfer: a program says it as a move", "");
    }
    if (*job < 1 || step->job_cycles.has_value()) {
      return InvalidProgram("the step starts a job that cannot be", "");
    }
    EK_RETURN_IF_ERROR(spend(description.job_cycles()));
    engine.busy = true;
    step->job_cycles = job;
    step->job_start_cycles = step->host_cycles;
  }
  if (writes.has_record() && !step->job_cycles.has_value()) {
    return InvalidProgram("the step stores a record, but starts no job",
                          "record");
  }
  return absl::OkStatus();
}

absl::Status DeviceLoader::Move(int32_t engine, const v1::Program::Move& move,
                                LoadedStep* step) {
  const v1::RegisterJobs& jobs = loaded_->machine.engines(engine).jobs();
  if (!jobs.has_transfers()) return absl::OkStatus();
  EK_RETURN_IF_ERROR(Need(engine));
  std::optional<target::RegisterTransfers>& transfers =
      loaded_->transfers[engine];
  if (!transfers) {
    EK_ASSIGN_OR_RETURN(
        transfers, target::RegisterTransfers::Create(loaded_->machine, engine));
  }
  EK_ASSIGN_OR_RETURN(step->transfer_values,
                      TransferValues(loaded_->program, move, *transfers,
                                     &transfer_values_left_));
  return StartTransfers(step->transfer_values, transfers->offsets(), jobs,
                        *engines_[engine].device);
}

// While the host polls, only the end of a job changes a register. So one read
// tells whether a poll ends at once, and one after the job's end whether it
// ever does.
absl::Status DeviceLoader::Poll(const v1::Program::Poll& poll,
                                LoadedStep* step) {
  EK_RETURN_IF_ERROR(Need(poll.engine()));
  if (loaded_->machine.engines(poll.engine()).poll_cycles() < 1) {
    return InvalidProgram("a read of a register takes no time", "");
  }
  Engine& engine = engines_[poll.engine()];
  const auto where = [&](uint32_t found) {
    return absl::StrFormat("register 0x%x, which holds 0x%x, mask 0x%x",
                           poll.offset(), found, poll.mask());
  };
  const std::string wanted = absl::StrFormat("0x%x", poll.value());
  EK_ASSIGN_OR_RETURN(uint32_t found, engine.device->Read(poll.offset()));
  if ((found & poll.mask()) == poll.value()) {
    if (!engine.busy) return absl::OkStatus();
    return InvalidProgram("the poll does not wait for the job that runs",
                          where(found), wanted);
  }
  if (engine.busy) {
    engine.device->Complete();
    engine.busy = false;
    step->sees_end = true;
    EK_ASSIGN_OR_RETURN(found, engine.device->Read(poll.offset()));
    if ((found & poll.mask()) == poll.value()) return absl::OkStatus();
  }
  return InvalidProgram("the poll never ends: no job runs that could change it",
                        where(found), wanted);
}

void DeviceLoader::Finish() {
  for (int32_t m = 0; m < loaded_->machine.memories_size(); ++m) {
    int64_t& used = loaded_->used_bytes[m];
    used = std::max(used, chip_.reached_bytes(m));
  }
}

}  // namespace edgekiln::simfarm
