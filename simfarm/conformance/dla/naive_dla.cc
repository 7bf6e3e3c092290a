#include "simfarm/conformance/dla/naive_dla.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <optional>
#include <stdexcept>
#include <utility>

#include "simfarm/conformance/dla/dla_words.h"
#include "simfarm/conformance/dla/naive_command.h"

namespace edgekiln::simfarm::conformance::dla {
namespace {

// Programs that take longer are not for this model.
constexpr int64_t kMaxCycles = 50'000'000;

// Width and sign of every register, section 3.
bool FitsRegister(int64_t index, int64_t value) {
  const auto is = [index](std::initializer_list<int> indices) {
    return std::find(indices.begin(), indices.end(), index) != indices.end();
  };
  if (is({kInZeroPoint, kIn2ZeroPoint, kOutZeroPoint, kWeightZeroPoint,
          kClampMin, kClampMax, kInShift, kIn2Shift, kOutShift})) {
    return value >= -128 && value <= 127;
  }
  if (is({kInMultiplier, kIn2Multiplier, kOutMultiplier})) return true;
  if (is({kLeftShift, kFlags, kPoolKind})) return value >= 0 && value <= 255;
  if (index >= kInH && index <= kPadLeft) return value >= 0 && value <= 65535;
  if (index == kDepthMultiplier) return value >= 0 && value <= 65535;
  return true;
}

bool IsSigned(int64_t index) {
  return (index >= kInZeroPoint && index <= kClampMax) ||
         index == kWeightZeroPoint ||
         (index >= kInMultiplier && index <= kOutShift);
}

bool IsKnown(uint8_t opcode) {
  for (const int known :
       {kRegWrite, kEnd, kConv, kConvRelu, kDepthConv, kMatMul, kRelu,
        kLeakyRelu, kPool, kAbs, kMin, kMax, kAdd, kAdd32, kShift32, kRequant,
        kDmaRead, kDmaWrite}) {
    if (opcode == known) return true;
  }
  return false;
}

// Whether the command rounds: section 2, bit 16.
bool MayRound(uint8_t opcode) {
  for (const int rounding : {kConv, kConvRelu, kDepthConv, kMatMul, kLeakyRelu,
                             kPool, kAdd, kRequant}) {
    if (opcode == rounding) return true;
  }
  return false;
}

// In the mode it is in.
bool Rounds(const NaiveCommand& c) {
  if (c.opcode == kPool) return c.r[kPoolKind] != 1;
  return c.opcode == kLeakyRelu || c.opcode == kAdd || c.opcode == kRequant ||
         c.r[kFlags] != 1;
}

struct Word {
  uint8_t opcode;
  uint8_t index;
  bool half_even;
  uint32_t immediate;
};

struct Unit {
  std::deque<NaiveCommand> queue;
  std::optional<NaiveCommand> current;
  int64_t ends_at = 0;
  int64_t completed = 0;
};

class NaiveDla {
 public:
  explicit NaiveDla(const DlaCase& program) : chip_(program.chip) {
    if (program.code.empty() || program.code.size() % 8 != 0) {
      throw std::invalid_argument("not a stream of words");
    }
    for (size_t at = 0; at < program.code.size(); at += 8) {
      words_.push_back(Decode(program.code, at));
    }
    if (words_.back().opcode != kEnd) throw std::invalid_argument("no OP_END");
    memory_.sram.resize(chip_.sram_bytes);
    memory_.sram_written.resize(chip_.sram_bytes);
    memory_.flash.assign(program.flash.begin(), program.flash.end());
    memory_.ram.assign(program.ram.begin(), program.ram.end());
  }

  StreamOutcome Run() {
    word_done_at_ = Cost(words_[0]);
    for (int64_t now = 0;; ++now) {
      if (now > kMaxCycles) throw std::runtime_error("too many cycles");
      Complete(compute_, now);
      Complete(dma_, now);
      // A start frees a place, which lets the front end go on, which may start
      // the other unit: all at this instant.
      bool moved = true;
      while (moved) {
        const bool front_end = StepFrontEnd(now);
        const bool compute = Start(compute_, dma_, now);
        const bool dma = Start(dma_, compute_, now);
        moved = front_end || compute || dma;
      }
      if (ended_) return Outcome(now);
      Count();
    }
  }

 private:
  static Word Decode(const std::string& code, size_t at) {
    uint8_t b[8];
    for (int i = 0; i < 8; ++i) b[i] = static_cast<uint8_t>(code[at + i]);
    if (!IsKnown(b[0])) throw std::invalid_argument("opcode");
    if (b[2] > 1 || b[3] != 0) throw std::invalid_argument("reserved bits");
    const bool half_even = b[2] == 1;
    if (half_even && !MayRound(b[0])) throw std::invalid_argument("rounding");
    const uint32_t immediate =
        b[4] | b[5] << 8 | b[6] << 16 | static_cast<uint32_t>(b[7]) << 24;
    if (b[0] == kRegWrite) {
      const int64_t value = IsSigned(b[1]) ? static_cast<int32_t>(immediate)
                                           : static_cast<int64_t>(immediate);
      if (b[1] >= kRegisters || !FitsRegister(b[1], value)) {
        throw std::invalid_argument("register write");
      }
    } else if (b[1] != 0 || (b[0] == kEnd && immediate != 0)) {
      throw std::invalid_argument("fields that must be 0");
    }
    return {b[0], b[1], half_even, immediate};
  }

