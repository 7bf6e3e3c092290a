// Any Program is refused or runs without leaving memory, on a DLA and on chips
// with engines that the host drives. Data are a program or, behind a byte 0xff
// (with which none begins), edits of one that runs.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "google/protobuf/text_format.h"
#include "simfarm/session/loaded_program.h"
#include "simfarm/session/session.h"
#include "simfarm/session/testing/fake_engines.h"
#include "target/resolve.h"

namespace edgekiln::simfarm {
namespace {

constexpr char kConstants[] = "constants";

// Of the fake chip: moves, a job, a poll and a launch.
v1::Program GoodProgram() {
  v1::Program program;
  google::protobuf::TextFormat::ParseFromString(R"(
      version: 3
      inputs { type { element_type: INT8 shape: 4 }
               location { memory: 1 address: 0x80000000 } }
      outputs { type { element_type: INT8 shape: 4 }
                location { memory: 1 address: 0x80000010 } }
      layouts { extents: 4 element_bits: 8 size_bytes: 4
                terms { axis: 0 stride_bytes: 1 } }
      layers { id: "l" }
      steps { move { from { memory: 1 address: 0x80000000 }
                     to { memory: 2 address: 0x100 } } }
      steps { launch { stream: 0 first_command: 1 end_command: 3 } }
      steps { register_writes { engine: 0
        writes { offset: 0 value: 0x100 } writes { offset: 4 value: 0x110 }
        writes { offset: 8 value: 4 } writes { offset: 12 value: 9 }
        writes { offset: 16 value: 1 } } }
      steps { poll { engine: 0 offset: 20 mask: 1 } }
      steps { move { from { memory: 2 address: 0x110 }
                     to { memory: 1 address: 0x80000010 } } }
      steps { wait { engine: 2 } }
      streams { engine: 2 code: "abcd" }
      ranges { last_command: 3 }
      taps { stream: -1 step: 3 tensor: 0 box { begin: 0 end: 4 }
             location { memory: 2 address: 0x110 } })",
                                                &program);
  return program;
}

bool Parse(const uint8_t* data, size_t size, v1::Program* program) {
  if (size == 0 || data[0] != 0xff) {
    return program->ParseFromArray(data, static_cast<int>(size));
  }
  // Of two bytes each: where, and what.
  static const auto* good = new std::string(GoodProgram().SerializeAsString());
  std::string bytes = *good;
  for (size_t i = 1; i + 1 < size; i += 2) {
    bytes[data[i] * bytes.size() / 256] = static_cast<char>(data[i + 1]);
  }
  return program->ParseFromString(bytes);
}

void Run(const v1::Program& program, Session& session) {
  // Longer runs only cost time.
  if (session.report().cycles() > 100'000) return;
  std::vector<std::string> storage;
  for (const v1::Program::Binding& input : program.inputs()) {
    int64_t elements = 1;
    for (const int64_t extent : input.type().shape()) elements *= extent;
    storage.emplace_back(elements * 8, 'x');
  }
  std::vector<absl::string_view> inputs(storage.begin(), storage.end());
  std::vector<std::string> outputs;
  (void)session.RunChecked(inputs, nullptr, &outputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs[i] = inputs[i].substr(0, inputs[i].size() / 8);
  }
  (void)session.RunChecked(inputs, nullptr, &outputs);
  (void)session.Run(inputs, nullptr, &outputs);
  for (const v1::Program::Carry& carry : program.carries()) {
    inputs[static_cast<size_t>(carry.input())] = {};
  }
  (void)session.Run(inputs, nullptr, &outputs);
}

}  // namespace
}  // namespace edgekiln::simfarm

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace edgekiln;  // NOLINT: a program of its own.
  static const auto* machines = new std::vector<v1::Machine>{
      target::ResolveTarget("extends: \"unit\"")->machine(),
      target::ResolveTarget("extends: \"toy-two-array\"")->machine()};
  static const auto& fake = *new std::shared_ptr<const v1::Machine>(
      std::make_shared<const v1::Machine>(simfarm::fake::Machine()));
  v1::Program program;
  if (!simfarm::Parse(data, size, &program)) return 0;
  program.set_version(3);
  simfarm::SessionOptions options;
  options.max_memory_bytes = 1 << 20;
  options.tensor_element_bytes = {1, 2, 4};
  for (const v1::Machine& machine : *machines) {
    const auto session =
        simfarm::LoadSession(program, simfarm::kConstants, machine, options);
    if (session.ok()) simfarm::Run(program, **session);
  }
  const auto loaded = simfarm::LoadProgram(
      program, simfarm::kConstants, fake, options, simfarm::fake::NewSimulator);
  if (loaded.ok()) simfarm::Run(program, *simfarm::NewSession(*loaded));
  return 0;
}
