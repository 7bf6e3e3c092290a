#include "simfarm/session/testing/fake_engines.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/text_format.h"

namespace edgekiln::simfarm::fake {
namespace {

constexpr int32_t kSharedMemory = 2;

class Device : public MmioDevice {
 public:
  Device(ChipMemory& memory, DeviceContext context)
      : memory_(memory), who_(context.engine) {}

  void Reset(RunMode mode) override {
    mode_ = mode;
    registers_ = {};
    status_ = 2;
  }

  absl::StatusOr<std::optional<int64_t>> Write(uint32_t offset,
                                               uint32_t value) override {
    const std::string where = absl::StrFormat("register 0x%x", offset);
    if (status_ == 1) {
      return absl::FailedPreconditionError(
          absl::StrCat(where, " is written while the engine is busy"));
    }
    if (offset == kStart) return Start();
    if (offset % 4 != 0 || offset / 4 >= registers_.size()) {
      return absl::FailedPreconditionError(absl::StrCat("there is no ", where));
    }
    registers_[offset / 4] = value;
    return std::nullopt;
  }

  absl::StatusOr<uint32_t> Read(uint32_t offset) override {
    if (offset == kStatus) return status_;
    return absl::FailedPreconditionError(
        absl::StrFormat("register 0x%x cannot be read", offset));
  }

  void Complete() override { status_ = 0; }

 private:
  absl::StatusOr<std::optional<int64_t>> Start() {
    const auto [from, to, bytes, cycles] = registers_;
    AccessFault fault;
    uint64_t at = from;
    bool good = memory_.ReadIn(who_, kSharedMemory, from, bytes, &fault);
    if (good) {
      at = to;
      good = memory_.WriteIn(who_, kSharedMemory, to, bytes, &fault);
    }
    if (!good) {
      return absl::FailedPreconditionError(
          absl::StrCat("register 0x10: ", memory_.What(fault), ", ",
                       memory_.NameIn(kSharedMemory, at + fault.at)));
    }
    // Operands lie in blocks of 8 bytes, of which it may not use all.
    if (!memory_.Reserve(kSharedMemory, to, (int64_t{bytes} + 7) / 8 * 8)) {
      return absl::FailedPreconditionError("the last block leaves the memory");
    }
    if (mode_ != RunMode::kCheckOnly) {
      const uint8_t* source = memory_.FindIn(kSharedMemory, from, bytes);
      uint8_t* target = memory_.FindIn(kSharedMemory, to, bytes);
      for (uint32_t i = 0; i < bytes; ++i) {
        target[i] = static_cast<uint8_t>(source[i] + 1);
      }
    }
    status_ = 1;
    return std::max<int64_t>(cycles, 1);
  }

  ChipMemory& memory_;
  int32_t who_;
  RunMode mode_ = RunMode::kFast;
  std::array<uint32_t, 4> registers_{};
  uint32_t status_ = 2;
};

class NoWork : public StreamRun {
 public:
  absl::Status RunUntil(int32_t /*end_word*/) override {
    return absl::OkStatus();
  }
};

class Stream : public EngineStream {
 public:
  explicit Stream(absl::string_view code)
      : words_(static_cast<int32_t>(code.size())) {
    timing_.units = {"unit"};
    for (int32_t word = 0; word < words_; ++word) {
      const auto command = static_cast<uint8_t>(code[word]);
      timing_.cycles += command >> 2;
      timing_.segments.push_back(
          {timing_.cycles, word,
           static_cast<StreamTiming::Spent>(command & 3)});
    }
    timing_.busy_cycles = timing_.cycles;
  }

  void KeepConstants(absl::Span<const ShownRange> /*shown*/) override {}
  int32_t num_words() const override { return words_; }
  const StreamTiming& timing() const override { return timing_; }
  int64_t scratchpad_extent(int32_t /*memory*/) const override { return 0; }
  const std::vector<SystemRange>& system_ranges() const override {
    return system_ranges_;
  }
  std::unique_ptr<StreamRun> Start(ChipMemory& /*memory*/,
                                   RunMode /*mode*/) const override {
    return std::make_unique<NoWork>();
  }

