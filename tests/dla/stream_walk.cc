#include "tests/dla/stream_walk.h"

#include <array>
#include <iterator>

#include "simfarm/conformance/dla/dla_words.h"

namespace edgekiln::tests {
namespace {

using namespace simfarm::conformance::dla;  // NOLINT: the page's numbers.

struct Word {
  uint8_t opcode;
  uint8_t index;
  uint32_t immediate;
};

Word WordAt(const std::string& code, int64_t i) {
  const auto byte = [&](int64_t at) {
    return static_cast<uint8_t>(code[i * kWordBytes + at]);
  };
  uint32_t immediate = 0;
  for (int at = 7; at >= 4; --at) immediate = immediate << 8 | byte(at);
  return {byte(0), byte(1), immediate};
}

// One row of flash in SRAM.
struct Load {
  uint32_t flash_address;
  uint32_t sram_address;
  uint32_t bytes;
};

// Follows one stream.
class Walk {
 public:
  Walk(const v1::Program& program, int32_t stream)
      : program_(program), stream_(stream) {}

  void Run(std::vector<ConstantUse>& uses) {
    const std::string& code = program_.streams(stream_).code();
    for (int64_t i = 0; i < static_cast<int64_t>(code.size()) / kWordBytes;
         ++i) {
      const Word word = WordAt(code, i);
      if (word.opcode == kRegWrite && word.index < kRegisters) {
        registers_[word.index] = word.immediate;
      } else if (word.opcode == kDmaRead) {
        OnLoad();
      } else if (word.opcode >= kConv && word.opcode <= kMatMul) {
        OnCompute(word, static_cast<int32_t>(i), uses);
      }
    }
  }

 private:
  void OnLoad() {
    if (registers_[kDmaSystemAddr] >= kRamBase || registers_[kDmaRows] != 1) {
      return;
    }
    loads_.push_back({registers_[kDmaSystemAddr], registers_[kDmaSramAddr],
                      registers_[kDmaRowBytes]});
  }

  void OnCompute(const Word& word, int32_t at, std::vector<ConstantUse>& uses) {
    ConstantUse use;
    use.stream = stream_;
    use.word = at;
    use.depthwise = word.opcode == kDepthConv;
    use.channels = registers_[kOutC];
    use.input_channels = registers_[kInC];
    use.window = word.opcode == kMatMul
                     ? 1
                     : int64_t{registers_[kKernelH]} * registers_[kKernelW];
    const auto weights = OffsetOf(registers_[kWeightAddr], use.weight_bytes());
    const auto table =
        OffsetOf(registers_[kTableAddr], use.channels * kTableEntryBytes);
    if (!weights || !table) return;
    use.weights_at = *weights;
    use.table_at = *table;
    uses.push_back(use);
  }

  // Where SRAM bytes came from, as an offset in the constants. The latest load
  // wins.
  std::optional<int64_t> OffsetOf(uint32_t sram, int64_t bytes) const {
    for (size_t i = loads_.size(); i-- > 0;) {
      const Load& load = loads_[i];
      if (sram < load.sram_address ||
          sram + bytes > int64_t{load.sram_address} + load.bytes) {
        continue;
      }
      return BlobOffset(load.flash_address + (sram - load.sram_address));
    }
    return std::nullopt;
  }

  std::optional<int64_t> BlobOffset(uint32_t address) const {
    for (const v1::Program::Segment& segment : program_.segments()) {
      const int64_t begin = static_cast<int64_t>(segment.location().address());
      if (address < begin || address >= begin + segment.size_bytes()) continue;
      return segment.blob_offset() + address - begin;
    }
    return std::nullopt;
  }

  const v1::Program& program_;
  const int32_t stream_;
  std::array<uint32_t, kRegisters> registers_ = {};
  std::vector<Load> loads_;
};

}  // namespace

std::vector<ConstantUse> ConstantUses(const v1::Program& program) {
  std::vector<ConstantUse> uses;
  for (int32_t i = 0; i < program.streams_size(); ++i) {
    Walk(program, i).Run(uses);
  }
  return uses;
}

bool WritesRowPitch(const std::string& code, int64_t word) {
  const Word written = WordAt(code, word);
  return written.opcode == kRegWrite &&
         (written.index == kInRowPitch || written.index == kIn2RowPitch ||
          written.index == kOutRowPitch);
}

int64_t DmaBytes(const v1::Program& program) {
  int64_t bytes = 0;
  for (const v1::Program::Stream& stream : program.streams()) {
    int64_t rows = 0;
    int64_t row_bytes = 0;
    for (int64_t i = 0; i < std::ssize(stream.code()) / kWordBytes; ++i) {
      const Word word = WordAt(stream.code(), i);
      if (word.opcode == kRegWrite && word.index == kDmaRows) {
        rows = word.immediate;
      } else if (word.opcode == kRegWrite && word.index == kDmaRowBytes) {
        row_bytes = word.immediate;
      } else if (word.opcode == kDmaRead || word.opcode == kDmaWrite) {
        bytes += rows * row_bytes;
      }
    }
  }
  return bytes;
}

std::vector<int32_t> AddressWrites(const std::string& code) {
  std::vector<int32_t> words;
  for (int64_t i = 0; i < static_cast<int64_t>(code.size()) / kWordBytes; ++i) {
    const Word word = WordAt(code, i);
    const bool address = word.index <= kOutAddr ||
                         word.index == kDmaSystemAddr ||
                         word.index == kDmaSramAddr;
    if (word.opcode == kRegWrite && address) {
      words.push_back(static_cast<int32_t>(i));
    }
  }
  return words;
}

std::optional<v1::Program::Tap> TapOf(const v1::Program& program,
                                      int32_t stream, int32_t word) {
  for (const v1::Program::Tap& tap : program.taps()) {
    if (tap.stream() == stream && tap.command() == word) return tap;
  }
  return std::nullopt;
}

}  // namespace edgekiln::tests
