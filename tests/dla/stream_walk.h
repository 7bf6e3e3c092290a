#ifndef EK_TESTS_DLA_STREAM_WALK_H_
#define EK_TESTS_DLA_STREAM_WALK_H_

// Finds the parts of a compiled program: which word of a stream does what, and
// where in flash the constants of a command lie. Reads the bytes as
// docs/targets/dla.md has them, not with the compiler's help.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "edgekiln/v1/program.pb.h"

namespace edgekiln::tests {

inline constexpr int64_t kWordBytes = 8;
inline constexpr int64_t kTableEntryBytes = 12;  // Bias, multiplier, shift.

// The constants of one computing command.
struct ConstantUse {
  int32_t stream = 0;
  int32_t word = 0;
  bool depthwise = false;
  int64_t channels = 0;        // OUT_C.
  int64_t input_channels = 0;  // IN_C.
  int64_t window = 0;          // KERNEL_H * KERNEL_W.
  int64_t weights_at = 0;      // Offset in the constants.
  int64_t table_at = 0;        // Likewise; one entry per channel.

  int64_t weight_bytes() const {
    return channels * window * (depthwise ? 1 : input_channels);
  }
};

// Every computing command whose weights and table come out of flash.
std::vector<ConstantUse> ConstantUses(const v1::Program& program);

// Whether the word writes the pitch between rows of a tensor.
bool WritesRowPitch(const std::string& code, int64_t word);

// Indices of the words that write an address register.
std::vector<int32_t> AddressWrites(const std::string& code);

// Bytes that the DMA moves, both ways.
int64_t DmaBytes(const v1::Program& program);

// The tap behind a command; empty if it has none.
std::optional<v1::Program::Tap> TapOf(const v1::Program& program,
                                      int32_t stream, int32_t word);

}  // namespace edgekiln::tests

#endif  // EK_TESTS_DLA_STREAM_WALK_H_
