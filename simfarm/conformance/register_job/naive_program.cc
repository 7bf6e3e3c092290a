#include "simfarm/conformance/register_job/naive_program.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "simfarm/conformance/register_job/naive_engine.h"
#include "target/expression.h"
#include "target/host_cost.h"
#include "target/move_cost.h"

namespace edgekiln::simfarm::conformance::register_job {
namespace {

using Addresses = std::vector<uint64_t>;

constexpr int32_t kHostIndex = -1;

// Offsets of the bytes of all elements, row-major.
Addresses OffsetsOf(const std::vector<int64_t>& extents,
                    const std::vector<NaiveOperand::Term>& terms, int64_t bytes,
                    int64_t first, int64_t group) {
  Addresses offsets;
  int64_t elements = 1;
  for (const int64_t extent : extents) elements *= extent;
  std::vector<int64_t> index(extents.size());
  for (int64_t element = 0; element < elements; ++element) {
    int64_t rest = element;
    for (size_t axis = extents.size(); axis-- > 0;) {
      index[axis] = rest % extents[axis];
      rest /= extents[axis];
    }
    int64_t at = 0;
    for (const NaiveOperand::Term& term : terms) {
      int64_t digit = index[term.axis] / term.divide;
      if (term.modulo != 0) digit %= term.modulo;
      at += digit * term.stride;
    }
    for (int64_t i = 0; i < bytes; ++i) {
      offsets.push_back(NaivePlace(first + at + i, group));
    }
  }
  return offsets;
}

Addresses OffsetsOf(const v1::Layout& layout) {
  std::vector<NaiveOperand::Term> terms;
  for (const v1::Layout::Term& term : layout.terms()) {
    terms.push_back({.axis = term.axis(),
                     .divide = std::max<int64_t>(term.divide(), 1),
                     .modulo = term.modulo(),
                     .stride = term.stride_bytes()});
  }
  return OffsetsOf({layout.extents().begin(), layout.extents().end()}, terms,
                   layout.element_bits() / 8, layout.first_byte(),
                   layout.reversed_bytes());
}

bool Has(const std::vector<bool>& bytes, uint64_t at) {
  return at < bytes.size() && bytes[at];
}

// All bytes of one memory, from its base.
struct Memory {
  std::string bytes;
  std::vector<bool> defined;
};

struct Engine {
  std::unique_ptr<NaiveEngine> registers;
  // Of a job whose end no poll has seen.
  bool unseen = false;
  int32_t layer = 0;
  std::vector<std::vector<bool>> reads;  // By memory and byte of it.
  std::vector<std::vector<bool>> writes;
};

class Inference {
 public:
  Inference(const ProgramCase& c, bool computes, std::vector<StepTrace>* trace)
      : case_(c),
        program_(c.program),
        machine_(c.machine),
        computes_(computes),
        trace_(trace) {}

  ProgramOutcome Run() {
    Begin();
    for (int i = 0; i < program_.steps_size() && Fine(); ++i) Step(i);
    for (const Engine& engine : engines_) {
      if (engine.unseen) Fail("a job that nobody awaited");
    }
    trace_ = nullptr;
    for (const auto& binding : program_.outputs()) {
      if (Fine()) {
        outcome_.outputs.push_back(
            Show(binding.location(), program_.layouts(binding.layout())));
      }
    }
    if (Fine()) return std::move(outcome_);
    ProgramOutcome failed;
    failed.error = error_;
    failed.too_long = error_.empty();
    return failed;
  }

 private:
  bool Fine() const { return error_.empty() && !outcome_.too_long; }
  void Fail(std::string what) {
    if (error_.empty()) error_ = std::move(what);
  }

