#include "simfarm/conformance/register_job/naive_engine.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "simfarm/conformance/register_job/naive_job.h"
#include "simfarm/conformance/register_job/naive_places.h"
#include "simfarm/conformance/register_job/naive_variables.h"
#include "target/expression.h"

namespace edgekiln::simfarm::conformance::register_job {
namespace {

using Jobs = v1::RegisterJobs;

constexpr int64_t kMaxSize = int64_t{1} << 40;
constexpr int64_t kMaxOccupancy = 1'000'000'000'000;

class Engine final : public NaiveEngine {
 public:
  Engine(const v1::Machine& machine, int32_t engine, bool computes,
         NaiveMemories memories)
      : machine_(machine),
        jobs_(machine.engines(engine).jobs()),
        memories_(std::move(memories)),
        own_memory_(OwnMemory(machine, engine)),
        computes_(computes) {
    for (const v1::Setting& setting : machine.parameters()) {
      constants_.push_back({setting.name(), setting.value()});
    }
    for (const Jobs::Register& reg : jobs_.registers()) held_[reg.name()] = 0;
  }

  bool Write(uint32_t offset, uint32_t value) override {
    if (left_ > 0) return Fail("busy");
    if (offset == jobs_.start_offset()) {
      return value == jobs_.start_value() ? Start() : Fail("start value");
    }
    for (const Jobs::Register& reg : jobs_.registers()) {
      if (reg.in_record() || reg.offset() != offset) continue;
      if (value >= int64_t{1} << reg.bits()) return Fail("bits");
      Hold(reg, value);
      return true;
    }
    return Fail("no register");
  }

  // Section 2: a record.
  bool Store(int32_t memory, uint64_t address,
             const std::vector<uint32_t>& words) override {
    if (left_ > 0) return Fail("busy");
    if (!jobs_.has_record()) return Fail("no record");
    if (4 * std::ssize(words) != jobs_.record().bytes()) return Fail("words");
    if (memory < 0 || memory >= machine_.memories_size() ||
        machine_.memories(memory).name() != jobs_.record().memory()) {
      return Fail("a record in another memory");
    }
    const uint64_t base = machine_.memories(memory).base_address();
    std::string& bytes = *memories_.at(memory);
    const auto size = static_cast<uint64_t>(bytes.size());
    if (address % 4 != 0 || address < base || address - base > size ||
        4 * words.size() > size - (address - base)) {
      return Fail("no place of a record");
    }
    uint64_t at = address - base;
    for (const uint32_t word : words) {
      for (int i = 0; i < 4; ++i) {
        bytes[at++] = static_cast<char>(word >> (8 * i));
      }
    }
    stored_ = address;
    return true;
  }

  uint32_t ReadStatus() const override {
    const uint32_t done = jobs_.status_done();
    return (left_ > 0 ? ~done : done) & jobs_.status_mask();
  }
  int64_t left() const override { return left_; }
  void Tick() override { --left_; }
  void Skip() override { left_ = 0; }
  const NaiveJob& job() const override { return job_; }
  const std::string& error() const override { return error_; }

 private:
  bool Fail(std::string what) {
    error_ = std::move(what);
    return false;
  }

  void Hold(const Jobs::Register& reg, int64_t number) {
    const int64_t span = int64_t{1} << reg.bits();
    if (reg.is_signed() && number >= span / 2) number -= span;
    held_[reg.name()] = number;
  }

