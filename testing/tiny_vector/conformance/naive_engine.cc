#include "testing/tiny_vector/conformance/naive_engine.h"

#include <exception>
#include <stdexcept>
#include <vector>

namespace edgekiln::simfarm::conformance::tiny_vector {
namespace {

// Programs that take longer are not for this model.
constexpr int64_t kMaxCycles = 10'000'000;

struct Word {
  uint8_t opcode = 0;
  uint8_t index = 0;
  int64_t value = 0;  // As the register has it.
};

void Require(bool holds, const char* rule) {
  if (!holds) throw std::invalid_argument(rule);
}

// Section 3: width and sign.
int64_t RegisterValue(uint8_t index, uint32_t immediate) {
  switch (index) {
    case kPieces:
    case kPieceBytes:
      Require(immediate < 65536, "16 bits");
      return immediate;
    case kAMultiplier:
    case kBMultiplier:
    case kOutMultiplier:
      Require(immediate < 2147483648u, "31 bits");
      return immediate;
    case kSystemAddr:
    case kSystemPitch:
    case kA:
    case kB:
    case kVectors:
      return immediate;
    default: {
      Require(index < kRegisters, "register");
      const auto value = static_cast<int32_t>(immediate);
      Require(value >= -128 && value <= 127, "8 bits");
      return value;
    }
  }
}

// Section 2.
Word Decode(const std::string& code, size_t at) {
  uint8_t b[8];
  for (int i = 0; i < 8; ++i) b[i] = static_cast<uint8_t>(code[at + i]);
  Require(b[2] == 0 && b[3] == 0, "reserved bits");
  const uint32_t immediate =
      b[4] | b[5] << 8 | b[6] << 16 | static_cast<uint32_t>(b[7]) << 24;
  Word word{.opcode = b[0], .index = b[1]};
  switch (b[0]) {
    case kRegWrite:
      word.value = RegisterValue(b[1], immediate);
      return word;
    case kEnd:
    case kLoadA:
    case kLoadB:
    case kStore:
    case kFill:
    case kMax:
    case kAdd:
      Require(b[1] == 0 && immediate == 0, "fields that must be 0");
      return word;
    default:
      throw std::invalid_argument("opcode");
  }
}

class NaiveEngine {
 public:
  explicit NaiveEngine(const TinyCase& program)
      : chip_(program.chip),
        flash_(program.flash),
        ram_(program.ram),
        a_(program.chip.bank_bytes),
        b_(program.chip.bank_bytes) {
    Require(!program.code.empty() && program.code.size() % 8 == 0, "words");
    for (size_t at = 0; at < program.code.size(); at += 8) {
      words_.push_back(Decode(program.code, at));
    }
  }

  StreamOutcome Run() {
    for (size_t w = 0;; ++w) {
      Require(w < words_.size(), "no END");
      const Word& word = words_[w];
      const bool write = word.opcode == kRegWrite;
      Wait(write ? chip_.register_write_cycles : chip_.decode_cycles);
      if (write) {
        value_[word.index] = word.value;
        written_[word.index] = true;
        continue;
      }
      if (word.opcode != kEnd) Execute(word);
      Own(static_cast<int32_t>(w), word.opcode);
      if (word.opcode != kEnd) continue;
      Require(w + 1 == words_.size(), "words behind END");
      return Outcome();
    }
  }

 private:
  // Nothing else happens meanwhile.
  void Wait(int64_t cycles) {
    for (; cycles > 0; --cycles) {
      ++waited_;
      if (++out_.cycles > kMaxCycles) throw std::runtime_error("too long");
    }
  }
  void Work(int64_t cycles) {
    for (; cycles > 0; --cycles) {
      ++worked_;
      ++out_.busy_cycles;
      if (++out_.cycles > kMaxCycles) throw std::runtime_error("too long");
    }
  }

  // Since the command before, section 5.
  void Own(int32_t word, uint8_t opcode) {
    const bool computes = opcode == kFill || opcode == kMax || opcode == kAdd;
    OwnedCycles& owned = out_.owned[word];
    owned.compute = computes ? worked_ : 0;
    owned.stall = computes ? waited_ : waited_ + worked_;
    waited_ = worked_ = 0;
  }

  int64_t R(Index index) const {
    Require(written_[index], "a register that nothing wrote");
    return value_[index];
  }

  char& Lane(std::vector<char>& bank, int64_t vector, int64_t lane) {
    const auto vectors = static_cast<int64_t>(bank.size()) / chip_.lanes;
    Require(vector < vectors, "outside the bank");
    return bank[vector * chip_.lanes + lane];
  }

  char& System(int64_t address, bool write) {
    if (address >= static_cast<int64_t>(kRamBase)) {
      address -= kRamBase;
      Require(address < static_cast<int64_t>(ram_.size()), "outside RAM");
      return ram_[address];
    }
    Require(!write && address < static_cast<int64_t>(flash_.size()), "flash");
    return flash_[address];
  }

