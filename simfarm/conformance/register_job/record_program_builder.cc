#include "simfarm/conformance/register_job/record_program_builder.h"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "target/layout.h"

namespace edgekiln::simfarm::conformance::register_job {
namespace {

constexpr int32_t kHostMemory = 0;
constexpr int32_t kLocalMemory = 1;
constexpr int32_t kMover = 0;
constexpr int32_t kHostCode = -1;

}  // namespace

std::string ReversedWords(const std::string& bytes) {
  std::string reversed(bytes.size(), '\0');
  for (size_t i = 0; i < bytes.size(); ++i) reversed[i ^ 3] = bytes[i];
  return reversed;
}

RecordProgramBuilder::RecordProgramBuilder(
    const v1::Machine& machine, const RecordProgramPlaces& places,
    std::initializer_list<const char*> layers, std::string input)
    : places_(places) {
  case_.machine = machine;
  for (auto& memory : *case_.machine.mutable_memories()) {
    memory.set_capacity_bytes(places_.memory_bytes);
  }
  case_.program.set_version(3);
  for (const char* layer : layers) case_.program.add_layers()->set_id(layer);
  Bind(places_.input, static_cast<int64_t>(input.size()),
       *case_.program.add_inputs());
  case_.inputs = {std::move(input)};
}

void RecordProgramBuilder::Load(int64_t bytes, int32_t layer) {
  const End reversed = {kHostMemory, places_.room, 4};
  Move(kHostCode, {kHostMemory, places_.input, 0}, reversed, bytes, layer);
  Move(kMover, reversed, {kLocalMemory, places_.local_in, 4}, bytes, layer);
}

void RecordProgramBuilder::Store(uint64_t from, int64_t bytes, int32_t layer) {
  const End reversed = {kHostMemory, places_.room, 4};
  Move(kMover, {kLocalMemory, from, 4}, reversed, bytes, layer);
  Move(kHostCode, reversed, {kHostMemory, places_.output, 0}, bytes, layer);
  Bind(places_.output, bytes, *case_.program.add_outputs());
}

void RecordProgramBuilder::Write(
    uint64_t record, std::vector<uint32_t> words,
    std::initializer_list<std::pair<uint32_t, uint32_t>> register_writes,
    int32_t layer) {
  auto& step = *case_.program.add_steps()->mutable_register_writes();
  step.set_layer(layer);
  step.set_engine(places_.engine);
  words.resize(places_.record_words, 0);
  step.mutable_record()->mutable_location()->set_memory(kHostMemory);
  step.mutable_record()->mutable_location()->set_address(record);
  for (const uint32_t word : words) step.mutable_record()->add_words(word);
  const auto add = [&step](uint32_t offset, uint32_t value) {
    auto& write = *step.add_writes();
    write.set_offset(offset);
    write.set_value(value);
  };
  for (const auto& [offset, value] : register_writes) add(offset, value);
  add(kStartRegister, 1);
}

void RecordProgramBuilder::Poll(int32_t layer) {
  v1::Program::Poll& poll = *case_.program.add_steps()->mutable_poll();
  poll.set_offset(kStatusRegister);
  poll.set_mask(1);
  poll.set_layer(layer);
  poll.set_engine(places_.engine);
}

ProgramCase RecordProgramBuilder::Finish(std::string constants) {
  case_.constants = std::move(constants);
  if (case_.constants.empty()) return case_;
  v1::Program::Segment& segment = *case_.program.add_segments();
  const Digest digest = DigestOf(case_.constants);
  segment.mutable_digest()->set_hash(digest.hash);
  segment.mutable_digest()->set_size_bytes(digest.size_bytes);
  segment.mutable_location()->set_memory(kHostMemory);
  segment.mutable_location()->set_address(places_.constants);
  segment.set_size_bytes(digest.size_bytes);
  return case_;
}

void RecordProgramBuilder::Move(int32_t link, const End& from, const End& to,
                                int64_t bytes, int32_t layer) {
  v1::Program::Move& move = *case_.program.add_steps()->mutable_move();
  move.mutable_from()->set_memory(from.memory);
  move.mutable_from()->set_address(from.address);
  move.mutable_to()->set_memory(to.memory);
  move.mutable_to()->set_address(to.address);
  move.set_from_layout(Dense(bytes, from.reversed_bytes));
  move.set_to_layout(Dense(bytes, to.reversed_bytes));
  move.set_layer(layer);
  move.set_link(link);
}

int32_t RecordProgramBuilder::Dense(int64_t bytes, int32_t reversed_bytes) {
  v1::Layout& layout = *case_.program.add_layouts();
  layout = target::DenseLayout({bytes}, 1);
  layout.set_reversed_bytes(reversed_bytes);
  return case_.program.layouts_size() - 1;
}

void RecordProgramBuilder::Bind(uint64_t address, int64_t bytes,
                                v1::Program::Binding& binding) {
  binding.mutable_type()->set_element_type(v1::INT8);
  binding.mutable_type()->add_shape(bytes);
  binding.mutable_location()->set_memory(kHostMemory);
  binding.mutable_location()->set_address(address);
  binding.set_layout(Dense(bytes, 0));
}

}  // namespace edgekiln::simfarm::conformance::register_job