  // Word by word, bit by bit.
  bool ReadRecord() {
    if (!stored_) return Fail("no record is stored");
    NaiveValues v;
    if (!DecodeVariables(v)) return Fail("a field");
    if (v["record_addr"] != static_cast<int64_t>(*stored_)) {
      return Fail("a record at another address");
    }
    stored_.reset();
    int32_t memory = 0;
    while (machine_.memories(memory).name() != jobs_.record().memory()) {
      ++memory;
    }
    const int64_t begin =
        v["record_addr"] -
        static_cast<int64_t>(machine_.memories(memory).base_address());
    const auto bit_at = [&](int64_t offset, int64_t bit) {
      const char byte = memories_.at(memory)->at(begin + offset + bit / 8);
      return (static_cast<uint8_t>(byte) >> (bit % 8)) & 1;
    };
    for (int64_t offset = 0; offset < jobs_.record().bytes(); offset += 4) {
      for (int64_t bit = 0; bit < 32; ++bit) {
        bool taken = false;
        for (const Jobs::Register& reg : jobs_.registers()) {
          taken |= reg.in_record() && reg.offset() == offset &&
                   bit >= reg.low_bit() && bit < reg.low_bit() + reg.bits();
        }
        if (!taken && bit_at(offset, bit) != 0) return Fail("a spare bit");
      }
    }
    for (const Jobs::Register& reg : jobs_.registers()) {
      if (!reg.in_record()) continue;
      int64_t number = 0;
      for (int64_t bit = 0; bit < reg.bits(); ++bit) {
        number += int64_t{bit_at(reg.offset(), reg.low_bit() + bit)} << bit;
      }
      Hold(reg, number);
    }
    return true;
  }

  std::optional<int64_t> Evaluate(const std::string& text,
                                  const NaiveValues& values) {
    std::vector<std::string> names;
    std::vector<int64_t> numbers;
    for (const auto& [name, value] : values) {
      names.push_back(name);
      numbers.push_back(value);
    }
    const auto compiled = target::Expression::Compile(text, constants_, names);
    if (!compiled.ok()) return std::nullopt;
    const auto value = compiled->Evaluate(numbers);
    return value.ok() ? std::optional<int64_t>(*value) : std::nullopt;
  }

  bool Start() {
    job_ = {};
    NaiveJob& job = job_;
    if (jobs_.has_transfers()) {
      NaiveValues told;
      for (const Jobs::Field& field : jobs_.transfers().fields()) {
        const auto value = Evaluate(field.value_expr(), held_);
        if (!value) return Fail("a field of transfers");
        told[field.variable()] = *value;
      }
      if (told["transfer"] != 0) return Transfer(told);
    }
    if (jobs_.has_record() && !ReadRecord()) return false;
    if (!DecodeVariables(job.v)) return Fail("a field");
    const Jobs::Job* described = nullptr;
    for (const Jobs::Job& each : jobs_.jobs()) {
      if (each.code() == job.v["kernel"]) described = &each;
    }
    if (described == nullptr) return Fail("kernel");
    job.kernel = described->kernel();
    job.results = described->results();
    job.weights = described->weight_values();
    if (!CheckVariables(job)) return false;
    for (const auto& condition : described->where()) {
      if (Evaluate(condition.expr(), job.v).value_or(0) == 0) {
        return Fail(condition.need());
      }
    }
    for (const Jobs::Operand& operand : described->operands()) {
      if (!PlaceOperand(operand, job)) return false;
    }
    if (!CheckPlaces(job) || !CheckStages(*described, job)) return false;
    const auto cycles = Evaluate(described->occupancy_cycles_expr(), job.v);
    if (!cycles || *cycles < 1 || *cycles > kMaxOccupancy) {
      return Fail("occupancy");
    }
    left_ = *cycles;
    if (!computes_) return true;
    error_ = ComputeNaive(job, memories_);
    return error_.empty();
  }

  // Section 7, byte by byte.
  bool Transfer(NaiveValues& told) {
    if (stored_) return Fail("a record for a transfer");
    if (told["bytes"] < 1 || told["bytes"] > kMaxSize) return Fail("bytes");
    const int64_t group = std::max(jobs_.transfers().reversed_bytes(), 1);
    std::string* memory[2] = {};
    std::vector<int64_t> places[2];
    for (const int to : {0, 1}) {
      const int64_t m = told[to == 0 ? "from_memory" : "to_memory"];
      const int64_t address = told[to == 0 ? "from_addr" : "to_addr"];
      if (!IsJoined(m, to == 1)) return Fail("a transfer from nowhere");
      if (address < 0 || address > 1LL << 32) return Fail("an address");
      const auto base = static_cast<int64_t>(
          machine_.memories(static_cast<int>(m)).base_address());
      memory[to] = memories_.at(static_cast<size_t>(m));
      const auto size = static_cast<int64_t>(memory[to]->size());
      for (int64_t i = 0; i < told["bytes"]; ++i) {
        const int64_t at = (address + i) / group * group +
                           (group - 1 - (address + i) % group) - base;
        if (at < 0 || at >= size) return Fail("a transfer leaves memory");
        places[to].push_back(at);
      }
    }
    if (memory[0] == memory[1]) {
      for (const int64_t at : places[1]) {
        const bool read = std::find(places[0].begin(), places[0].end(), at) !=
                          places[0].end();
        if (read) return Fail("a transfer writes what it reads");
      }
    }
    for (size_t i = 0; computes_ && i < places[0].size(); ++i) {
      (*memory[1])[places[1][i]] = (*memory[0])[places[0][i]];
    }
    return true;
  }

