#include "simfarm/session/step_runner.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "simfarm/session/transfers.h"

namespace edgekiln::simfarm {

absl::Status StepRunner::Run(const TapVisitor& visit_tap, RunMode mode) {
  EK_RETURN_IF_ERROR(ResetDevices(mode));
  for (size_t i = 0; i < loaded_.steps.size(); ++i) {
    EK_RETURN_IF_ERROR(RunStep(static_cast<int>(i), visit_tap, mode),
                       absl::StrCat("step ", i));
  }
  return absl::OkStatus();
}

absl::Status StepRunner::ResetDevices(RunMode mode) {
  for (size_t e = 0; e < devices_.size(); ++e) {
    const auto engine = static_cast<int32_t>(e);
    if (loaded_.simulators[e] == nullptr ||
        !loaded_.machine.engines(engine).has_jobs()) {
      continue;
    }
    if (devices_[e] == nullptr) {
      EK_ASSIGN_OR_RETURN(
          devices_[e],
          loaded_.simulators[e]->NewDevice(
              loaded_.machine, chip_,
              {.engine = engine, .cpu_path = loaded_.options.cpu_path}));
    }
    devices_[e]->Reset(mode);
  }
  return absl::OkStatus();
}

absl::Status StepRunner::RunStep(int index, const TapVisitor& visit_tap,
                                 RunMode mode) {
  const v1::Program::Step& step = loaded_.program.steps(index);
  const LoadedStep& loaded = loaded_.steps[index];
  chip_.BeginStep(index);
  switch (step.step_case()) {
    case v1::Program::Step::kHostOp:
      EK_RETURN_IF_ERROR(RunHostOp(step.host_op(), *loaded.host_op, mode));
      break;
    case v1::Program::Step::kLaunch: {
      const LoadedStream& stream = loaded_.streams[loaded.stream];
      EK_RETURN_IF_ERROR(RunStream(stream, visit_tap, mode), stream.name);
      break;
    }
    case v1::Program::Step::kWait:
      chip_.Wait(step.wait().engine());
      break;
    case v1::Program::Step::kMove:
      EK_RETURN_IF_ERROR(RunMove(step.move(), loaded, mode));
      break;
    case v1::Program::Step::kRegisterWrites: {
      const v1::Program::RegisterWrites& writes = step.register_writes();
      EK_RETURN_IF_ERROR(
          WriteRegisters(writes),
          loaded_.NameRegisters(writes.engine(), writes.layer()));
      break;
    }
    case v1::Program::Step::kPoll:
      // Polls were checked when the program was loaded.
      if (!loaded.sees_end) break;
      devices_[step.poll().engine()]->Complete();
      chip_.Wait(step.poll().engine());
      break;
    default:
      break;
  }
  for (const LoadedTap& tap : loaded.taps) {
    EK_RETURN_IF_ERROR(VisitTap(kHost, tap, visit_tap, mode));
  }
  return absl::OkStatus();
}

absl::Status StepRunner::RunHostOp(const v1::Program::HostOp& op,
                                   const HostOp& host, RunMode mode) {
  const std::string what =
      absl::StrCat("layer ", loaded_.program.layers(op.layer()).id());
  const auto says_where = [&](const AccessFault& fault, uint64_t address) {
    return InvalidProgram(
        chip_.What(fault),
        absl::StrCat(what, ", ", chip_.Name(address + fault.at)));
  };
  AccessFault fault;
  for (const HostOp::Operand& input : host.inputs()) {
    if (!chip_.Read(kHost, input.address, input.bytes, &fault)) {
      return says_where(fault, input.address);
    }
  }
  for (const HostOp::Operand& output : host.outputs()) {
    if (!chip_.Write(kHost, output.address, output.bytes, &fault)) {
      return says_where(fault, output.address);
    }
  }
  if (mode == RunMode::kCheckOnly) return absl::OkStatus();
  EK_RETURN_IF_ERROR(host.Run(chip_, loaded_.options.cpu_path), what);
  return absl::OkStatus();
}

absl::Status StepRunner::RunMove(const v1::Program::Move& move,
                                 const LoadedStep& loaded, RunMode mode) {
  const target::Layout& from = *loaded.from_layout;
  const target::Layout& to = *loaded.to_layout;
  if (mode != RunMode::kFast) {
    EK_RETURN_IF_ERROR(Read(kHost, move.from(), from, "move"));
    EK_RETURN_IF_ERROR(Write(kHost, move.to(), to, "move"));
  }
  if (!loaded.transfer_values.empty()) {
    const int32_t engine = loaded_.machine.links(move.link()).window();
    return StartTransfers(
        loaded.transfer_values, loaded_.transfers[engine]->offsets(),
        loaded_.machine.engines(engine).jobs(), *devices_[engine]);
  }
  if (mode == RunMode::kCheckOnly) return absl::OkStatus();
  const auto* const source = reinterpret_cast<const char*>(chip_.FindIn(
      move.from().memory(), move.from().address(), from.size_bytes()));
  const absl::string_view dense = from.View(source, packed_);
  auto* const target = reinterpret_cast<char*>(
      chip_.FindIn(move.to().memory(), move.to().address(), to.size_bytes()));
  to.Scatter(dense.data(), target);
  return absl::OkStatus();
}

absl::Status StepRunner::RunStream(const LoadedStream& stream,
                                   const TapVisitor& visit_tap, RunMode mode) {
  chip_.Launch(stream.engine);
  const std::unique_ptr<StreamRun> run = stream.stream->Start(chip_, mode);
  for (const LoadedTap& tap : stream.taps) {
    EK_RETURN_IF_ERROR(run->RunUntil(stream.WordOf(tap) + 1));
    const v1::Location& location = tap.tap->location();
    if (loaded_.IsSystem(location.memory())) {
      EK_RETURN_IF_ERROR(VisitTap(stream.engine, tap, visit_tap, mode));
      continue;
    }
    const int64_t offset = loaded_.OffsetOf(location);
    if (mode != RunMode::kFast) {
      EK_RETURN_IF_ERROR(CheckScratchpadTap(stream, tap, offset));
    }
    if (!visit_tap) continue;
    EK_RETURN_IF_ERROR(
        Visit(tap, chip_.scratchpad(location.memory()) + offset, visit_tap));
  }
  return run->RunUntil(stream.stream->num_words());
}

// A job started by these writes is ordered after everything that the host did
// before.
absl::Status StepRunner::WriteRegisters(
    const v1::Program::RegisterWrites& writes) {
  chip_.Launch(writes.engine());
  MmioDevice& device = *devices_[writes.engine()];
  if (writes.has_record()) {
    EK_RETURN_IF_ERROR(device.StoreRecord(writes.record().location(),
                                          writes.record().words()));
  }
  for (const v1::Program::RegisterWrites::Write& write : writes.writes()) {
    EK_RETURN_IF_ERROR(device.Write(write.offset(), write.value()).status());
  }
  return absl::OkStatus();
}

template <typename Method>
absl::Status StepRunner::Access(Method method, int32_t who,
                                const v1::Location& location,
                                const target::Layout& layout,
                                const std::string& what) {
  AccessFault fault;
  uint64_t at = 0;
  const bool good = layout.VisitTaken([&](int64_t offset, int64_t bytes) {
    at = location.address() + offset;
    return (chip_.*method)(who, location.memory(), at, bytes, &fault);
  });
  if (good) return absl::OkStatus();
  return InvalidProgram(
      chip_.What(fault),
      absl::StrCat(what, ", ", chip_.NameIn(location.memory(), at + fault.at)));
}

absl::Status StepRunner::Read(int32_t who, const v1::Location& location,
                              const target::Layout& layout,
                              const std::string& what) {
  return Access(&ChipMemory::ReadIn, who, location, layout, what);
}

absl::Status StepRunner::Write(int32_t who, const v1::Location& location,
                               const target::Layout& layout,
                               const std::string& what) {
  return Access(&ChipMemory::WriteIn, who, location, layout, what);
}

absl::Status StepRunner::CheckScratchpadTap(const LoadedStream& stream,
                                            const LoadedTap& tap,
                                            int64_t offset) {
  int64_t hole = -1;
  tap.layout->VisitTaken([&](int64_t begin, int64_t bytes) {
    const int64_t at = offset + begin;
    hole = chip_.FindUndefined(tap.tap->location().memory(), at, at + bytes);
    return hole < 0;
  });
  if (hole < 0) return absl::OkStatus();
  return InvalidProgram(
      "a tap shows a byte that nothing wrote",
      absl::StrFormat("command %d, scratchpad 0x%x, tensor %d",
                      stream.WordOf(tap), hole, tap.tap->tensor()));
}

// Reads the tap's bytes as `who`, in any memory but scratchpads, and visits it.
absl::Status StepRunner::VisitTap(int32_t who, const LoadedTap& tap,
                                  const TapVisitor& visit_tap, RunMode mode) {
  const v1::Location& location = tap.tap->location();
  if (mode != RunMode::kFast) {
    EK_RETURN_IF_ERROR(Read(who, location, *tap.layout, "tap"));
  }
  if (!visit_tap) return absl::OkStatus();
  return Visit(tap,
               chip_.FindIn(location.memory(), location.address(),
                            tap.layout->size_bytes()),
               visit_tap);
}

absl::Status StepRunner::Visit(const LoadedTap& tap, const uint8_t* bytes,
                               const TapVisitor& visit_tap) {
  return visit_tap(
      *tap.tap,
      tap.layout->View(reinterpret_cast<const char*>(bytes), packed_));
}

}  // namespace edgekiln::simfarm
