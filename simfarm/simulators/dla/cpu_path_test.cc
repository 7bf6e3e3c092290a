// Every CPU path gives the bits of the plain loops, on shapes large enough for
// all tails and blocks of the wide ones. (simfarm/conformance compares small
// programs with a model of its own.)

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "simfarm/conformance/chip_suite.h"
#include "simfarm/conformance/dla/dla_words.h"
#include "simfarm/conformance/dla/stream_writer.h"
#include "simfarm/simulators/dla/micro_kernel.h"
#include "simfarm/simulators/dla/stream.h"
#include "target/resolve.h"
#include "tests/support/skip.h"

namespace edgekiln::simfarm::dla {
namespace {

namespace words = conformance::dla;
using conformance::dla::StreamWriter;

constexpr int64_t kSramBytes = int64_t{1} << 21;

const v1::Machine& TestMachine() {
  static const v1::Machine* machine = [] {
    const auto target = target::ResolveTarget(absl::StrCat(
        "extends: \"dla\" set { name: \"sram_bytes\" value: ", kSramBytes,
        " }"));
    EXPECT_TRUE(target.ok()) << target.status();
    return new v1::Machine(target->machine());
  }();
  return *machine;
}

// One random command; SRAM is loaded with random bytes first.
class RandomCommand {
 public:
  explicit RandomCommand(uint64_t seed) : random_(seed) {
    do {
      values_.clear();
      Choose();
    } while (end_ > kSramBytes);
    Fill();
  }

  // SRAM after the command.
  std::string Run(CpuPath path) const {
    StreamWriter writer;
    writer.Command(words::kDmaRead, 0,
                   {{words::kDmaSystemAddr, 0},
                    {words::kDmaSramAddr, 0},
                    {words::kDmaRowBytes, end_},
                    {words::kDmaRows, 1}});
    for (const auto& [reg, value] : values_) writer.Set(reg, value);
    writer.Command(opcode_, 1);
    writer.End();
    StreamContext context;
    context.scratchpad_bytes = kSramBytes;
    context.system = {{0, static_cast<int64_t>(flash_.size()), false}};
    context.cpu_path = path;
    const auto stream =
        NewSimulator()->Load(writer.code(), TestMachine(), std::move(context));
    EXPECT_TRUE(stream.ok()) << stream.status();
    if (!stream.ok()) return "";
    // Not a byte more than promised: sanitizers see what reaches beyond.
    std::vector<uint8_t> sram((*stream)->scratchpad_extent(0));
    std::vector<uint8_t> flash(flash_.begin(), flash_.end());
    using Kind = ChipMemory::Kind;
    ChipMemory memory;
    memory.Add({"flash", Kind::kReadOnly, 0, flash.data(),
                static_cast<int64_t>(flash.size())});
    memory.Add({"ram", Kind::kReadWrite, words::kRamBase, nullptr, 0});
    memory.Add({"sram", Kind::kScratchpad, 0, sram.data(),
                static_cast<int64_t>(sram.size())});
    const absl::Status status = (*stream)
                                    ->Start(memory, RunMode::kFast)
                                    ->RunUntil((*stream)->num_words());
    EXPECT_TRUE(status.ok()) << status;
    return std::string(sram.begin(), sram.end());
  }

  std::string Describe() const {
    std::string text = absl::StrCat("opcode ", opcode_);
    for (const auto& [reg, value] : values_) {
      absl::StrAppend(&text, ", ", reg, "=", value);
    }
    return text;
  }

 private:
  int64_t Between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  int64_t Pick(std::initializer_list<int64_t> values) {
    return values.begin()[Between(0, static_cast<int64_t>(values.size()) - 1)];
  }
  int64_t Channels() {
    return Pick({1, 3, 8, 16, Between(1, 64), Between(17, 150), 64, 128});
  }
  void Set(words::DlaIndex reg, int64_t value) {
    values_.emplace_back(reg, value);
  }
  // A place for so many bytes.
  int64_t Place(int64_t bytes) {
    const int64_t address = end_;
    end_ = (end_ + bytes + 15) / 16 * 16;
    return address;
  }