  void Execute(const Word& word) {
    switch (word.opcode) {
      case kLoadA:
        return Move(a_, R(kA), /*store=*/false);
      case kLoadB:
        return Move(b_, R(kB), /*store=*/false);
      case kStore:
        return Move(b_, R(kB), /*store=*/true);
      default:
        return Compute(word.opcode);
    }
  }

  // Section 4: each piece begins a vector, the rest of which is zeros.
  void Move(std::vector<char>& bank, int64_t vector, bool store) {
    const int64_t pieces = R(kPieces), bytes = R(kPieceBytes);
    const int64_t pitch = R(kSystemPitch);
    Require(pieces > 0 && bytes > 0, "nothing to move");
    Require(!store || pieces == 1 || pitch >= bytes, "pieces overlap");
    // In one memory from the first to the last byte.
    const int64_t first = R(kSystemAddr);
    const int64_t last = first + (pieces - 1) * pitch + bytes - 1;
    System(first, store);
    System(last, store);
    Require((first >= static_cast<int64_t>(kRamBase)) ==
                (last >= static_cast<int64_t>(kRamBase)),
            "two memories");
    for (int64_t p = 0; p < pieces; ++p) {
      int64_t lane = 0;
      for (int64_t i = 0; i < bytes; ++i) {
        char& there = System(first + p * pitch + i, store);
        char& here = Lane(bank, vector, lane);
        (store ? there : here) = store ? here : there;
        ++(store ? out_.bytes_written : out_.bytes_read);
        if (++lane == chip_.lanes) lane = 0, ++vector;
      }
      if (lane == 0) continue;
      for (; !store && lane < chip_.lanes; ++lane) Lane(bank, vector, lane) = 0;
      ++vector;
    }
    const int64_t rate = chip_.link_bytes_per_cycle;
    Work(chip_.link_setup_cycles + (pieces * bytes + rate - 1) / rate);
  }

  void Compute(uint8_t opcode) {
    const int64_t vectors = R(kVectors), first_b = R(kB);
    const int64_t first_a = opcode == kFill ? 0 : R(kA);
    Require(vectors > 0, "nothing to compute");
    const int64_t min = R(kClampMin);
    const int64_t max = opcode == kFill ? min : R(kClampMax);
    Require(min <= max, "limits");
    for (int64_t v = 0; v < vectors; ++v) {
      for (int64_t lane = 0; lane < chip_.lanes; ++lane) {
        char& b = Lane(b_, first_b + v, lane);
        if (opcode == kFill) {
          b = static_cast<char>(min);
          continue;
        }
        const int64_t x = static_cast<int8_t>(Lane(a_, first_a + v, lane));
        const int64_t y = static_cast<int8_t>(b);
        int64_t result = opcode == kAdd ? Sum(x, y) : x > y ? x : y;
        if (result < min) result = min;
        if (result > max) result = max;
        b = static_cast<char>(result);
      }
    }
    Work(chip_.pipeline_cycles + (opcode == kAdd ? 3 : 1) * vectors);
  }

  // Section 4, ADD; before the limits.
  int64_t Sum(int64_t a, int64_t b) {
    const int64_t x =
        Scale((a - R(kAZero)) * 1048576, R(kAMultiplier), R(kAShift));
    const int64_t y =
        Scale((b - R(kBZero)) * 1048576, R(kBMultiplier), R(kBShift));
    return Scale(Low32(x + y), R(kOutMultiplier), R(kOutShift)) + R(kOutZero);
  }

  static int64_t Low32(int64_t value) {
    const int64_t low = value & 0xffffffff;
    return low < 0x80000000 ? low : low - 0x100000000;
  }

  static int64_t Scale(int64_t value, int64_t multiplier, int64_t shift) {
    Require(shift >= -31 && shift <= 30, "shift");
    const int64_t step = int64_t{1} << (31 - shift);
    const int64_t lifted = value * multiplier + step / 2;
    // Rounded down, below zero as well.
    int64_t quotient = lifted / step;
    if (lifted < 0 && lifted % step != 0) --quotient;
    return Low32(quotient);
  }

  StreamOutcome Outcome() {
    out_.ram = ram_;
    out_.scratchpad.assign(a_.begin(), a_.end());
    out_.scratchpad.append(b_.begin(), b_.end());
    return out_;
  }

  const TinyChip chip_;
  std::string flash_;
  std::string ram_;
  std::vector<char> a_, b_;
  std::vector<Word> words_;
  int64_t value_[kRegisters] = {};
  bool written_[kRegisters] = {};
  int64_t waited_ = 0, worked_ = 0;
  StreamOutcome out_;
};

}  // namespace

StreamOutcome RunNaive(const TinyCase& program) {
  try {
    return NaiveEngine(program).Run();
  } catch (const std::exception& refusal) {
    StreamOutcome refused;
    refused.error = refusal.what();
    return refused;
  }
}

}  // namespace edgekiln::simfarm::conformance::tiny_vector
