// Any firmware is refused or runs without leaving memory. Data are a byte that
// says what they edit, of what runs: the program, the machine or the ELF file;
// then edits of two bytes each, where and what.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/text_format.h"
#include "simfarm/host/host_op.h"
#include "simfarm/session/session.h"
#include "simfarm/session/testing/test_firmware.h"
#include "simfarm/simulators/rv32/testing/assembler.h"

namespace edgekiln::simfarm {
namespace {

using namespace rv32::testing;  // NOLINT: encoders, by the manual's names.

constexpr int64_t kMaxInputBytes = 1 << 20;

// One layer, which copies a byte from the input to the output.
std::string GoodElf() {
  constexpr uint32_t kFlash = firmware::kFlash;
  constexpr uint32_t kRun = kFlash + 0x40;
  constexpr uint32_t kLayer = kFlash + 0x80;
  constexpr uint32_t kStackTop = 0x80004000;
  const auto pad = [](Assembler& code, uint32_t address) {
    while (code.here() < address) code.Word(kNop);
  };
  Assembler code(kFlash);
  code.Li(2, kStackTop).Li(5, 0x100000).Li(6, 0x5555).Word(Sw(6, 0, 5));
  pad(code, kRun);
  code.Li(2, kStackTop).JumpTo(1, kLayer);
  code.Li(5, 0x100000).Li(6, 0x5555).Word(Sw(6, 0, 5));
  pad(code, kLayer);
  code.Li(10, static_cast<uint32_t>(firmware::kArena));
  code.Words({Lw(11, 0, 10), Sw(11, 4, 10), kRet});
  return BuildElf(kFlash, code.bytes(),
                  {{"ek_run", kRun, 0x40}, {"layer", kLayer, 0x40}});
}

v1::Program GoodProgram() {
  v1::Program program;
  google::protobuf::TextFormat::ParseFromString(R"(
      version: 3
      inputs { type { element_type: INT8 shape: 4 }
               location { memory: 1 address: 0x80001000 } }
      outputs { type { element_type: INT8 shape: 4 }
                location { memory: 1 address: 0x80001004 } }
      carries { }
      layouts { extents: 4 element_bits: 8 size_bytes: 4
                terms { axis: 0 stride_bytes: 1 } }
      layers { id: "l" } layers { id: "m" }
      taps { stream: -1 step: 0 tensor: 0 box { begin: 0 end: 4 }
             location { memory: 1 address: 0x80001004 } }
      firmware { processor: RV32IM run: "ek_run" stack_bytes: 1024
                 functions: "layer" functions: "" })",
                                                &program);
  return program;
}

void Edit(const uint8_t* data, size_t size, std::string* bytes) {
  for (size_t i = 0; i + 1 < size; i += 2) {
    (*bytes)[data[i] * bytes->size() / 256] = static_cast<char>(data[i + 1]);
  }
}

void Run(const v1::Program& program, Session& session) {
  std::vector<std::string> storage;
  for (const v1::Program::Binding& input : program.inputs()) {
    const auto bytes = TensorBytes(input.type());
    if (!bytes.ok() || *bytes > kMaxInputBytes) return;
    storage.emplace_back(*bytes, 'x');
  }
  std::vector<absl::string_view> inputs(storage.begin(), storage.end());
  const TapVisitor visit = [](const v1::Program::Tap&, absl::string_view) {
    return absl::OkStatus();
  };
  std::vector<std::string> outputs;
  (void)session.RunChecked(inputs, visit, &outputs);
  (void)session.Run(inputs, visit, &outputs);
  for (absl::string_view& input : inputs) input = {};
  (void)session.Run(inputs, visit, &outputs);
  (void)session.VisitStart(inputs, [](int32_t, uint64_t, absl::string_view) {});
  (void)session.MakeTimeline();
}

}  // namespace
}  // namespace edgekiln::simfarm

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace edgekiln;  // NOLINT: a program of its own.
  static const auto* good_elf = new std::string(simfarm::GoodElf());
  static const auto* good_program =
      new std::string(simfarm::GoodProgram().SerializeAsString());
  static const auto* good_machine =
      new std::string(simfarm::firmware::Machine().SerializeAsString());
  if (size == 0) return 0;
  std::string elf = *good_elf;
  std::string program_bytes = *good_program;
  std::string machine_bytes = *good_machine;
  std::string* const edited[] = {&elf, &program_bytes, &machine_bytes};
  simfarm::Edit(data + 1, size - 1, edited[data[0] % 3]);
  v1::Program program;
  v1::Machine machine;
  if (!program.ParseFromString(program_bytes) ||
      !machine.ParseFromString(machine_bytes)) {
    return 0;
  }
  simfarm::SessionOptions options;
  options.max_memory_bytes = 1 << 20;
  options.max_instructions = 10'000;
  options.tensor_element_bytes = {1, 2, 4};
  const auto session = simfarm::LoadSession(program, elf, machine, options);
  if (session.ok()) {
    simfarm::Run(program, **session);
  } else if (size == 1) {
    __builtin_trap();  // Without edits it runs.
  }
  return 0;
}