  void Begin() {
    EXPECT_EQ(machine_.host_clock_hz(), machine_.clock_hz());
    for (const v1::ResolvedMemory& memory : machine_.memories()) {
      const auto size = static_cast<size_t>(memory.capacity_bytes());
      memories_.push_back({std::string(size, '\0'), std::vector<bool>(size)});
    }
    for (int32_t e = 0; e < machine_.engines_size(); ++e) {
      EXPECT_EQ(machine_.engines(e).clock_hz(), machine_.clock_hz());
      Engine& engine = engines_.emplace_back();
      NaiveMemories all;
      for (Memory& memory : memories_) {
        all.push_back(&memory.bytes);
        engine.reads.emplace_back(memory.bytes.size());
      }
      engine.registers = NewNaiveEngine(machine_, e, computes_, std::move(all));
      engine.writes = engine.reads;
    }
    outcome_.layer_cycles.resize(program_.layers_size());
    outcome_.busy_cycles.resize(engines_.size() + 1);
    outcome_.taps.resize(program_.taps_size());
    for (const v1::Program::Segment& segment : program_.segments()) {
      for (int64_t i = 0; i < segment.size_bytes(); ++i) {
        Define(segment.location().memory(), segment.location().address() + i,
               case_.constants.at(segment.blob_offset() + i));
      }
    }
    for (int i = 0; i < program_.inputs_size(); ++i) {
      const v1::Program::Binding& input = program_.inputs(i);
      const Addresses offsets = OffsetsOf(program_.layouts(input.layout()));
      for (size_t b = 0; b < offsets.size(); ++b) {
        Define(input.location().memory(),
               input.location().address() + offsets[b], case_.inputs[i].at(b));
      }
    }
  }

  void Define(int32_t memory, uint64_t address, char value) {
    const uint64_t at = address - machine_.memories(memory).base_address();
    memories_[memory].bytes.at(at) = value;
    memories_[memory].defined.at(at) = true;
  }

  // One cycle belongs to the first engine at work, else to the host's step.
  void Tick(int64_t cycles, int32_t layer) {
    for (int64_t i = 0; i < cycles; ++i) {
      int32_t owner = layer;
      for (size_t e = engines_.size(); e-- > 0;) {
        NaiveEngine& engine = *engines_[e].registers;
        if (engine.left() == 0) continue;
        owner = engines_[e].layer;
        engine.Tick();
        ++outcome_.busy_cycles[e];
      }
      ++outcome_.layer_cycles[owner];
      ++outcome_.cycles;
      ++outcome_.busy_cycles.back();
    }
  }

  void Step(int index) {
    const v1::Program::Step& step = program_.steps(index);
    if (trace_ != nullptr) trace_->emplace_back();
    if (step.has_move()) {
      Move(step.move());
    } else if (step.has_register_writes()) {
      Write(step.register_writes());
    } else if (step.has_poll()) {
      Poll(step.poll());
    } else {
      Fail("a step of another kind");
    }
    for (int i = 0; i < program_.taps_size() && Fine(); ++i) {
      const v1::Program::Tap& tap = program_.taps(i);
      if (tap.step() != index) continue;
      outcome_.taps[i] = Show(tap.location(), program_.layouts(tap.layout()));
    }
    if (trace_ == nullptr) return;
    for (Addresses* bytes : {&trace_->back().reads, &trace_->back().writes}) {
      std::sort(bytes->begin(), bytes->end());
    }
  }

  // Reads or writes of the host, or of engine `who`, by bytes of a memory.
  void Touch(int32_t who, int32_t memory, const Addresses& bytes, bool writes) {
    if (writes && who == kHostIndex) {
      bool writable = false;
      for (const int content : machine_.memories(memory).holds()) {
        writable |= content == v1::MemoryDescriptor::ACTIVATIONS;
      }
      if (!writable) return Fail("writes what is read-only");
    }
    for (const uint64_t at : bytes) {
      if (!writes && !Has(memories_[memory].defined, at)) {
        return Fail("reads a byte that nothing wrote");
      }
      for (const Engine& engine : engines_) {
        if (!engine.unseen) continue;
        if (Has(engine.writes[memory], at) ||
            (writes && Has(engine.reads[memory], at))) {
          return Fail("race");
        }
      }
    }
    for (const uint64_t at : bytes) {
      if (writes) memories_[memory].defined[at] = true;
      if (trace_ == nullptr) continue;
      const uint64_t address = static_cast<uint64_t>(memory) << 40 | at;
      (writes ? trace_->back().writes : trace_->back().reads)
          .push_back(address);
    }
  }

