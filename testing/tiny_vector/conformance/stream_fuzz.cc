// Any command stream is refused or runs without leaving memory. Half of the
// inputs are words as they come; the other half writes registers and commands,
// so that execution is reached.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "target/resolve.h"
#include "testing/tiny_vector/conformance/tiny_case.h"
#include "testing/tiny_vector/simulator/stream.h"

namespace {

namespace words = edgekiln::simfarm::conformance::tiny_vector;
using namespace edgekiln;           // NOLINT: a program of its own.
using namespace edgekiln::simfarm;  // NOLINT

constexpr int64_t kSystemBytes = 4096;
// Longer ones only cost time.
constexpr int64_t kMaxCycles = 100'000;

const v1::Machine& Machine() {
  static const auto* machine = new v1::Machine(
      target::ResolveTarget(
          "extends: \"tiny-vector\" set { name: \"bank_bytes\" value: 512 }")
          ->machine());
  return *machine;
}

// Two bytes per step: register and value, or command.
std::string Assemble(const uint8_t* data, size_t size) {
  static constexpr words::Opcode kOpcodes[] = {words::kLoadA, words::kLoadB,
                                               words::kStore, words::kFill,
                                               words::kMax,   words::kAdd};
  std::vector<std::pair<words::Index, int64_t>> registers;
  for (int reg = 0; reg < words::kRegisters; ++reg) {
    registers.emplace_back(static_cast<words::Index>(reg), 1);
  }
  std::string code;
  for (size_t i = 0; i + 1 < size; i += 2) {
    const int which = data[i] % 32;
    if (which < words::kRegisters) {
      const int64_t value =
          data[i] & 0x80 ? int64_t{data[i + 1]} << 24 : data[i + 1];
      registers.emplace_back(static_cast<words::Index>(which), value);
    } else {
      words::Write(code, kOpcodes[data[i + 1] % std::size(kOpcodes)],
                   registers);
      registers.clear();
    }
  }
  words::Write(code, words::kEnd);
  return code;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string code =
      data[0] % 2 == 0
          ? std::string(reinterpret_cast<const char*>(data) + 1, size - 1)
          : Assemble(data + 1, size - 1);
  StreamContext context;
  context.system = {{0, kSystemBytes, false},
                    {words::kRamBase, kSystemBytes, true}};
  const auto stream =
      tiny_vector::NewSimulator()->Load(code, Machine(), context);
  if (!stream.ok() || (*stream)->timing().cycles > kMaxCycles) return 0;
  std::vector<uint8_t> flash(kSystemBytes);
  std::vector<uint8_t> ram(kSystemBytes);
  std::vector<uint8_t> a((*stream)->scratchpad_extent(2));
  std::vector<uint8_t> b((*stream)->scratchpad_extent(3));
  using Kind = ChipMemory::Kind;
  ChipMemory memory;
  memory.Add({"flash", Kind::kReadOnly, 0, flash.data(), kSystemBytes});
  memory.Add(
      {"ram", Kind::kReadWrite, words::kRamBase, ram.data(), kSystemBytes});
  memory.Add({"bank_a", Kind::kScratchpad, 0, a.data(),
              static_cast<int64_t>(a.size())});
  memory.Add({"bank_b", Kind::kScratchpad, 0, b.data(),
              static_cast<int64_t>(b.size())});
  for (const RunMode mode : {RunMode::kFast, RunMode::kChecked}) {
    if (mode == RunMode::kChecked) memory.Track({"vector"}, true);
    memory.Launch(0);
    (void)(*stream)->Start(memory, mode)->RunUntil(1 << 30);
  }
  return 0;
}