  int64_t Cost(const Word& word) const {
    return word.opcode == kRegWrite ? chip_.register_write_cycles
                                    : chip_.decode_cycles;
  }

  void Complete(Unit& unit, int64_t now) {
    if (!unit.current || unit.ends_at != now) return;
    NaiveExecute(*unit.current, memory_);
    ++unit.completed;
    unit.current.reset();
  }

  // Each returns whether something happened.
  bool StepFrontEnd(int64_t now) {
    if (ended_ || now < word_done_at_) return false;
    const Word& word = words_[at_];
    if (word.opcode == kEnd) {
      if (at_ + 1 != words_.size()) throw std::invalid_argument("early OP_END");
      const bool idle = !compute_.current && !dma_.current &&
                        compute_.queue.empty() && dma_.queue.empty();
      ended_ = idle;
      return idle;
    }
    if (word.opcode == kRegWrite) {
      registers_[word.index] = IsSigned(word.index)
                                   ? static_cast<int32_t>(word.immediate)
                                   : static_cast<int64_t>(word.immediate);
    } else if (!Enqueue(word)) {
      return false;
    }
    ++at_;
    if (at_ == words_.size()) throw std::invalid_argument("no OP_END");
    word_done_at_ = now + Cost(words_[at_]);
    return true;
  }

  bool Enqueue(const Word& word) {
    NaiveCommand command{.word = static_cast<int32_t>(at_),
                         .opcode = word.opcode,
                         .half_even = word.half_even,
                         .wait = word.immediate,
                         .r = registers_};
    if (command.half_even && !Rounds(command)) {
      throw std::invalid_argument("rounds nothing");
    }
    Unit& unit = command.dma() ? dma_ : compute_;
    const Unit& other = command.dma() ? compute_ : dma_;
    const int64_t issued = other.completed + (other.current ? 1 : 0) +
                           static_cast<int64_t>(other.queue.size());
    if (command.wait > issued) throw std::invalid_argument("wait count");
    if (static_cast<int64_t>(unit.queue.size()) >= chip_.queue_depth) {
      return false;
    }
    unit.queue.push_back(command);
    last_command_ = command.word;
    return true;
  }

  bool Start(Unit& unit, const Unit& other, int64_t now) {
    if (unit.current || unit.queue.empty()) return false;
    if (other.completed < unit.queue.front().wait) return false;
    if (chip_.blocking_dma && !EarlierAreDone(unit.queue.front(), other)) {
      return false;
    }
    unit.current = unit.queue.front();
    unit.queue.pop_front();
    const int64_t cycles = NaiveOccupancy(*unit.current, chip_);
    unit.ends_at = now + cycles;
    if (unit.current->dma()) {
      const int64_t bytes =
          unit.current->r[kDmaRows] * unit.current->r[kDmaRowBytes];
      (unit.current->opcode == kDmaRead ? outcome_.bytes_read
                                        : outcome_.bytes_written) += bytes;
    } else if (waited_ > 0) {
      outcome_.owned[unit.current->word].stall += waited_;
      waited_ = 0;
    }
    return true;
  }

  // Whether the other unit has completed every command before this one. Its
  // later ones have not started: they wait for this one.
  static bool EarlierAreDone(const NaiveCommand& command, const Unit& other) {
    return !other.current &&
           (other.queue.empty() || other.queue.front().word > command.word);
  }

  // The cycle that begins now.
  void Count() {
    if (compute_.current) {
      ++outcome_.owned[compute_.current->word].compute;
    } else {
      ++waited_;
    }
    if (compute_.current || dma_.current) ++outcome_.busy_cycles;
  }

  StreamOutcome Outcome(int64_t cycles) {
    outcome_.cycles = cycles;
    if (waited_ > 0) {
      const int32_t end = static_cast<int32_t>(words_.size()) - 1;
      outcome_.owned[last_command_ < 0 ? end : last_command_].stall += waited_;
    }
    outcome_.ram.assign(memory_.ram.begin(), memory_.ram.end());
    for (size_t i = 0; i < memory_.sram.size(); ++i) {
      outcome_.scratchpad.push_back(
          memory_.sram_written[i] ? static_cast<char>(memory_.sram[i]) : '\0');
    }
    return std::move(outcome_);
  }

  const DlaChip chip_;
  std::vector<Word> words_;
  NaiveMemory memory_;
  std::array<int64_t, kRegisters> registers_{};
  Unit compute_;
  Unit dma_;
  size_t at_ = 0;             // Word in the front end.
  int64_t word_done_at_ = 0;  // When it is decoded.
  int32_t last_command_ = -1;
  int64_t waited_ = 0;  // Cycles without owner so far.
  bool ended_ = false;
  StreamOutcome outcome_;
};

}  // namespace

StreamOutcome RunNaiveDla(const DlaCase& program) {
  try {
    return NaiveDla(program).Run();
  } catch (const std::exception& error) {
    StreamOutcome refused;
    refused.error = error.what();
    return refused;
  }
}

}  // namespace edgekiln::simfarm::conformance::dla