  // Bytes of a memory; none if it does not have the room.
  Addresses Locate(const v1::Location& location, const v1::Layout& layout) {
    if (location.memory() < 0 || location.memory() >= std::ssize(memories_)) {
      Fail("no such memory");
      return {};
    }
    const v1::ResolvedMemory& memory = machine_.memories(location.memory());
    const auto size = static_cast<uint64_t>(memory.capacity_bytes());
    const uint64_t begin = location.address() - memory.base_address();
    if (location.address() < memory.base_address() || begin > size ||
        static_cast<uint64_t>(layout.size_bytes()) > size - begin) {
      Fail("outside of the memory");
      return {};
    }
    Addresses bytes = OffsetsOf(layout);
    for (uint64_t& each : bytes) each += begin;
    return bytes;
  }

  std::string Show(const v1::Location& location, const v1::Layout& layout) {
    const Addresses bytes = Locate(location, layout);
    if (!Fine()) return "";
    Touch(kHostIndex, location.memory(), bytes, /*writes=*/false);
    std::string values;
    for (const uint64_t at : bytes) {
      values.push_back(memories_[location.memory()].bytes[at]);
    }
    return values;
  }

  const v1::Layout* FindLayout(int32_t index) {
    if (index >= 0 && index < program_.layouts_size()) {
      return &program_.layouts(index);
    }
    Fail("no such layout");
    return nullptr;
  }

  // False: no link of the host's goes there.
  bool IsJoined(const v1::Program::Move& move) const {
    if (move.link() == -1) {
      return machine_.memories(move.from().memory()).host_reaches() &&
             machine_.memories(move.to().memory()).host_reaches();
    }
    if (move.link() < 0 || move.link() >= machine_.links_size()) return false;
    const v1::ResolvedLink& link = machine_.links(move.link());
    return link.owner() == -1 &&
           std::count(link.from().begin(), link.from().end(),
                      move.from().memory()) > 0 &&
           std::count(link.to().begin(), link.to().end(), move.to().memory()) >
               0;
  }

  void Move(const v1::Program::Move& move) {
    const v1::Layout* const from = FindLayout(move.from_layout());
    const v1::Layout* const to = FindLayout(move.to_layout());
    if (!Fine()) return;
    const std::vector<int64_t> extents(from->extents().begin(),
                                       from->extents().end());
    if (!std::equal(extents.begin(), extents.end(), to->extents().begin(),
                    to->extents().end()) ||
        from->element_bits() != to->element_bits()) {
      return Fail("layouts of two arrays");
    }
    const Addresses source = Locate(move.from(), *from);
    const Addresses target = Locate(move.to(), *to);
    if (!Fine()) return;
    if (!IsJoined(move)) return Fail("not joined");
    if (move.link() >= 0 && machine_.links(move.link()).has_window()) {
      const int32_t window = machine_.links(move.link()).window();
      if (engines_.at(window).unseen) {
        return Fail("a move in the window of an engine at work");
      }
      if (trace_ != nullptr) trace_->back().engine = window;
    }
    Addresses read = source;
    std::sort(read.begin(), read.end());
    for (const uint64_t at : target) {
      if (move.from().memory() == move.to().memory() &&
          std::binary_search(read.begin(), read.end(), at)) {
        return Fail("writes what it reads");
      }
    }
    Touch(kHostIndex, move.from().memory(), source, /*writes=*/false);
    if (Fine()) {
      Touch(kHostIndex, move.to().memory(), target, /*writes=*/true);
    }
    if (!Fine()) return;
    if (move.link() >= 0 && machine_.links(move.link()).has_window() &&
        machine_.engines(machine_.links(move.link()).window())
            .jobs()
            .has_transfers()) {
      Transfer(move, source, target);
      if (!Fine()) return;
    } else {
      for (size_t i = 0; i < source.size(); ++i) {
        memories_[move.to().memory()].bytes[target[i]] =
            memories_[move.from().memory()].bytes[source[i]];
      }
    }
    const auto cycles =
        move.link() < 0
            ? target::HostCosts::Create(machine_)->CopyCycles(
                  static_cast<int64_t>(source.size()))
            : target::MoveCycles(machine_.links(move.link()), *from, *to);
    EXPECT_TRUE(cycles.ok()) << cycles.status();
    Tick(cycles.value_or(0), move.layer());
    if (move.link() < 0) return;
    const auto bytes = static_cast<int64_t>(source.size());
    if (machine_.memories(move.from().memory()).host_reaches()) {
      outcome_.bytes_read += bytes;
    }
    if (machine_.memories(move.to().memory()).host_reaches()) {
      outcome_.bytes_written += bytes;
    }
  }

