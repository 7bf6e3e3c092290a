// Any command stream is refused or runs without leaving memory. Half of the
// inputs are words as they come; the other half writes registers and commands,
// so that execution is reached.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "simfarm/conformance/dla/dla_words.h"
#include "simfarm/conformance/dla/stream_writer.h"
#include "simfarm/simulators/dla/stream.h"
#include "target/resolve.h"

namespace {

namespace words = edgekiln::simfarm::conformance::dla;
using namespace edgekiln;           // NOLINT: a program of its own.
using namespace edgekiln::simfarm;  // NOLINT

constexpr int64_t kSystemBytes = 4096;
// Longer ones only cost time.
constexpr int64_t kMaxCycles = 100'000;

const v1::Machine& Machine() {
  static const auto* machine = new v1::Machine(
      target::ResolveTarget(
          "extends: \"dla\" set { name: \"sram_bytes\" value: 4096 }")
          ->machine());
  return *machine;
}

// Two bytes per step: register and value, or command.
std::string Assemble(const uint8_t* data, size_t size) {
  static constexpr words::DlaOpcode kOpcodes[] = {
      words::kConv,    words::kConvRelu,  words::kDepthConv, words::kMatMul,
      words::kRelu,    words::kLeakyRelu, words::kPool,      words::kAbs,
      words::kMin,     words::kMax,       words::kAdd,       words::kAdd32,
      words::kShift32, words::kRequant,   words::kDmaRead,   words::kDmaWrite};
  words::StreamWriter writer;
  for (int reg = 0; reg < words::kRegisters; ++reg) {
    writer.Set(static_cast<words::DlaIndex>(reg), reg == words::kFlags ? 0 : 1);
  }
  for (size_t i = 0; i + 1 < size; i += 2) {
    const int which = data[i] % 64;
    if (which < words::kRegisters) {
      const int64_t value =
          data[i] & 0x80 ? int64_t{data[i + 1]} * 16843009 : data[i + 1];
      writer.Set(static_cast<words::DlaIndex>(which), value);
    } else {
      writer.Command(
          kOpcodes[which - words::kRegisters < 16 ? which - words::kRegisters
                                                  : 14],
          data[i + 1] % 4);
    }
  }
  writer.End();
  return writer.code();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string code =
      data[0] % 2 == 0
          ? std::string(reinterpret_cast<const char*>(data) + 1, size - 1)
          : Assemble(data + 1, size - 1);
  StreamContext context;
  context.scratchpad_bytes = 4096;
  context.system = {{0, kSystemBytes, false},
                    {words::kRamBase, kSystemBytes, true}};
  const auto stream = dla::NewSimulator()->Load(code, Machine(), context);
  if (!stream.ok() || (*stream)->timing().cycles > kMaxCycles) return 0;
  std::vector<uint8_t> sram((*stream)->scratchpad_extent(2));
  std::vector<uint8_t> flash(kSystemBytes);
  std::vector<uint8_t> ram(kSystemBytes);
  using Kind = ChipMemory::Kind;
  ChipMemory memory;
  memory.Add({"flash", Kind::kReadOnly, 0, flash.data(), kSystemBytes});
  memory.Add(
      {"ram", Kind::kReadWrite, words::kRamBase, ram.data(), kSystemBytes});
  memory.Add({"sram", Kind::kScratchpad, 0, sram.data(),
              static_cast<int64_t>(sram.size())});
  for (const RunMode mode : {RunMode::kFast, RunMode::kChecked}) {
    if (mode == RunMode::kChecked) memory.Track({"dla"}, true);
    memory.Launch(0);
    (void)(*stream)->Start(memory, mode)->RunUntil(1 << 30);
  }
  return 0;
}
