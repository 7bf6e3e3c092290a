#include "compiler/codegen/host/desk_chip.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "compiler/codegen/backends.h"
#include "compiler/codegen/c/c_text.h"
#include "compiler/codegen/host/driver_text.h"
#include "compiler/codegen/host/transfer_tables.h"
#include "compiler/engines/backend.h"
#include "compiler/ir/graph.h"
#include "target/memories.h"

namespace edgekiln::compiler {
namespace {

// More than a desk's program may have in static memory.
constexpr int64_t kMostBytes = int64_t{1} << 30;

// $: the path of the header without ".h".
constexpr char kBegin[] = R"(/* Made by edgekiln: the chip of `make check`. */
#include <stdio.h>
#include <stdlib.h>

#include "$.h"
#include "desk.h"

)";

constexpr char kFunctions[] =
    R"(void desk_stop(const char *who, const char *what, uint64_t where) {
  printf("%s: %s (at %llu)\n", who, what, (unsigned long long)where);
  exit(1);
}

static uint8_t *find_in(const struct memory *m, uint64_t address,
                        uint64_t bytes, int is_write) {
  if (m->bytes == 0 || address < m->base || bytes > m->size ||
      address - m->base > m->size - bytes || (is_write && !m->is_writable)) {
    return 0;
  }
  return m->bytes + (address - m->base);
}

uint8_t *desk_find(int32_t memory, uint64_t address, uint64_t bytes,
                   int is_write) {
  int32_t i;
  if (memory >= 0) return find_in(&memories[memory], address, bytes, is_write);
  for (i = 0; i < MEMORIES; ++i) {
    uint8_t *const found = find_in(&memories[i], address, bytes, is_write);
    if (found != 0 && memories[i].host_reaches) return found;
  }
  return 0;
}

void *edgekiln_at(int32_t memory, uint64_t address) {
  uint8_t *const found = desk_find(memory, address, 1, 0);
  if (found == 0) desk_stop("host", "no memory at this address", address);
  return found;
}

)";

constexpr char kStart[] =
    R"(static void read_file(const char *folder, const char *name, uint8_t *to,
                      uint64_t bytes) {
  char path[4096];
  FILE *file;
  if (snprintf(path, sizeof(path), "%s/%s", folder, name) >=
      (int)sizeof(path)) {
    desk_stop(name, "the path is too long", 0);
  }
  file = fopen(path, "rb");
  if (file == 0) desk_stop(path, "cannot be opened", 0);
  if (fread(to, 1, (size_t)bytes, file) != bytes || fgetc(file) != EOF) {
    desk_stop(path, "another size than the program's", bytes);
  }
  fclose(file);
}

)";

int64_t BytesOf(const v1::TensorType& type) {
  int64_t bytes = ElementBytes(type.element_type());
  for (const int64_t extent : type.shape()) bytes *= extent;
  return bytes;
}

class ChipWriter {
 public:
  ChipWriter(const v1::Program& program, int64_t constants_bytes,
             const v1::Machine& machine, const std::string& prefix)
      : program_(program),
        constants_bytes_(constants_bytes),
        machine_(machine),
        p_(prefix),
        size_(machine.memories_size(), 0) {}

  absl::StatusOr<std::vector<CFile>> Files() {
    FindEngines();
    std::map<std::string, std::string> files;
    for (const int32_t engine : engines_) {
      EK_ASSIGN_OR_RETURN(const EngineBackend* const backend,
                          FindBackend(machine_, engine));
      EK_ASSIGN_OR_RETURN(
          std::vector<EngineBackend::ModelFile> model,
          backend->FunctionalModel(machine_, engine),
          absl::StrCat("engine ", machine_.engines(engine).name()));
      if (model.empty()) return std::vector<CFile>();
      for (EngineBackend::ModelFile& file : model) {
        files[absl::StrCat("desk/", file.path)] = std::move(file.text);
      }
    }
    FindSizes();
    files["desk/desk.h"] = std::string(DeskText());
    files["desk/chip.c"] = Chip();
    std::vector<CFile> made;
    for (auto& [path, text] : files) made.push_back({path, std::move(text)});
    return made;
  }

 private:
  void FindEngines() {
    for (const v1::Program::Step& step : program_.steps()) {
      if (step.has_launch()) {
        const v1::Program::Stream& stream =
            program_.streams(step.launch().stream());
        engines_.insert(stream.engine());
      }
      if (step.has_register_writes()) {
        engines_.insert(step.register_writes().engine());
      }
      if (step.has_move() && step.move().link() >= 0 &&
          step.move().link() < machine_.links_size()) {
        const v1::ResolvedLink& link = machine_.links(step.move().link());
        if (link.has_window()) engines_.insert(link.window());
      }
    }
  }