  // By the registers of the window: as many bytes at once as follow each other
  // in both places. docs/design/0022 defines which transfers a move has.
  void Transfer(const v1::Program::Move& move, const Addresses& source,
                const Addresses& target) {
    const int32_t window = machine_.links(move.link()).window();
    const v1::RegisterJobs& jobs = machine_.engines(window).jobs();
    const auto flip = static_cast<uint64_t>(
        std::max(jobs.transfers().reversed_bytes(), 1) - 1);
    const auto address = [&](const v1::Location& location, uint64_t at) {
      return (machine_.memories(location.memory()).base_address() + at) ^ flip;
    };
    std::vector<std::pair<uint64_t, uint64_t>> bytes;
    for (size_t i = 0; i < source.size(); ++i) {
      bytes.emplace_back(address(move.from(), source[i]),
                         address(move.to(), target[i]));
    }
    std::sort(bytes.begin(), bytes.end());
    for (size_t begin = 0, end = 0; begin < bytes.size() && Fine();
         begin = end) {
      end = begin + 1;
      while (end < bytes.size() &&
             bytes[end].first == bytes[end - 1].first + 1 &&
             bytes[end].second == bytes[end - 1].second + 1) {
        ++end;
      }
      const std::vector<std::string> names = {"from_memory", "to_memory",
                                              "from_addr", "to_addr", "bytes"};
      const std::vector<int64_t> values = {
          move.from().memory(), move.to().memory(),
          static_cast<int64_t>(bytes[begin].first),
          static_cast<int64_t>(bytes[begin].second),
          static_cast<int64_t>(end - begin)};
      Start(window, names, values);
    }
  }

  void Start(int32_t window, const std::vector<std::string>& names,
             const std::vector<int64_t>& values) {
    const v1::RegisterJobs& jobs = machine_.engines(window).jobs();
    NaiveEngine& registers = *engines_.at(window).registers;
    std::vector<target::Constant> constants;
    for (const v1::Setting& setting : machine_.parameters()) {
      constants.push_back({setting.name(), setting.value()});
    }
    for (const auto& write : jobs.transfers().writes()) {
      const auto told =
          target::Expression::Compile(write.value_expr(), constants, names);
      ASSERT_TRUE(told.ok()) << told.status();
      const auto value = told->Evaluate(values);
      ASSERT_TRUE(value.ok()) << value.status();
      for (const auto& reg : jobs.registers()) {
        if (reg.name() == write.register_name() &&
            !registers.Write(reg.offset(), static_cast<uint32_t>(*value))) {
          return Fail(registers.error());
        }
      }
    }
    if (!registers.Write(jobs.start_offset(), jobs.start_value())) {
      return Fail(registers.error());
    }
    if (registers.left() != 0) Fail("a transfer starts a job");
  }

