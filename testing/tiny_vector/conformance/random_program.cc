#include "testing/tiny_vector/conformance/random_program.h"

#include <algorithm>

namespace edgekiln::simfarm::conformance::tiny_vector {
namespace {

std::string RandomBytes(int64_t bytes, Rng& rng) {
  std::string text;
  for (int64_t i = 0; i < bytes; ++i) {
    text.push_back(static_cast<char>(rng.Below(256)));
  }
  return text;
}

class Builder {
 public:
  Builder(const TinyChip& chip, Rng& rng)
      : rng_(rng), vectors_(chip.bank_bytes / chip.lanes) {
    case_.chip = chip;
    case_.flash = RandomBytes(rng.InRange(1, 400), rng);
    case_.ram = RandomBytes(rng.InRange(1, 400), rng);
  }

  TinyCase Build(int commands) {
    for (int i = 0; i < commands; ++i) Add();
    Write(case_.code, kEnd);
    return case_;
  }

 private:
  // Vectors of a bank that were written: the first ones.
  using Written = int64_t;

  void Add() {
    switch (rng_.Below(6)) {
      case 0:
        return Load(kLoadA, kA, a_);
      case 1:
        return Load(kLoadB, kB, b_);
      case 2:
        return Store();
      case 3:
        return Fill();
      default:
        return Combine();
    }
  }

  // Grows the written part of the bank, or writes inside it.
  void Load(Opcode opcode, Index bank, Written& written) {
    const int64_t first = rng_.InRange(0, std::min(written, vectors_ - 1));
    const bool flash = rng_.Below(2) == 0;
    const auto size =
        static_cast<int64_t>((flash ? case_.flash : case_.ram).size());
    const int64_t bytes = std::min({rng_.InRange(1, 3 * case_.chip.lanes), size,
                                    (vectors_ - first) * case_.chip.lanes});
    const int64_t each = (bytes + case_.chip.lanes - 1) / case_.chip.lanes;
    const int64_t pieces =
        rng_.InRange(1, std::min<int64_t>(6, (vectors_ - first) / each));
    const int64_t pitch = pieces == 1
                              ? rng_.InRange(0, 9)
                              : rng_.InRange(0, (size - bytes) / (pieces - 1));
    const int64_t at = rng_.InRange(0, size - bytes - (pieces - 1) * pitch);
    Write(case_.code, opcode,
          {{kSystemAddr, at + (flash ? 0 : static_cast<int64_t>(kRamBase))},
           {kSystemPitch, pitch},
           {kPieces, pieces},
           {kPieceBytes, bytes},
           {bank, first}});
    written = std::max(written, first + pieces * each);
  }

  void Store() {
    if (b_ == 0) return Fill();
    const auto size = static_cast<int64_t>(case_.ram.size());
    const int64_t first = rng_.InRange(0, b_ - 1);
    const int64_t bytes = std::min({rng_.InRange(1, 3 * case_.chip.lanes), size,
                                    (b_ - first) * case_.chip.lanes});
    const int64_t each = (bytes + case_.chip.lanes - 1) / case_.chip.lanes;
    const int64_t pieces =
        std::min({rng_.InRange(1, 6), (b_ - first) / each, size / bytes});
    const int64_t pitch =
        pieces == 1 ? rng_.InRange(0, 9)
                    : rng_.InRange(bytes, (size - bytes) / (pieces - 1));
    const int64_t at = rng_.InRange(0, size - bytes - (pieces - 1) * pitch);
    Write(case_.code, kStore,
          {{kSystemAddr, at + static_cast<int64_t>(kRamBase)},
           {kSystemPitch, pitch},
           {kPieces, pieces},
           {kPieceBytes, bytes},
           {kB, first}});
  }

  void Fill() {
    const int64_t first = rng_.InRange(0, std::min(b_, vectors_ - 1));
    const int64_t vectors = rng_.InRange(1, vectors_ - first);
    Write(case_.code, kFill,
          {{kB, first}, {kVectors, vectors}, {kClampMin, Int8()}});
    b_ = std::max(b_, first + vectors);
  }

  // MAX or ADD.
  void Combine() {
    if (a_ == 0) return Load(kLoadA, kA, a_);
    if (b_ == 0) return Load(kLoadB, kB, b_);
    const int64_t a = rng_.InRange(0, a_ - 1), b = rng_.InRange(0, b_ - 1);
    const int64_t x = Int8(), y = Int8();
    std::vector<std::pair<Index, int64_t>> registers = {
        {kA, a},
        {kB, b},
        {kVectors, rng_.InRange(1, std::min(a_ - a, b_ - b))},
        {kClampMin, std::min(x, y)},
        {kClampMax, std::max(x, y)}};
    if (rng_.Below(2) == 0) return Write(case_.code, kMax, registers);
    const auto extreme = [&](int64_t low, int64_t high) {
      return rng_.Below(8) == 0 ? rng_.Below(2) == 0 ? low : high
                                : rng_.InRange(low, high);
    };
    for (const Index zero : {kAZero, kBZero, kOutZero}) {
      registers.emplace_back(zero, Int8());
    }
    for (const Index multiplier : {kAMultiplier, kBMultiplier}) {
      registers.emplace_back(multiplier, extreme(0, 2147483647));
    }
    registers.emplace_back(kOutMultiplier, extreme(0, 2147483647));
    for (const Index shift : {kAShift, kBShift}) {
      registers.emplace_back(shift, extreme(-31, 30));
    }
    // Mostly such that results are not all at their limits.
    registers.emplace_back(kOutShift, rng_.Below(3) == 0
                                          ? extreme(-31, 30)
                                          : rng_.InRange(-24, -15));
    Write(case_.code, kAdd, registers);
  }

  int64_t Int8() { return rng_.InRange(-128, 127); }

  Rng& rng_;
  const int64_t vectors_;
  TinyCase case_;
  Written a_ = 0;
  Written b_ = 0;
};

}  // namespace

TinyChip RandomChip(Rng& rng) {
  TinyChip chip;
  chip.lanes = int64_t{1} << rng.InRange(0, 5);
  chip.bank_bytes =
      chip.lanes * rng.InRange(1, 30) + rng.InRange(0, chip.lanes - 1);
  chip.register_write_cycles = rng.InRange(1, 3);
  chip.decode_cycles = rng.InRange(1, 5);
  chip.pipeline_cycles = rng.InRange(0, 9);
  chip.link_bytes_per_cycle = rng.InRange(1, 9);
  chip.link_setup_cycles = rng.InRange(0, 20);
  return chip;
}

TinyCase RandomProgram(const TinyChip& chip, int commands, Rng& rng) {
  return Builder(chip, rng).Build(commands);
}

}  // namespace edgekiln::simfarm::conformance::tiny_vector