  void Reach(const v1::Location& location, int64_t bytes) {
    const int32_t m = location.memory();
    const auto end = static_cast<int64_t>(location.address() -
                                          machine_.memories(m).base_address());
    size_[m] = std::max(size_[m], end + bytes);
  }

  // What host and engines touch of each memory.
  void FindSizes() {
    for (const v1::Program::Segment& segment : program_.segments()) {
      Reach(segment.location(), segment.size_bytes());
    }
    for (const auto* bindings : {&program_.inputs(), &program_.outputs()}) {
      for (const v1::Program::Binding& binding : *bindings) {
        Reach(binding.location(), BytesOf(binding.type()));
      }
    }
    for (const v1::Program::Step& step : program_.steps()) {
      for (const auto* operands :
           {&step.host_op().inputs(), &step.host_op().outputs()}) {
        for (const v1::Program::HostOp::Operand& operand : *operands) {
          if (operand.absent()) continue;
          Reach(operand.location(), BytesOf(operand.type()));
        }
      }
      if (step.has_move()) {
        const v1::Program::Move& move = step.move();
        Reach(move.from(), program_.layouts(move.from_layout()).size_bytes());
        Reach(move.to(), program_.layouts(move.to_layout()).size_bytes());
      }
      if (step.register_writes().has_record()) {
        const auto& record = step.register_writes().record();
        Reach(record.location(), 4 * int64_t{record.words_size()});
      }
    }
    for (int m = 0; m < machine_.memories_size(); ++m) {
      const v1::ResolvedMemory& memory = machine_.memories(m);
      int64_t engines_reach = memory.host_reaches() ? program_.ram_bytes()
                                                    : memory.capacity_bytes();
      if (!target::IsWritable(memory)) engines_reach = 0;
      if (!memory.host_reaches() && !HasJobs(memory)) engines_reach = 0;
      size_[m] = std::min({std::max(size_[m], engines_reach),
                           memory.capacity_bytes(), kMostBytes});
    }
  }

  bool HasJobs(const v1::ResolvedMemory& memory) const {
    return std::any_of(
        memory.engines().begin(), memory.engines().end(),
        [this](int32_t engine) { return machine_.engines(engine).has_jobs(); });
  }

  std::string Chip() const {
    CodeWriter c;
    // With its folder, as a file of an engine in desk/ may have its name.
    c.Raw(absl::StrReplaceAll(kBegin, {{"$", absl::StrCat("../", p_)}}));
    Memories(c);
    c.Raw(kFunctions);
    Engines(c);
    if (program_.steps_size() > 0) Driver(c);
    c.Raw(kStart);
    Start(c);
    return c.text();
  }

  void Memories(CodeWriter& c) const {
    for (int m = 0; m < machine_.memories_size(); ++m) {
      if (size_[m] == 0) continue;
      c.Line("static union {");
      c.Line("  uint64_t align[2];");
      c.Line("  uint8_t bytes[", size_[m], "];");
      c.Line("} memory_", m, ";");
    }
    c.Line("#define MEMORIES ", machine_.memories_size());
    c.Line("static const struct memory {");
    c.Line("  uint8_t *bytes;");
    c.Line("  uint64_t base, size;");
    c.Line("  int is_writable, host_reaches;");
    c.Line("} memories[MEMORIES] = {");
    for (int m = 0; m < machine_.memories_size(); ++m) {
      const v1::ResolvedMemory& memory = machine_.memories(m);
      c.Line("  {", size_[m] == 0 ? "0" : absl::StrCat("memory_", m, ".bytes"),
             ", ", absl::StrFormat("0x%xu", memory.base_address()), ", ",
             size_[m], "u, ", target::IsWritable(memory) ? 1 : 0, ", ",
             memory.host_reaches() ? 1 : 0, "},");
    }
    c.Line("};");
    c.Line("");
  }