  // Whether the link in the window reads, or writes, the memory.
  bool IsJoined(int64_t memory, bool writes) const {
    for (const v1::ResolvedLink& link : machine_.links()) {
      if (!link.has_window() ||
          &machine_.engines(link.window()).jobs() != &jobs_) {
        continue;
      }
      for (const int32_t joined : writes ? link.to() : link.from()) {
        if (joined == memory) return true;
      }
    }
    return false;
  }

  bool DecodeVariables(NaiveValues& v) {
    for (const NaiveRange& range : NaiveRanges()) {
      for (const absl::string_view name : absl::StrSplit(range.names, ' ')) {
        int64_t& value = v[std::string(name)] = 0;
        for (const Jobs::Register& reg : jobs_.registers()) {
          if (reg.value_expr() == name) value = held_[reg.name()];
        }
        for (const Jobs::Field& field : jobs_.fields()) {
          if (field.variable() != name) continue;
          const auto told = Evaluate(field.value_expr(), held_);
          if (!told) return false;
          value = *told;
        }
      }
    }
    return true;
  }

  bool CheckVariables(NaiveJob& job) {
    for (const absl::string_view name :
         absl::StrSplit(DependsOn(job.kernel, job.results), ' ')) {
      for (const NaiveRange& range : NaiveRanges()) {
        for (const absl::string_view each : absl::StrSplit(range.names, ' ')) {
          if (each != name) continue;
          const int64_t value = job.v[std::string(name)];
          if (value < range.low || value > range.high) {
            return Fail(absl::StrCat(name, " is ", value));
          }
        }
      }
    }
    if (job.v["clamp_min"] > job.v["clamp_max"]) return Fail("clamp");
    const bool average = job.kernel == Jobs::AVERAGE_POOLING;
    if (average && job.v["rounding"] == 2) return Fail("rounding");
    if (job.results == Jobs::BY_CONVERTER ||
        (HasTable(job) && job.v["converts"] == 1)) {
      if (job.v["gain"] == 0) return Fail("gain");
      if (job.v["code_min"] > job.v["code_max"]) return Fail("codes");
    }
    if (job.kernel == Jobs::DEPTHWISE_CONVOLUTION &&
        job.v["out_c"] > job.v["in_c"] * job.v["depth_multiplier"]) {
      return Fail("out_c");
    }
    return true;
  }

  static bool HasTable(const NaiveJob& job) {
    return job.results == Jobs::BY_TABLE &&
           (job.kernel == Jobs::CONVOLUTION ||
            job.kernel == Jobs::DEPTHWISE_CONVOLUTION ||
            job.kernel == Jobs::REQUANTIZATION);
  }

  // What one memory stages, in bytes.
  bool CheckStages(const Jobs::Job& described, NaiveJob& job) {
    for (const v1::ResolvedMemory& memory : machine_.memories()) {
      int64_t bytes = 0;
      for (const Jobs::Operand& operand : described.operands()) {
        if (operand.staged_in() != memory.name()) continue;
        bytes += job.operands[operand.name()].size;
      }
      if (bytes > memory.capacity_bytes()) return Fail("a stage");
    }
    return true;
  }

