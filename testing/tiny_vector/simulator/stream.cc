#include "testing/tiny_vector/simulator/stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "simfarm/simulators/arithmetic.h"
#include "testing/tiny_vector/simulator/instruction.h"

namespace edgekiln::simfarm::tiny_vector {
namespace {

using target::tiny_vector::CommandName;
using target::tiny_vector::IsTransfer;
using target::tiny_vector::kLeftShift;

StreamTiming TimeStream(const DecodedStream& stream) {
  using Spent = StreamTiming::Spent;
  using Kind = StreamTiming::Kind;
  StreamTiming timing;
  timing.units = {"vector", "link"};
  for (const Instruction& i : stream.instructions) {
    const bool transfer = IsTransfer(i.command);
    const bool store = i.command == Command::kStore;
    const int64_t begin = timing.cycles + i.control_cycles;
    timing.cycles = begin + i.occupancy_cycles;
    timing.busy_cycles += i.occupancy_cycles;
    timing.segments.push_back({begin, i.word, Spent::kControl});
    timing.segments.push_back(
        {timing.cycles, i.word,
         transfer ? Spent::kTransfer : Spent::kComputing});
    timing.work.push_back({begin, timing.cycles, i.word, transfer ? 1 : 0,
                           !transfer ? Kind::kCompute
                           : store   ? Kind::kWrite
                                     : Kind::kRead});
    if (!transfer) continue;
    const int64_t bytes = i[Register::kPieces] * i[Register::kPieceBytes];
    timing.transfers.push_back({i.word, store ? 0 : bytes, store ? bytes : 0});
  }
  timing.cycles += stream.end_cycles;
  timing.segments.push_back(
      {timing.cycles, stream.num_words - 1, Spent::kControl});
  return timing;
}

// Section 4, ADD.
class Addition {
 public:
  explicit Addition(const Instruction& i)
      : a_zero_(i[Register::kAZero]),
        b_zero_(i[Register::kBZero]),
        a_(Factor(i, Register::kAMultiplier, Register::kAShift)),
        b_(Factor(i, Register::kBMultiplier, Register::kBShift)),
        out_(Factor(i, Register::kOutMultiplier, Register::kOutShift)),
        limits_{static_cast<int32_t>(i[Register::kOutZero]),
                static_cast<int32_t>(i[Register::kClampMin]),
                static_cast<int32_t>(i[Register::kClampMax])} {}

  uint8_t Apply(uint8_t a, uint8_t b) const {
    const int32_t sum = WrapAdd(Scale(LoadInt8(&a) - a_zero_, a_),
                                Scale(LoadInt8(&b) - b_zero_, b_));
    return limits_.Apply(Rescale(sum, out_.first, out_.second, false));
  }

 private:
  using MultiplierAndShift = std::pair<int32_t, int>;
  static MultiplierAndShift Factor(const Instruction& i, Register multiplier,
                                   Register shift) {
    return {static_cast<int32_t>(i[multiplier]),
            31 - static_cast<int>(i[shift])};
  }
  static int32_t Scale(int64_t value, MultiplierAndShift factor) {
    return Rescale(static_cast<int32_t>(value * (1 << kLeftShift)),
                   factor.first, factor.second, false);
  }

  int64_t a_zero_, b_zero_;
  MultiplierAndShift a_, b_, out_;
  OutputLimits limits_;
};

class Run : public StreamRun {
 public:
  Run(const DecodedStream& stream, const Banks& banks,
      const StreamContext& context, ChipMemory& memory, RunMode mode)
      : stream_(stream),
        lanes_(banks.lanes),
        context_(context),
        memory_(memory),
        computes_(mode != RunMode::kCheckOnly),
        a_(memory.scratchpad(banks.a)),
        b_(memory.scratchpad(banks.b)) {
    if (mode == RunMode::kFast) return;
    a_accesses_ = &memory.TrackScratchpad(banks.a, 1);
    b_accesses_ = &memory.TrackScratchpad(banks.b, 1);
  }

