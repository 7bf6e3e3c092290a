#include "testing/tiny_vector/conformance/models.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "target/memories.h"
#include "target/resolve.h"
#include "testing/tiny_vector/conformance/naive_engine.h"
#include "testing/tiny_vector/conformance/random_program.h"
#include "testing/tiny_vector/simulator/stream.h"

namespace edgekiln::simfarm::conformance::tiny_vector {
namespace {

v1::Machine MachineOf(const TinyChip& chip) {
  std::string text = "extends: \"tiny-vector\"\n";
  const std::pair<const char*, int64_t> kValues[] = {
      {"bank_bytes", chip.bank_bytes},
      {"register_write_cycles", chip.register_write_cycles},
      {"decode_cycles", chip.decode_cycles},
      {"pipeline_cycles", chip.pipeline_cycles},
      {"link_bytes_per_cycle", chip.link_bytes_per_cycle},
      {"link_setup_cycles", chip.link_setup_cycles}};
  for (const auto& [name, value] : kValues) {
    absl::StrAppend(&text, "set { name: \"", name, "\" value: ", value, " }\n");
  }
  auto target = target::ResolveTarget(text);
  EXPECT_TRUE(target.ok()) << target.status();
  if (!target.ok()) return {};
  v1::Machine machine = target->machine();
  // No parameter of the descriptor: a file says it.
  for (const int32_t bank : target::PrivateMemoriesOf(machine, 0)) {
    machine.mutable_memories(bank)->set_alignment_bytes(
        static_cast<int32_t>(chip.lanes));
  }
  return machine;
}

class Memories {
 public:
  Memories(const StreamProgram& program, const v1::Machine& machine,
           RunMode mode)
      : flash_(program.flash.begin(), program.flash.end()),
        ram_(program.ram.begin(), program.ram.end()) {
    using Kind = ChipMemory::Kind;
    const std::vector<int32_t> banks = target::PrivateMemoriesOf(machine, 0);
    for (int32_t m = 0; m < machine.memories_size(); ++m) {
      const v1::ResolvedMemory& memory = machine.memories(m);
      if (m == banks[0] || m == banks[1]) {
        std::vector<uint8_t>& bank = banks_[m == banks[0] ? 0 : 1];
        if (mode != RunMode::kCheckOnly) bank.resize(memory.capacity_bytes());
        chip_.Add({memory.name(), Kind::kScratchpad, 0, bank.data(),
                   memory.capacity_bytes()});
        continue;
      }
      const bool writable = target::IsWritable(memory);
      std::vector<uint8_t>& bytes = writable ? ram_ : flash_;
      chip_.Add({memory.name(), writable ? Kind::kReadWrite : Kind::kReadOnly,
                 memory.base_address(), bytes.data(),
                 static_cast<int64_t>(bytes.size())});
    }
    if (mode == RunMode::kFast) return;
    chip_.Track({"vector"}, /*concurrent=*/false);
    if (!flash_.empty()) chip_.Define(0, static_cast<int64_t>(flash_.size()));
    chip_.Define(kRamBase, static_cast<int64_t>(ram_.size()));
    chip_.BeginStep(0);
    chip_.Launch(0);
  }

  ChipMemory& chip() { return chip_; }
  std::string ram() const { return {ram_.begin(), ram_.end()}; }
  std::string scratchpad() const {
    std::string bytes(banks_[0].begin(), banks_[0].end());
    bytes.append(banks_[1].begin(), banks_[1].end());
    return bytes;
  }

 private:
  std::vector<uint8_t> flash_, ram_, banks_[2];
  ChipMemory chip_;
};

void CountOwners(const StreamTiming& timing, StreamOutcome& outcome) {
  int64_t begin = 0;
  for (const StreamTiming::Segment& segment : timing.segments) {
    OwnedCycles& owned = outcome.owned[segment.word];
    const bool computing = segment.spent == StreamTiming::Spent::kComputing;
    (computing ? owned.compute : owned.stall) += segment.end - begin;
    begin = segment.end;
  }
  for (const StreamTiming::Transfer& transfer : timing.transfers) {
    outcome.bytes_read += transfer.bytes_read;
    outcome.bytes_written += transfer.bytes_written;
  }
  outcome.cycles = timing.cycles;
  outcome.busy_cycles = timing.busy_cycles;
}

class TinyModels : public ChipModels {
 public:
  explicit TinyModels(const TinyChip& chip)
      : chip_(chip), machine_(MachineOf(chip)) {}

  const v1::Machine& machine() const override { return machine_; }

  StreamProgram RandomProgram(int commands, Rng& rng) const override {
    TinyCase random = tiny_vector::RandomProgram(chip_, commands, rng);
    return {.code = std::move(random.code),
            .flash = std::move(random.flash),
            .ram = std::move(random.ram)};
  }

  StreamOutcome RunNaive(const StreamProgram& program) const override {
    return tiny_vector::RunNaive({.chip = chip_,
                                  .flash = program.flash,
                                  .ram = program.ram,
                                  .code = program.code});
  }

  StreamOutcome RunSimulator(const StreamProgram& program,
                             CpuPath path) const override {
    StreamContext context;
    context.system = {
        {0, static_cast<int64_t>(program.flash.size()), false},
        {kRamBase, static_cast<int64_t>(program.ram.size()), true}};
    context.cpu_path = path;
    StreamOutcome outcome;
    const auto stream = simfarm::tiny_vector::NewSimulator()->Load(
        program.code, machine_, std::move(context));
    absl::Status status = stream.status();
    if (status.ok()) status = RunInAllModes(**stream, program, outcome);
    if (status.ok()) {
      CountOwners((*stream)->timing(), outcome);
    } else {
      outcome = StreamOutcome();
      outcome.error = std::string(status.message());
    }
    return outcome;
  }

 private:
  // Checks without values and with them agree; so do checked and fast runs.
  absl::Status RunInAllModes(const EngineStream& stream,
                             const StreamProgram& program,
                             StreamOutcome& outcome) const {
    const absl::Status only =
        Run(stream, program, RunMode::kCheckOnly, outcome);
    const absl::Status checked =
        Run(stream, program, RunMode::kChecked, outcome);
    EXPECT_EQ(only, checked);
    if (!checked.ok()) return checked;
    StreamOutcome fast;
    const absl::Status again = Run(stream, program, RunMode::kFast, fast);
    EXPECT_TRUE(again.ok()) << again;
    EXPECT_EQ(FirstDifference(outcome, fast), "");
    return again;
  }

  absl::Status Run(const EngineStream& stream, const StreamProgram& program,
                   RunMode mode, StreamOutcome& outcome) const {
    Memories memories(program, machine_, mode);
    const absl::Status status =
        stream.Start(memories.chip(), mode)->RunUntil(stream.num_words());
    outcome.ram = memories.ram();
    outcome.scratchpad = memories.scratchpad();
    return status;
  }

  const TinyChip chip_;
  const v1::Machine machine_;  // Made once: it takes longer than a program.
};

}  // namespace

std::unique_ptr<ChipModels> NewModels(const TinyChip& chip) {
  return std::make_unique<TinyModels>(chip);
}

std::unique_ptr<ChipModels> NewRandomModels(Rng& rng) {
  return NewModels(RandomChip(rng));
}

}  // namespace edgekiln::simfarm::conformance::tiny_vector