  void Choose() {
    opcode_ = static_cast<words::DlaOpcode>(
        Pick({words::kConv, words::kConvRelu, words::kDepthConv,
              words::kDepthConv, words::kMatMul, words::kAdd}));
    end_ = 0;
    if (opcode_ == words::kAdd) return ChooseAdd();
    const bool matrix = opcode_ == words::kMatMul;
    const bool depthwise = opcode_ == words::kDepthConv;
    const int64_t multiplier = depthwise ? Pick({1, 1, 2, 3, 8}) : 1;
    const int64_t in_c = matrix ? Between(1, 900) : Channels();
    const int64_t out_c = depthwise ? in_c * multiplier : Channels();
    const int64_t kernel_h = matrix ? 1 : Pick({1, 3, 3, 5, Between(1, 10)});
    const int64_t kernel_w = matrix ? 1 : Pick({1, 3, 3, 5, Between(1, 7)});
    const int64_t in_h = matrix ? 1 : Between(1, 14);
    const int64_t in_w = Between(1, 20);
    const int64_t out_h = matrix ? 1 : Between(1, 14);
    const int64_t out_w = matrix ? in_w : Between(1, 20);
    const int64_t in_pixel = in_c + Pick({0, 0, 5});
    const bool int32 = !depthwise && Between(0, 4) == 0;
    const int64_t out_pixel = (out_c + Pick({0, 0, 7})) * (int32 ? 4 : 1);
    for (const auto& [reg, value] :
         std::initializer_list<std::pair<words::DlaIndex, int64_t>>{
             {words::kInH, in_h},
             {words::kInW, in_w},
             {words::kInC, in_c},
             {words::kOutH, out_h},
             {words::kOutW, out_w},
             {words::kOutC, out_c},
             {words::kKernelH, kernel_h},
             {words::kKernelW, kernel_w},
             {words::kStrideH, Between(1, 3)},
             {words::kStrideW, Between(1, 3)},
             {words::kDilationH, Pick({1, 1, 2})},
             {words::kDilationW, Pick({1, 1, 2})},
             {words::kPadTop, Between(0, kernel_h)},
             {words::kPadLeft, Between(0, kernel_w)},
             {words::kInPixelPitch, in_pixel},
             {words::kInRowPitch, in_pixel * in_w + Pick({0, 9})},
             {words::kOutPixelPitch, out_pixel},
             {words::kOutRowPitch, out_pixel * out_w + Pick({0, 12})},
             {words::kDepthMultiplier, multiplier},
             {words::kFlags, int32 ? 1 : 0}}) {
      Set(reg, value);
    }
    Set(words::kInAddr, Place((in_pixel * in_w + 9) * in_h));
    table_ = Place(12 * out_c);
    channels_ = out_c;
    Set(words::kTableAddr, table_);
    Set(words::kOutAddr, Place((out_pixel * out_w + 12) * out_h));
    // Last: the end of the weights is the end of what a run may touch.
    Set(words::kWeightAddr, end_);
    end_ += (depthwise ? 1 : in_c) * kernel_h * kernel_w * out_c;
    SetLimits();
  }

  void ChooseAdd() {
    channels_ = 0;
    const int64_t c = Channels();
    const int64_t h = Between(1, 9);
    const int64_t w = Between(1, 20);
    const int64_t pitch = c + Pick({0, 0, 3});
    Set(words::kOutH, h);
    Set(words::kOutW, w);
    Set(words::kOutC, c);
    for (const auto& [address, row, pixel] :
         {std::tuple{words::kInAddr, words::kInRowPitch, words::kInPixelPitch},
          std::tuple{words::kIn2Addr, words::kIn2RowPitch,
                     words::kIn2PixelPitch},
          std::tuple{words::kOutAddr, words::kOutRowPitch,
                     words::kOutPixelPitch}}) {
      Set(address, Place(h * w * pitch));
      Set(row, w * pitch);
      Set(pixel, pitch);
    }
    Set(words::kIn2ZeroPoint, Between(-128, 127));
    Set(words::kLeftShift, Between(0, 24));
    for (const auto reg :
         {words::kInMultiplier, words::kIn2Multiplier, words::kOutMultiplier}) {
      Set(reg, Between(0, INT32_MAX));
    }
    for (const auto reg :
         {words::kInShift, words::kIn2Shift, words::kOutShift}) {
      Set(reg, Pick({Between(-12, 1), Between(-31, 30)}));
    }
    SetLimits();
  }

  void SetLimits() {
    Set(words::kInZeroPoint, Pick({-128, 127, 0, Between(-128, 127)}));
    Set(words::kOutZeroPoint, Between(-128, 127));
    const int64_t low = Between(-128, 127);
    Set(words::kClampMin, Pick({-128, low}));
    Set(words::kClampMax, Pick({127, Between(low, 127)}));
  }

  void Fill() {
    flash_.resize(end_);
    const bool extreme = Between(0, 5) == 0;
    for (char& byte : flash_) {
      byte = static_cast<char>(extreme ? Pick({-128, 127, -128})
                                       : Between(-128, 127));
    }
    for (int64_t c = 0; c < channels_; ++c) {
      const int32_t entry[] = {
          static_cast<int32_t>(Pick({Between(-30000, 30000), INT32_MAX,
                                     Between(INT32_MIN, INT32_MAX)})),
          static_cast<int32_t>(Pick({0, INT32_MAX, Between(1, INT32_MAX),
                                     Between(1 << 30, INT32_MAX)})),
          static_cast<int32_t>(
              Pick({Between(-12, 0), Between(-12, 0), Between(-31, 30)}))};
      std::memcpy(flash_.data() + table_ + 12 * c, entry, sizeof(entry));
    }
  }

  std::mt19937_64 random_;
  words::DlaOpcode opcode_ = words::kConv;
  std::vector<std::pair<words::DlaIndex, int64_t>> values_;
  int64_t end_ = 0;
  int64_t table_ = 0;
  int64_t channels_ = 0;
  std::string flash_;
};

class DlaRandomShapeTest : public testing::TestWithParam<CpuPath> {};

TEST_P(DlaRandomShapeTest, EqualsPlainLoops) {
  if (!HasCpuPath(GetParam())) {
    GTEST_SKIP() << tests::NoInstructionsText(
        conformance::InstructionsOf(GetParam()));
  }
  for (uint64_t seed = 0; seed < 1200; ++seed) {
    const RandomCommand command(seed);
    ASSERT_EQ(command.Run(GetParam()), command.Run(CpuPath::kPortable))
        << "seed " << seed << ": " << command.Describe();
  }
}

INSTANTIATE_TEST_SUITE_P(All, DlaRandomShapeTest,
                         testing::Values(CpuPath::kSse2, CpuPath::kAvx2,
                                         CpuPath::kAvx512Vnni),
                         [](const auto& info) {
                           return conformance::InstructionsOf(info.param);
                         });

}  // namespace
}  // namespace edgekiln::simfarm::dla
