#ifndef EK_TESTING_TINY_VECTOR_CONFORMANCE_TINY_CASE_H_
#define EK_TESTING_TINY_VECTOR_CONFORMANCE_TINY_CASE_H_

// One stream on one chip, and the numbers of the page.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace edgekiln::simfarm::conformance::tiny_vector {

// What a descriptor can change.
struct TinyChip {
  int64_t lanes = 16;
  int64_t bank_bytes = 512;  // Of each.
  int64_t register_write_cycles = 1;
  int64_t decode_cycles = 1;
  int64_t pipeline_cycles = 0;
  int64_t link_bytes_per_cycle = 1;
  int64_t link_setup_cycles = 0;
};

inline constexpr uint64_t kRamBase = 0x80000000;

struct TinyCase {
  TinyChip chip;
  std::string flash;  // From address 0.
  std::string ram;    // Initial content, from kRamBase; all defined.
  std::string code;
};

// Section 4 of the page.
enum Opcode : uint8_t {
  kRegWrite = 0x01,
  kEnd = 0x02,
  kLoadA = 0x10,
  kLoadB = 0x11,
  kStore = 0x12,
  kFill = 0x20,
  kMax = 0x21,
  kAdd = 0x22,
};

// Section 3.
enum Index : uint8_t {
  kSystemAddr,
  kSystemPitch,
  kPieces,
  kPieceBytes,
  kA,
  kB,
  kVectors,
  kAZero,
  kBZero,
  kOutZero,
  kAMultiplier,
  kAShift,
  kBMultiplier,
  kBShift,
  kOutMultiplier,
  kOutShift,
  kClampMin,
  kClampMax,
  kRegisters,
};

// Register writes, and the command behind them.
void Write(std::string& code, Opcode opcode,
           const std::vector<std::pair<Index, int64_t>>& registers = {});

}  // namespace edgekiln::simfarm::conformance::tiny_vector

#endif  // EK_TESTING_TINY_VECTOR_CONFORMANCE_TINY_CASE_H_