  void Write(const v1::Program::RegisterWrites& writes) {
    Engine& engine = engines_.at(writes.engine());
    const v1::Machine::Engine& description = machine_.engines(writes.engine());
    if (trace_ != nullptr) trace_->back().engine = writes.engine();
    bool started = false;
    if (writes.has_record()) Store(writes, engine);
    if (!Fine()) return;
    for (const auto& write : writes.writes()) {
      // The engine keeps no time of its own: for the program's order, a job has
      // ended when a poll has seen that.
      if (engine.unseen) return Fail("a write to a busy engine");
      if (write.offset() == description.jobs().start_offset()) {
        Tick(description.job_cycles(), writes.layer());
        started = true;
      }
      Tick(description.register_write_cycles(), writes.layer());
      if (!engine.registers->Write(write.offset(), write.value())) {
        return Fail(engine.registers->error());
      }
      if (engine.registers->left() == 0) {
        if (write.offset() == description.jobs().start_offset()) {
          return Fail("register writes start a transfer");
        }
        continue;
      }
      engine.layer = writes.layer();
      if (engine.registers->left() > kMaxJobCycles) {
        outcome_.too_long = true;
        return;
      }
      Begin(writes.engine(), engine);
      if (!Fine()) return;
    }
    if (writes.has_record() && !started) Fail("a record without a job");
  }

  void Store(const v1::Program::RegisterWrites& writes, Engine& engine) {
    if (engine.unseen) return Fail("a record for a busy engine");
    const v1::Program::RegisterWrites::Record& record = writes.record();
    const v1::Location& location = record.location();
    if (!engine.registers->Store(
            location.memory(), location.address(),
            {record.words().begin(), record.words().end()})) {
      return Fail(engine.registers->error());
    }
    const uint64_t begin = location.address() -
                           machine_.memories(location.memory()).base_address();
    Addresses bytes;
    for (int i = 0; i < 4 * record.words_size(); ++i) {
      bytes.push_back(begin + static_cast<uint64_t>(i));
    }
    Touch(kHostIndex, location.memory(), bytes, /*writes=*/true);
    Tick(record.words_size() *
             machine_.engines(writes.engine()).record_word_cycles(),
         writes.layer());
  }

  void Begin(int32_t index, Engine& engine) {
    for (const bool writes : {false, true}) {
      auto& touched = writes ? engine.writes : engine.reads;
      for (auto& each : touched) std::fill(each.begin(), each.end(), false);
      for (const auto& [name, operand] : engine.registers->job().operands) {
        if ((name == "out") != writes) continue;
        Addresses bytes = OffsetsOf(operand.extents, operand.terms,
                                    operand.bytes, /*first=*/0, /*group=*/0);
        for (uint64_t& each : bytes) {
          each = static_cast<uint64_t>(NaivePlace(
              operand.address + static_cast<int64_t>(each), operand.group));
        }
        Touch(index, operand.memory, bytes, writes);
        if (!Fine()) return;
        for (const uint64_t at : bytes) touched[operand.memory][at] = true;
      }
    }
    engine.unseen = true;
  }

  void Poll(const v1::Program::Poll& poll) {
    Engine& engine = engines_.at(poll.engine());
    const v1::Machine::Engine& description = machine_.engines(poll.engine());
    if (trace_ != nullptr) {
      trace_->back().engine = poll.engine();
      trace_->back().polls = true;
    }
    if (poll.offset() != description.jobs().status_offset()) {
      return Fail("reads no status");
    }
    const uint32_t done = description.jobs().status_done();
    const uint32_t busy = ~done & description.jobs().status_mask();
    const auto holds = [&](uint32_t status) {
      return (status & poll.mask()) == poll.value();
    };
    if (engine.unseen && holds(busy)) return Fail("does not wait");
    if (!holds(done)) return Fail("never ends");
    do {
      Tick(description.poll_cycles(), poll.layer());
    } while (!holds(engine.registers->ReadStatus()));
    engine.unseen = false;
  }

  const ProgramCase& case_;
  const v1::Program& program_;
  const v1::Machine& machine_;
  const bool computes_;
  std::vector<StepTrace>* trace_;
  std::vector<Memory> memories_;
  std::vector<Engine> engines_;
  ProgramOutcome outcome_;
  std::string error_;
};

}  // namespace

ProgramOutcome RunNaiveProgram(const ProgramCase& program,
                               std::vector<StepTrace>* trace) {
  ProgramOutcome outcome = Inference(program, false, nullptr).Run();
  if (!outcome.error.empty() || outcome.too_long) return outcome;
  return Inference(program, true, trace).Run();
}

}  // namespace edgekiln::simfarm::conformance::register_job
