#ifndef EK_SIMFARM_SIMULATORS_DLA_TESTING_STREAM_CASE_H_
#define EK_SIMFARM_SIMULATORS_DLA_TESTING_STREAM_CASE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simfarm/conformance/dla/dla_words.h"
#include "simfarm/conformance/dla/stream_writer.h"
#include "simfarm/simulators/dla/stream.h"
#include "target/resolve.h"

// Command streams for tests, and what the simulator says of them.
namespace edgekiln::simfarm::dla {

namespace words = conformance::dla;
using conformance::dla::StreamWriter;

inline constexpr int64_t kSramBytes = 4096;
inline constexpr int64_t kSystemBytes = 4096;

inline v1::Machine TestMachine() {
  const auto target = target::ResolveTarget(
      "extends: \"dla\" set { name: \"sram_bytes\" value: 4096 }");
  EXPECT_TRUE(target.ok()) << target.status();
  return target->machine();
}

inline constexpr int64_t kRam = static_cast<int64_t>(words::kRamBase);

// In the order of the machine's.
inline void AddMemories(std::vector<uint8_t>& flash, std::vector<uint8_t>& ram,
                        std::vector<uint8_t>& sram, ChipMemory& memory) {
  using Kind = ChipMemory::Kind;
  memory.Add({"flash", Kind::kReadOnly, 0, flash.data(),
              static_cast<int64_t>(flash.size())});
  memory.Add({"ram", Kind::kReadWrite, words::kRamBase, ram.data(),
              static_cast<int64_t>(ram.size())});
  memory.Add({"sram", Kind::kScratchpad, 0, sram.data(),
              static_cast<int64_t>(sram.size())});
}

// The error of loading or, if it loads, of a checked run. Flash holds zeros.
inline std::string ErrorOf(const std::string& code) {
  const v1::Machine machine = TestMachine();
  StreamContext context;
  context.scratchpad_bytes = kSramBytes;
  context.system = {{0, kSystemBytes, false},
                    {words::kRamBase, kSystemBytes, true}};
  context.layer_name = [](int32_t) { return std::string("conv_1"); };
  const auto stream = NewSimulator()->Load(code, machine, std::move(context));
  if (!stream.ok()) return std::string(stream.status().message());
  std::vector<uint8_t> sram(kSramBytes);
  std::vector<uint8_t> flash(kSystemBytes);
  std::vector<uint8_t> ram(kSystemBytes);
  ChipMemory memory;
  AddMemories(flash, ram, sram, memory);
  memory.Track({"dla"}, /*concurrent=*/false);
  memory.Define(0, kSystemBytes);
  memory.Launch(0);
  // Whatever a checked run says, a fast one must end and stay in memory.
  const absl::Status checked =
      (*stream)->Start(memory, RunMode::kChecked)->RunUntil(1 << 30);
  memory.StopTracking();
  (void)(*stream)->Start(memory, RunMode::kFast)->RunUntil(1 << 30);
  return std::string(checked.message());
}

// A stream and a part of what is said of it; nothing: it runs.
struct Case {
  std::string name;
  std::string message;
  std::function<void(StreamWriter&)> write;
};

// Runs the stream of `c`, which must say what it should.
inline void ExpectSaid(const Case& c) {
  StreamWriter writer;
  c.write(writer);
  const std::string error = ErrorOf(writer.code());
  if (c.message.empty()) {
    EXPECT_EQ(error, "");
  } else {
    EXPECT_THAT(error, testing::HasSubstr(c.message));
  }
}

inline void Dma(StreamWriter& w, words::DlaOpcode opcode, int64_t wait,
                int64_t system, int64_t sram, int64_t bytes, int64_t rows = 1) {
  w.Command(opcode, wait,
            {{words::kDmaSystemAddr, system},
             {words::kDmaSramAddr, sram},
             {words::kDmaRowBytes, bytes},
             {words::kDmaRows, rows}});
}

// ReLU of 8 bytes at 0 to 100, with its registers; waits for `wait` transfers.
inline void Relu(StreamWriter& w, int64_t wait, int64_t in = 0,
                 int64_t out = 100) {
  w.Command(words::kRelu, wait,
            {{words::kInAddr, in},
             {words::kOutAddr, out},
             {words::kOutH, 1},
             {words::kOutW, 1},
             {words::kOutC, 8},
             {words::kInRowPitch, 0},
             {words::kInPixelPitch, 0},
             {words::kOutRowPitch, 0},
             {words::kOutPixelPitch, 0},
             {words::kInZeroPoint, 0}});
}

}  // namespace edgekiln::simfarm::dla

#endif  // EK_SIMFARM_SIMULATORS_DLA_TESTING_STREAM_CASE_H_