 private:
  int32_t words_;
  StreamTiming timing_;
  std::vector<SystemRange> system_ranges_;
};

class JobSimulator : public EngineSimulator {
 public:
  absl::StatusOr<std::unique_ptr<MmioDevice>> NewDevice(
      const v1::Machine& /*machine*/, ChipMemory& memory,
      DeviceContext context) const override {
    return std::make_unique<Device>(memory, context);
  }
};

class StreamSimulator : public EngineSimulator {
 public:
  absl::StatusOr<std::unique_ptr<EngineStream>> Load(
      absl::string_view code, const v1::Machine& /*machine*/,
      StreamContext /*context*/) const override {
    return std::make_unique<Stream>(code);
  }
};

}  // namespace

v1::Machine Machine() {
  v1::Machine machine;
  google::protobuf::TextFormat::ParseFromString(R"(
      clock_hz: 100 host_clock_hz: 200 host_name: "cpu"
      memories { name: "flash" holds: CONSTANTS capacity_bytes: 256
                 host_reaches: true alignment_bytes: 1 }
      memories { name: "ram" holds: ACTIVATIONS capacity_bytes: 256
                 base_address: 0x80000000 host_reaches: true
                 alignment_bytes: 1 }
      memories { name: "shared" holds: ACTIVATIONS capacity_bytes: 256
                 base_address: 0x100 engines: [0, 1] alignment_bytes: 1 }
      memories { name: "pad" holds: ACTIVATIONS capacity_bytes: 64 engines: 2
                 alignment_bytes: 1 }
      engines { name: "a" clock_hz: 100 jobs {}
                register_write_cycles: 2 poll_cycles: 3 }
      engines { name: "b" clock_hz: 50 jobs {}
                register_write_cycles: 2 poll_cycles: 3 }
      engines { name: "c" clock_hz: 100 isa { word_bytes: 1 } }
      links { name: "mover" owner: -1 from: [0, 1, 2] to: [1, 2]
              bytes_per_cycle: 4 setup_cycles: 10 dimensions: 2 }
      links { name: "dma" owner: 2 from: [1, 3] to: [1, 3] bytes_per_cycle: 4
              dimensions: 1 }
      host_costs { op: "default" cycles_expr: "20" })",
                                                &machine);
  return machine;
}

v1::Program::RegisterWrites Job(int32_t engine, uint64_t from, uint64_t to,
                                uint32_t bytes, uint32_t cycles,
                                int32_t layer) {
  v1::Program::RegisterWrites writes;
  writes.set_engine(engine);
  writes.set_layer(layer);
  const std::pair<uint32_t, uint64_t> values[] = {{kFrom, from},
                                                  {kTo, to},
                                                  {kBytes, bytes},
                                                  {kCycles, cycles},
                                                  {kStart, 1}};
  for (const auto& [offset, value] : values) {
    v1::Program::RegisterWrites::Write& write = *writes.add_writes();
    write.set_offset(offset);
    write.set_value(static_cast<uint32_t>(value));
  }
  return writes;
}

v1::Program::Poll AwaitJob(int32_t engine, int32_t layer) {
  v1::Program::Poll poll;
  poll.set_engine(engine);
  poll.set_offset(kStatus);
  poll.set_mask(1);
  poll.set_value(0);
  poll.set_layer(layer);
  return poll;
}

char Command(StreamTiming::Spent spent, int cycles) {
  return static_cast<char>(cycles << 2 | static_cast<int>(spent));
}

absl::StatusOr<std::unique_ptr<EngineSimulator>> NewSimulator(
    const v1::Machine::Engine& engine) {
  if (engine.has_jobs()) return std::make_unique<JobSimulator>();
  return std::make_unique<StreamSimulator>();
}

}  // namespace edgekiln::simfarm::fake