  void Engines(CodeWriter& c) const {
    for (const int32_t engine : engines_) {
      const std::string name = absl::StrCat("engine_", engine);
      if (machine_.engines(engine).has_jobs()) {
        c.Line("void ", name, "_write(uint32_t offset, uint32_t value);");
        c.Line("uint32_t ", name, "_read(uint32_t offset);");
      } else {
        c.Line("void ", name, "_launch(const uint8_t *stream, uint64_t bytes,");
        c.Line("                     uint32_t first, uint32_t end);");
      }
    }
    for (int s = 0; s < program_.streams_size(); ++s) {
      c.Line("static uint8_t stream_", s, "[",
             std::max<size_t>(program_.streams(s).code().size(), 1), "];");
    }
    c.Line("");
  }

  // Of engines for which `belongs`, a case with the call.
  template <typename Belongs>
  void Dispatch(CodeWriter& c, absl::string_view what, absl::string_view call,
                const Belongs& belongs) const {
    c.Open("switch (engine)");
    for (const int32_t engine : engines_) {
      if (!belongs(machine_.engines(engine))) continue;
      c.Line("case ", engine, ":");
      c.Line("  ", absl::StrReplaceAll(call, {{"$", absl::StrCat(engine)}}));
      if (!absl::StartsWith(call, "return")) c.Line("  break;");
    }
    c.Line("default:");
    c.Line("  desk_stop(\"host\", \"", what, "\", 0);");
    c.Close();
  }

  void Driver(CodeWriter& c) const {
    c.Open(
        "void edgekiln_launch(int32_t stream, uint32_t first, uint32_t end)");
    c.Open("switch (stream)");
    for (int s = 0; s < program_.streams_size(); ++s) {
      const v1::Program::Stream& stream = program_.streams(s);
      if (!engines_.contains(stream.engine())) continue;
      c.Line("case ", s, ":");
      c.Line("  engine_", stream.engine(), "_launch(stream_", s, ", ",
             stream.code().size(), "u, first, end);");
      c.Line("  break;");
    }
    c.Line("default:");
    c.Line("  desk_stop(\"host\", \"no such stream\", first + end);");
    c.Close();
    c.Close();
    c.Line("");
    c.Line("/* Engines are done before a launch returns. */");
    c.Line("void edgekiln_wait(int32_t engine) { (void)engine; }");
    c.Line("");
    const auto has_jobs = [](const v1::Machine::Engine& engine) {
      return engine.has_jobs();
    };
    c.Open(
        "void edgekiln_write(int32_t engine, uint32_t offset, uint32_t value)");
    c.Line("(void)offset;");
    c.Line("(void)value;");
    Dispatch(c, "the engine has no registers", "engine_$_write(offset, value);",
             has_jobs);
    c.Close();
    c.Line("");
    c.Open("uint32_t edgekiln_read(int32_t engine, uint32_t offset)");
    c.Line("(void)offset;");
    Dispatch(c, "the engine has no registers", "return engine_$_read(offset);",
             has_jobs);
    c.Line("return 0;");
    c.Close();
    c.Line("");
    c.Open("void edgekiln_transfer(const struct edgekiln_move *move)");
    const bool moves = std::any_of(
        program_.steps().begin(), program_.steps().end(),
        [this](const v1::Program::Step& step) {
          return step.has_move() &&
                 !TransferTables(program_, machine_, p_).Starts(step.move());
        });
    c.Line(moves ? absl::StrCat(p_, "_copy(move);") : "(void)move;");
    c.Close();
    c.Line("");
  }

  void Start(CodeWriter& c) const {
    c.Line("static uint8_t constants[", std::max<int64_t>(constants_bytes_, 1),
           "];");
    c.Line("");
    c.Open("void desk_start(const char *folder)");
    c.Line("read_file(folder, \"constants.bin\", constants, ", constants_bytes_,
           "u);");
    for (int s = 0; s < program_.streams_size(); ++s) {
      c.Line("read_file(folder, \"", absl::StrFormat("streams/%03d.bin", s),
             "\", stream_", s, ", ", program_.streams(s).code().size(), "u);");
    }
    c.Line(p_, "_load(constants);");
    c.Close();
  }

  const v1::Program& program_;
  const int64_t constants_bytes_;
  const v1::Machine& machine_;
  const std::string p_;
  std::set<int32_t> engines_;  // That the program uses.
  std::vector<int64_t> size_;  // Of each memory, in bytes.
};

}  // namespace

absl::StatusOr<std::vector<CFile>> DeskChip(const v1::Program& program,
                                            int64_t constants_bytes,
                                            const v1::Machine& machine,
                                            const std::string& prefix) {
  return ChipWriter(program, constants_bytes, machine, prefix).Files();
}

}  // namespace edgekiln::compiler