  bool PlaceOperand(const Jobs::Operand& described, NaiveJob& job) {
    const std::string& name = described.name();
    NaiveOperand& operand = job.operands[name];
    operand.memory = own_memory_;
    for (int32_t m = 0; m < machine_.memories_size(); ++m) {
      if (machine_.memories(m).name() == described.memory()) {
        operand.memory = m;
      }
    }
    operand.group = described.reversed_bytes();
    operand.address = job.v[absl::StrCat(name, "_addr")];
    if (!described.address_expr().empty()) {
      const auto address = Evaluate(described.address_expr(), job.v);
      if (!address || *address < 0 || *address > 1LL << 32) {
        return Fail(absl::StrCat("address of ", name));
      }
      operand.address = *address;
    }
    const bool convolves = job.results == Jobs::BY_TABLE &&
                           (job.kernel == Jobs::CONVOLUTION ||
                            job.kernel == Jobs::DEPTHWISE_CONVOLUTION);
    if ((name == "out" && convolves && job.v["out_int32"] == 1) ||
        (name == "in" && job.kernel == Jobs::REQUANTIZATION)) {
      operand.bytes = 4;
    }
    if (described.has_cell_rows()) {
      return PlaceCells(described.cell_rows(), job, operand);
    }
    const std::string axes = name == "weights"                    ? "ohwi"
                             : name == "bias" || name == "affine" ? "ob"
                                                                  : "hwc";
    for (const Jobs::Operand::Term& described_term : described.terms()) {
      const auto number = [&](const std::string& text, int64_t otherwise) {
        return text.empty() ? otherwise : Evaluate(text, job.v).value_or(-1);
      };
      const NaiveOperand::Term term = {
          .axis = static_cast<int64_t>(axes.find(described_term.axis())),
          .divide = number(described_term.divide_expr(), 1),
          .modulo = number(described_term.modulo_expr(), 0),
          .stride = number(described_term.stride_bytes_expr(), -1)};
      if (term.divide < 1 || term.modulo < 0 || term.stride < 0) {
        return Fail(absl::StrCat("layout of ", name));
      }
      operand.terms.push_back(term);
    }
    operand.size = Evaluate(described.size_bytes_expr(), job.v).value_or(-1);
    if (operand.size < 1) return Fail(absl::StrCat("size of ", name));
    if (operand.size > kMaxSize) return Fail(absl::StrCat("size of ", name));
    if (operand.group != 0 && operand.size % operand.group != 0) {
      return Fail(absl::StrCat("groups of ", name));
    }
    operand.extents = ExtentsOf(name, job);
    operand.end = EndOf(operand);
    return true;
  }

  // A row for each input of a sum, a column for each output channel.
  bool PlaceCells(const Jobs::CellRows& described, NaiveJob& job,
                  NaiveOperand& operand) {
    NaiveCells& cells = operand.cells.emplace();
    const int64_t inputs =
        job.v["in_c"] * job.v["kernel_h"] * job.v["kernel_w"];
    const int64_t row_grain =
        Evaluate(described.rows_multiple_expr(), job.v).value_or(0);
    const int64_t column_grain =
        Evaluate(described.columns_multiple_expr(), job.v).value_or(0);
    if (row_grain < 1 || column_grain < 1 || column_grain % 32 != 0) {
      return Fail("cells");
    }
    while (cells.rows < inputs) cells.rows += row_grain;
    while (cells.columns < job.v["out_c"]) cells.columns += column_grain;
    cells.last_row_first = described.last_row_first();
    cells.sign_rows = described.sign_rows();
    cells.sign_columns = described.sign_columns();
    for (const uint32_t mask : described.sign_masks()) {
      cells.sign_masks.push_back(mask);
    }
    operand.size = operand.end = cells.rows * cells.columns / 4;
    operand.extents = {operand.size};
    return operand.size <= kMaxSize || Fail("size of weights");
  }

  // Makes the address one from the memory's base; false if it is outside.
  bool BringInside(NaiveOperand& operand) const {
    operand.address -=
        static_cast<int64_t>(machine_.memories(operand.memory).base_address());
    const auto size =
        static_cast<int64_t>(memories_.at(operand.memory)->size());
    while (operand.group != 0 &&
           (operand.address + operand.end) % operand.group != 0) {
      ++operand.end;
    }
    return operand.address >= 0 && operand.address <= size &&
           operand.end <= size - operand.address;
  }

