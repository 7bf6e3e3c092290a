#include "simfarm/conformance/dla/dla_models.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "simfarm/conformance/dla/dla_words.h"
#include "simfarm/conformance/dla/naive_dla.h"
#include "simfarm/conformance/dla/random_program.h"
#include "simfarm/simulators/dla/stream.h"
#include "target/resolve.h"

namespace edgekiln::simfarm::conformance::dla {
namespace {

struct Memories {
  std::vector<uint8_t> sram;
  std::vector<uint8_t> flash;
  std::vector<uint8_t> ram;
  ChipMemory chip;

  // Without values there is no SRAM. Accesses are followed unless the mode is
  // kFast; flash and RAM hold values.
  Memories(const DlaCase& program, RunMode mode)
      : sram(mode == RunMode::kCheckOnly ? 0 : program.chip.sram_bytes),
        flash(program.flash.begin(), program.flash.end()),
        ram(program.ram.begin(), program.ram.end()) {
    using Kind = ChipMemory::Kind;
    chip.Add({"flash", Kind::kReadOnly, 0, flash.data(),
              static_cast<int64_t>(flash.size())});
    chip.Add({"ram", Kind::kReadWrite, kRamBase, ram.data(),
              static_cast<int64_t>(ram.size())});
    chip.Add(
        {"sram", Kind::kScratchpad, 0, sram.data(), program.chip.sram_bytes});
    if (mode == RunMode::kFast) return;
    chip.Track({"dla"}, /*concurrent=*/false);
    if (!flash.empty()) chip.Define(0, static_cast<int64_t>(flash.size()));
    chip.Define(kRamBase, static_cast<int64_t>(ram.size()));
    chip.BeginStep(0);
    chip.Launch(0);
  }
};

void CountOwners(const StreamTiming& timing, StreamOutcome* outcome) {
  int64_t begin = 0;
  for (const StreamTiming::Segment& segment : timing.segments) {
    OwnedCycles& owned = outcome->owned[segment.word];
    const bool computing = segment.spent == StreamTiming::Spent::kComputing;
    (computing ? owned.compute : owned.stall) += segment.end - begin;
    begin = segment.end;
  }
  for (const StreamTiming::Transfer& transfer : timing.transfers) {
    outcome->bytes_read += transfer.bytes_read;
    outcome->bytes_written += transfer.bytes_written;
  }
  outcome->cycles = timing.cycles;
  outcome->busy_cycles = timing.busy_cycles;
}

// What one checks and the other computes must not depend on each other. Entries
// of tables are values: only a run that computes sees them.
absl::Status CompareWithCheckOnly(const absl::Status& checked,
                                  const absl::Status& only) {
  if (checked == only) return absl::OkStatus();
  if (only.ok() && absl::StrContains(checked.message(), "table entry")) {
    return absl::OkStatus();
  }
  return absl::InternalError(
      absl::StrCat("without values the checks say: ", only.ToString()));
}

absl::Status Run(const EngineStream& stream, const DlaCase& program,
                 RunMode mode, StreamOutcome* outcome) {
  Memories memories(program, mode);
  absl::Status status =
      stream.Start(memories.chip, mode)->RunUntil(stream.num_words());
  if (!status.ok()) return status;
  outcome->ram.assign(memories.ram.begin(), memories.ram.end());
  outcome->scratchpad.assign(memories.sram.begin(), memories.sram.end());
  return absl::OkStatus();
}

v1::Machine MachineOf(const DlaChip& chip) {
  std::string text = "extends: \"dla\"\n";
  const std::pair<const char*, int64_t> kValues[] = {
      {"pes", chip.pes},
      {"output_parallel", chip.output_parallel ? 1 : 0},
      {"sram_bytes", chip.sram_bytes},
      {"fill_cycles", chip.fill_cycles},
      {"dma_bytes_per_cycle", chip.dma_bytes_per_cycle},
      {"dma_setup_cycles", chip.dma_setup_cycles},
      {"queue_depth", chip.queue_depth},
      {"register_write_cycles", chip.register_write_cycles},
      {"decode_cycles", chip.decode_cycles}};
  for (const auto& [name, value] : kValues) {
    absl::StrAppend(&text, "set { name: \"", name, "\" value: ", value, " }\n");
  }
  auto target = target::ResolveTarget(text);
  EXPECT_TRUE(target.ok()) << target.status();
  if (!target.ok()) return {};
  // No parameter of the descriptor: a file says it.
  target->mutable_machine()->mutable_links(0)->set_contention(
      chip.blocking_dma ? v1::LinkDescriptor::BLOCKING
                        : v1::LinkDescriptor::OVERLAPPED);
  return target->machine();
}

StreamOutcome Simulate(const DlaCase& program, const v1::Machine& machine,
                       CpuPath cpu_path) {
  StreamOutcome outcome;
  StreamContext context;
  context.scratchpad_bytes = program.chip.sram_bytes;
  context.system = {{0, static_cast<int64_t>(program.flash.size()), false},
                    {kRamBase, static_cast<int64_t>(program.ram.size()), true}};
  context.cpu_path = cpu_path;
  const auto stream = simfarm::dla::NewSimulator()->Load(program.code, machine,
                                                         std::move(context));
  if (!stream.ok()) {
    outcome.error = std::string(stream.status().message());
    return outcome;
  }
  absl::Status status = Run(**stream, program, RunMode::kChecked, &outcome);
  StreamOutcome unused;
  const absl::Status only = CompareWithCheckOnly(
      status, Run(**stream, program, RunMode::kCheckOnly, &unused));
  EXPECT_TRUE(only.ok()) << only << "; with values: " << status;
  const std::string ram = outcome.ram;
  // As ever, without moving what never changes, and with what that has kept.
  for (int i = 0; i < 3 && status.ok(); ++i) {
    if (i == 1) (*stream)->KeepConstants({});
    StreamOutcome kept;
    status = Run(**stream, program, RunMode::kFast, i == 0 ? &outcome : &kept);
    if (status.ok() && ram != (i == 0 ? outcome.ram : kept.ram)) {
      status = absl::InternalError(
          absl::StrCat("checked and fast run ", i, " differ"));
    }
  }
  if (!status.ok()) {
    outcome = {};
    outcome.error = std::string(status.message());
    return outcome;
  }
  CountOwners((*stream)->timing(), &outcome);
  return outcome;
}

class DlaModels : public ChipModels {
 public:
  explicit DlaModels(const DlaChip& chip)
      : chip_(chip), machine_(MachineOf(chip)) {}

  const v1::Machine& machine() const override { return machine_; }

  StreamProgram RandomProgram(int commands, Rng& rng) const override {
    DlaCase random = dla::RandomProgram(chip_, commands, rng);
    return {.code = std::move(random.code),
            .flash = std::move(random.flash),
            .ram = std::move(random.ram)};
  }

  StreamOutcome RunNaive(const StreamProgram& program) const override {
    return RunNaiveDla(CaseOf(program));
  }

  StreamOutcome RunSimulator(const StreamProgram& program,
                             CpuPath path) const override {
    return Simulate(CaseOf(program), machine_, path);
  }

 private:
  DlaCase CaseOf(const StreamProgram& program) const {
    return {.chip = chip_,
            .flash = program.flash,
            .ram = program.ram,
            .code = program.code};
  }

  const DlaChip chip_;
  const v1::Machine machine_;  // Made once: it takes longer than a program.
};

}  // namespace

std::unique_ptr<ChipModels> NewDlaModels(const DlaChip& chip) {
  return std::make_unique<DlaModels>(chip);
}

std::unique_ptr<ChipModels> NewRandomDlaModels(Rng& rng) {
  return NewDlaModels(RandomChip(rng));
}

}  // namespace edgekiln::simfarm::conformance::dla
