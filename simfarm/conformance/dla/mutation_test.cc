// Programs in which every bit matters: each single bit that is flipped in a
// command, an address, a weight, a bias or a multiplier is noticed, as an error
// or as other values or cycles.

#include <cstring>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "simfarm/conformance/dla/dla_models.h"
#include "simfarm/conformance/dla/dla_words.h"
#include "simfarm/conformance/dla/stream_writer.h"

namespace edgekiln::simfarm::conformance::dla {
namespace {

constexpr DlaChip kChip = {.pes = 2, .sram_bytes = 1024};
constexpr int64_t kIn = 0;        // 4x5x3, in flash and SRAM.
constexpr int64_t kWeights = 60;  // 3 kernels 3x2x3.
constexpr int64_t kTable = 116;   // Behind 54 bytes of weights.
constexpr int64_t kTableBytes = 36;
constexpr int64_t kOut = 160;

void AppendInt32(int32_t value, std::string& bytes) {
  char raw[4];
  std::memcpy(raw, &value, 4);
  bytes.append(raw, 4);
}

// Input and weights without zeros, so that every product counts.
std::string Flash() {
  std::string flash;
  for (int i = 0; i < kTable; ++i) {
    flash.push_back(static_cast<char>(i * 37 % 199 - 99));
    if (flash.back() == 0 || flash.back() == 11) flash.back() = 77;
  }
  for (int i = 0; i < 3; ++i) {
    // The first channel has a tie: its rounding matters, too.
    AppendInt32(1000 * i - 438, flash);
    AppendInt32(i == 0 ? 1 << 30 : 1518500249 + 7777777 * i, flash);
    AppendInt32(-8 + i, flash);
  }
  return flash;
}

// Three transfers that are all needed, a convolution with padding on all sides,
// strides, dilation and pitches, and the result in RAM, row by row.
std::string Code(bool int32_output) {
  const int64_t size = int32_output ? 4 : 1;
  StreamWriter w;
  w.Command(kDmaRead, 0,
            {{kDmaSystemAddr, kIn},
             {kDmaSramAddr, kIn},
             {kDmaRowBytes, 15},
             {kDmaRows, 4},
             {kDmaSystemPitch, 15},
             {kDmaSramPitch, 15}});
  w.Command(kDmaRead, 0,
            {{kDmaSystemAddr, kWeights},
             {kDmaSramAddr, kWeights},
             {kDmaRowBytes, 54},
             {kDmaRows, 1}});
  w.Command(kDmaRead, 0,
            {{kDmaSystemAddr, kTable},
             {kDmaSramAddr, kTable},
             {kDmaRowBytes, kTableBytes}});
  if (!int32_output) {
    w.Set(kOutZeroPoint, -3);
    w.Set(kClampMin, -100);
    w.Set(kClampMax, 90);
  }
  w.Command(int32_output ? kConv : kConvRelu, 3,
            {{kInAddr, kIn},
             {kWeightAddr, kWeights},
             {kTableAddr, kTable},
             {kOutAddr, kOut},
             {kInH, 4},
             {kInW, 5},
             {kInC, 3},
             {kOutH, 3},
             {kOutW, 3},
             {kOutC, 3},
             {kKernelH, 3},
             {kKernelW, 2},
             {kStrideH, 2},
             {kStrideW, 2},
             {kDilationH, 2},
             {kDilationW, 3},
             {kPadTop, 2},
             {kPadLeft, 1},
             {kInRowPitch, 15},
             {kInPixelPitch, 3},
             {kOutRowPitch, 12 * size},
             {kOutPixelPitch, 3 * size},
             {kInZeroPoint, 11},
             {kFlags, int32_output ? 1 : 0}});
  w.Command(kDmaWrite, 1,
            {{kDmaSystemAddr, static_cast<int64_t>(kRamBase)},
             {kDmaSramAddr, kOut},
             {kDmaRowBytes, 9 * size},
             {kDmaRows, 3},
             {kDmaSystemPitch, 10 * size},
             {kDmaSramPitch, 12 * size}});
  w.End();
  return w.code();
}

class MutationTest : public testing::Test {
 protected:
  explicit MutationTest(bool int32_output)
      : chip_(NewDlaModels(kChip)),
        program_{.code = Code(int32_output),
                 .flash = Flash(),
                 .ram = std::string(256, '\0')},
        original_(Run(program_)) {
    EXPECT_EQ(original_.error, "");
  }

  StreamOutcome Run(const StreamProgram& program) const {
    return chip_->RunSimulator(program, CpuPath::kBest);
  }

  // Flips bits [first, end) of `bytes`, one at a time.
  void ExpectEveryBitMatters(std::string StreamProgram::*bytes, int64_t first,
                             int64_t end) {
    for (int64_t bit = first; bit < end; ++bit) {
      StreamProgram mutant = program_;
      char& byte = (mutant.*bytes)[bit / 8];
      byte = static_cast<char>(byte ^ 1 << bit % 8);
      const StreamOutcome outcome = Run(mutant);
      EXPECT_TRUE(!outcome.error.empty() ||
                  !FirstDifference(original_, outcome).empty())
          << "byte " << bit / 8 << ", bit " << bit % 8;
    }
  }

  std::unique_ptr<ChipModels> chip_;
  StreamProgram program_;
  StreamOutcome original_;
};

class Int32MutationTest : public MutationTest {
 protected:
  Int32MutationTest() : MutationTest(true) {}
};

class Int8MutationTest : public MutationTest {
 protected:
  Int8MutationTest() : MutationTest(false) {}
};

TEST_F(Int32MutationTest, EveryBitOfACommand) {
  const int64_t end = static_cast<int64_t>(program_.code.size()) * 8;
  // CONV and CONV_RELU differ in a bit, and not at all in what they do here.
  int64_t conv = 0;
  while (program_.code[conv] != static_cast<char>(kConv)) conv += 8;
  conv *= 8;
  ExpectEveryBitMatters(&StreamProgram::code, 0, conv);
  ExpectEveryBitMatters(&StreamProgram::code, conv + 1, end);
}

TEST_F(Int8MutationTest, EveryBitOfACommand) {
  ExpectEveryBitMatters(&StreamProgram::code, 0,
                        static_cast<int64_t>(program_.code.size()) * 8);
}

// Rounding to int8 hides low bits, so these look at accumulators.
TEST_F(Int32MutationTest, EveryBitOfAWeight) {
  ExpectEveryBitMatters(&StreamProgram::flash, kWeights * 8,
                        (kWeights + 54) * 8);
}

TEST_F(Int32MutationTest, EveryBitOfABias) {
  for (int64_t channel = 0; channel < 3; ++channel) {
    const int64_t at = (kTable + 12 * channel) * 8;
    ExpectEveryBitMatters(&StreamProgram::flash, at, at + 32);
  }
}

TEST_F(Int8MutationTest, HighBitsOfAMultiplierAndEveryBitOfAShift) {
  for (int64_t channel = 0; channel < 3; ++channel) {
    const int64_t at = (kTable + 12 * channel + 4) * 8;
    ExpectEveryBitMatters(&StreamProgram::flash, at + 25, at + 64);
  }
}

}  // namespace
}  // namespace edgekiln::simfarm::conformance::dla