  bool CheckPlaces(NaiveJob& job) {
    if (HasTable(job)) {
      NaiveOperand& table = job.operands["table"];
      table.memory = own_memory_;
      table.address = job.v["table_addr"];
      table.extents = {3 * job.v["out_c"]};
      table.size = table.end = 12 * job.v["out_c"];
      table.bytes = 4;
      table.terms = {{.axis = 0, .stride = 4}};
    }
    for (auto& [name, operand] : job.operands) {
      if (operand.address % operand.bytes != 0) {
        return Fail(absl::StrCat(name, " is not aligned"));
      }
      if (!BringInside(operand)) {
        return Fail(absl::StrCat(name, " leaves memory"));
      }
    }
    const NaiveOperand out = job.operands["out"];
    for (const auto& [name, operand] : job.operands) {
      if (name == "out" || operand.memory != out.memory) continue;
      if (operand.address < out.address + out.end &&
          out.address < operand.address + operand.end) {
        if (job.kernel == Jobs::ADDITION && LiesInPlace(operand, out)) {
          continue;
        }
        return Fail(absl::StrCat("out overlaps ", name));
      }
    }
    return true;
  }

  const v1::Machine& machine_;
  const Jobs& jobs_;
  std::vector<target::Constant> constants_;
  std::map<std::string, int64_t> held_;  // By name of register.
  const NaiveMemories memories_;
  const int32_t own_memory_;
  std::optional<uint64_t> stored_;  // Address of the next job's record.
  NaiveJob job_;
  const bool computes_;
  int64_t left_ = 0;
  std::string error_;
};

// All jobs, computed or not.
JobOutcome Run(const v1::Machine& machine, int32_t index,
               const JobProgram& program, bool computes) {
  JobOutcome outcome;
  outcome.memories = program.memories;
  NaiveMemories memories;
  for (std::string& each : outcome.memories) memories.push_back(&each);
  Engine engine(machine, index, computes, std::move(memories));
  const auto refused = [&engine] {
    JobOutcome failed;
    failed.error = engine.error();
    return failed;
  };
  auto record = program.records.begin();
  for (size_t w = 0; w < program.writes.size(); ++w) {
    for (; record != program.records.end() && record->before == w; ++record) {
      if (!engine.Store(record->memory, record->address, record->words)) {
        return refused();
      }
    }
    const RegisterWrite& write = program.writes[w];
    if (!engine.Write(write.offset, write.value)) return refused();
    if (engine.left() == 0) continue;
    if (engine.left() > kMaxJobCycles) {
      outcome.too_long = true;
      outcome.cycles.push_back(engine.left());
      engine.Skip();
      continue;
    }
    int64_t cycles = 0;
    while (engine.ReadStatus() != machine.engines(index).jobs().status_done()) {
      engine.Tick();
      ++cycles;
    }
    outcome.cycles.push_back(cycles);
  }
  return outcome;
}

}  // namespace

std::unique_ptr<NaiveEngine> NewNaiveEngine(const v1::Machine& machine,
                                            int32_t engine, bool computes,
                                            NaiveMemories memories) {
  return std::make_unique<Engine>(machine, engine, computes,
                                  std::move(memories));
}

int32_t OwnMemory(const v1::Machine& machine, int32_t engine) {
  for (int32_t m = 0; m < machine.memories_size(); ++m) {
    const v1::ResolvedMemory& memory = machine.memories(m);
    bool writable = false;
    for (const int content : memory.holds()) {
      writable |= content == v1::MemoryDescriptor::ACTIVATIONS;
    }
    if (memory.host_reaches() || !writable) continue;
    for (const int32_t reaching : memory.engines()) {
      if (reaching == engine) return m;
    }
  }
  return -1;
}

JobOutcome RunNaive(const v1::Machine& machine, int32_t engine,
                    const JobProgram& program) {
  JobOutcome checked = Run(machine, engine, program, /*computes=*/false);
  if (!checked.error.empty()) return checked;
  if (checked.too_long) {
    checked.memories.clear();
    return checked;
  }
  return Run(machine, engine, program, /*computes=*/true);
}

}  // namespace edgekiln::simfarm::conformance::register_job