  absl::Status RunUntil(int32_t end_word) override {
    while (next_ < stream_.instructions.size() &&
           stream_.instructions[next_].word < end_word) {
      const Instruction& i = stream_.instructions[next_++];
      const bool transfer = IsTransfer(i.command);
      if (a_accesses_ != nullptr) {
        EK_RETURN_IF_ERROR(transfer ? CheckTransfer(i) : CheckCompute(i));
      }
      if (!computes_) continue;
      if (transfer) {
        EK_RETURN_IF_ERROR(Transfer(i));
      } else {
        Compute(i);
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Error(const Instruction& i, std::string what,
                     absl::string_view address) const {
    return ProgramError(i.word, CommandName(i.command), context_,
                        std::move(what), address);
  }

  // One command after another: nothing can race in a bank.
  absl::Status ReadBank(const Instruction& i, Register bank, int64_t vectors) {
    const bool a = bank == Register::kA;
    AccessMap& map = (a ? a_accesses_ : b_accesses_)->map;
    AccessFault fault;
    if (map.Read(0, i[bank] * lanes_, (i[bank] + vectors) * lanes_,
                 /*record=*/false, &fault)) {
      return absl::OkStatus();
    }
    return Error(
        i, fault.What(""),
        absl::StrCat("bank ", a ? "A" : "B", ", vector ", fault.at / lanes_));
  }

  absl::Status WriteBank(const Instruction& i, Register bank, int64_t vectors) {
    const bool a = bank == Register::kA;
    AccessFault fault;
    if ((a ? a_accesses_ : b_accesses_)
            ->map.Write(0, i[bank] * lanes_, (i[bank] + vectors) * lanes_,
                        &fault)) {
      return absl::OkStatus();
    }
    return Error(i, fault.What(""), "");
  }

  absl::Status CheckTransfer(const Instruction& i) {
    const bool store = i.command == Command::kStore;
    if (store) {
      EK_RETURN_IF_ERROR(ReadBank(i, Register::kB, i.Vectors(lanes_)));
    }
    for (int64_t p = 0; p < i[Register::kPieces]; ++p) {
      const uint64_t address =
          i[Register::kSystemAddress] + p * i[Register::kSystemPitch];
      const int64_t bytes = i[Register::kPieceBytes];
      AccessFault fault;
      const bool good =
          store ? memory_.Write(context_.engine, address, bytes, &fault)
                : memory_.Read(context_.engine, address, bytes, &fault);
      if (good) continue;
      return Error(i, memory_.What(fault), memory_.Name(address + fault.at));
    }
    if (store) return absl::OkStatus();
    return WriteBank(i,
                     i.command == Command::kLoadA ? Register::kA : Register::kB,
                     i.Vectors(lanes_));
  }

  absl::Status CheckCompute(const Instruction& i) {
    const int64_t vectors = i[Register::kVectors];
    if (i.reads_a()) {
      EK_RETURN_IF_ERROR(ReadBank(i, Register::kA, vectors));
      EK_RETURN_IF_ERROR(ReadBank(i, Register::kB, vectors));
    }
    return WriteBank(i, Register::kB, vectors);
  }

  absl::Status Transfer(const Instruction& i) {
    uint8_t* there =
        memory_.Find(i[Register::kSystemAddress], i.SystemExtent());
    if (there == nullptr) {
      return Error(i, "the session maps no memory there", "");
    }
    const int64_t bytes = i[Register::kPieceBytes];
    const int64_t room = i.PieceVectors(lanes_) * lanes_;
    uint8_t* here = i.command == Command::kLoadA
                        ? a_ + i[Register::kA] * lanes_
                        : b_ + i[Register::kB] * lanes_;
    for (int64_t p = 0; p < i[Register::kPieces]; ++p) {
      if (i.command == Command::kStore) {
        std::memcpy(there, here, bytes);
      } else {
        std::memcpy(here, there, bytes);
        std::memset(here + bytes, 0, room - bytes);
      }
      there += i[Register::kSystemPitch];
      here += room;
    }
    return absl::OkStatus();
  }

  void Compute(const Instruction& i) {
    const int64_t bytes = i[Register::kVectors] * lanes_;
    uint8_t* const b = b_ + i[Register::kB] * lanes_;
    const auto min = static_cast<int32_t>(i[Register::kClampMin]);
    if (i.command == Command::kFill) {
      std::fill_n(b, bytes, static_cast<uint8_t>(min));
      return;
    }
    const uint8_t* const a = a_ + i[Register::kA] * lanes_;
    if (i.command == Command::kAdd) {
      const Addition addition(i);
      for (int64_t e = 0; e < bytes; ++e) b[e] = addition.Apply(a[e], b[e]);
      return;
    }
    const auto max = static_cast<int32_t>(i[Register::kClampMax]);
    for (int64_t e = 0; e < bytes; ++e) {
      const int32_t larger = std::max(LoadInt8(&a[e]), LoadInt8(&b[e]));
      b[e] = static_cast<uint8_t>(std::clamp(larger, min, max));
    }
  }

  const DecodedStream& stream_;
  const int64_t lanes_;
  const StreamContext& context_;
  ChipMemory& memory_;
  const bool computes_;
  uint8_t* const a_;
  uint8_t* const b_;
  ScratchpadAccesses* a_accesses_ = nullptr;  // Null: unchecked.
  ScratchpadAccesses* b_accesses_ = nullptr;
  size_t next_ = 0;
};

class Stream : public EngineStream {
 public:
  Stream(const Banks& banks, DecodedStream decoded, StreamContext context)
      : banks_(banks),
        decoded_(std::move(decoded)),
        timing_(TimeStream(decoded_)),
        context_(std::move(context)) {
    for (const SystemRange& range : decoded_.system) {
      if (range.begin < range.end) system_.push_back(range);
    }
  }

  void KeepConstants(absl::Span<const ShownRange> /*shown*/) override {}
  int32_t num_words() const override { return decoded_.num_words; }
  const StreamTiming& timing() const override { return timing_; }
  int64_t scratchpad_extent(int32_t memory) const override {
    return (memory == banks_.a ? decoded_.vectors_a : decoded_.vectors_b) *
           banks_.lanes;
  }
  const std::vector<SystemRange>& system_ranges() const override {
    return system_;
  }
  std::unique_ptr<StreamRun> Start(ChipMemory& memory,
                                   RunMode mode) const override {
    return std::make_unique<Run>(decoded_, banks_, context_, memory, mode);
  }

 private:
  const Banks banks_;
  const DecodedStream decoded_;
  const StreamTiming timing_;
  const StreamContext context_;
  std::vector<SystemRange> system_;
};

class Simulator : public EngineSimulator {
 public:
  absl::StatusOr<std::unique_ptr<EngineStream>> Load(
      absl::string_view code, const v1::Machine& machine,
      StreamContext context) const override {
    EK_ASSIGN_OR_RETURN(DecodedStream decoded,
                        DecodeStream(code, machine, context));
    return std::make_unique<Stream>(
        target::tiny_vector::BanksOf(machine, context.engine),
        std::move(decoded), std::move(context));
  }
};

}  // namespace

std::unique_ptr<EngineSimulator> NewSimulator() {
  return std::make_unique<Simulator>();
}

}  // namespace edgekiln::simfarm::tiny_vector
