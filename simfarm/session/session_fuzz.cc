// Any Program is refused or runs without leaving memory, on a DLA and on chips
// with engines that the host drives.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simfarm/session/fake_engines.h"
#include "simfarm/session/loaded_program.h"
#include "simfarm/session/session.h"
#include "target/resolve.h"

namespace edgekiln::simfarm {
namespace {

constexpr char kConstants[] = "constants";

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
  static const auto* fake = new v1::Machine(simfarm::fake::Machine());
  v1::Program program;
  if (!program.ParseFromArray(data, static_cast<int>(size))) return 0;
  program.set_version(3);
  simfarm::SessionOptions options;
  options.max_memory_bytes = 1 << 20;
  options.tensor_element_bytes = {1, 2, 4};
  for (const v1::Machine& machine : *machines) {
    const auto session =
        simfarm::LoadSession(program, simfarm::kConstants, machine, options);
    if (session.ok()) simfarm::Run(program, **session);
  }
  const auto loaded =
      simfarm::LoadProgram(program, simfarm::kConstants, *fake, options,
                           simfarm::fake::NewSimulator);
  if (loaded.ok()) simfarm::Run(program, *simfarm::NewSession(*loaded));
  return 0;
}
