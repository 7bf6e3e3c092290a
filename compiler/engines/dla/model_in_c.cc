#include "compiler/engines/dla/model_in_c.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "target/memories.h"
#include "target/models/dla/commands.h"

namespace edgekiln::compiler::dla {
namespace {

struct EmbeddedFile {
  const char* name;
  const char* text;
};
constexpr EmbeddedFile kFiles[] = {
#include "compiler/engines/dla/desk_files.inc"
};

constexpr char kEngine[] = R"(/* Made by edgekiln: engine @name@. */
#include "desk.h"
#include "dla_model.h"

static const struct dla_encoding encoding = {
@encoding@};

static uint8_t sram[@bytes@];
static uint8_t written[sizeof(sram) / 8 + 1];
static uint8_t read[sizeof(sram) / 8 + 1];

static uint8_t *find_system(uint64_t address, uint64_t bytes, int is_write) {
  return desk_find(-1, address, bytes, is_write);
}

void engine_@engine@_launch(const uint8_t *stream, uint64_t bytes, uint32_t first,
                     uint32_t end);
void engine_@engine@_launch(const uint8_t *stream, uint64_t bytes, uint32_t first,
                     uint32_t end) {
  static struct dla_model model;
  model.encoding = &encoding;
  model.sram = sram;
  model.written = written;
  model.read = read;
  model.sram_bytes = sizeof(sram);
  model.system = find_system;
  if (dla_model_run(&model, stream, bytes, first, end) != 0) {
    desk_stop("@name@", model.error, model.word);
  }
}
)";

std::string FieldText(const v1::Isa& isa, absl::string_view name) {
  for (const v1::BitField& field : isa.fields()) {
    if (field.name() != name) continue;
    return absl::StrCat("{", field.low_bit(), ", ", field.bits(), "}");
  }
  return "{0, 0}";
}

std::string EncodingText(const v1::Isa& isa) {
  std::string out =
      absl::StrCat("    .word_bytes = ", isa.word_bytes(),
                   ",\n    .opcode = ", FieldText(isa, "opcode"),
                   ",\n    .index = ", FieldText(isa, "register"),
                   ",\n    .rounding = ", FieldText(isa, "rounding"),
                   ",\n    .immediate = ", FieldText(isa, "immediate"), ",\n");
  for (const v1::CommandDescriptor& command : isa.commands()) {
    const auto known = target::FindDlaCommand(command.mnemonic());
    if (!known) continue;
    const std::string name = absl::StrCat(
        "DLA_", absl::StripPrefix(target::DlaCommandName(*known), "OP_"));
    absl::StrAppend(&out, "    .opcodes[", name, "] = ", command.opcode(),
                    ",\n");
    if (command.takes_rounding()) {
      absl::StrAppend(&out, "    .takes_rounding[", name, "] = 1,\n");
    }
  }
  for (const v1::RegisterDescriptor& reg : isa.registers()) {
    const auto known = target::FindDlaRegister(reg.name());
    if (!known) continue;
    absl::StrAppend(&out, "    .registers[DLA_",
                    target::DlaRegisterName(*known), "] = {", reg.index(), ", ",
                    reg.bits(), ", ", reg.is_signed() ? 1 : 0, "},\n");
  }
  return out;
}

// For a comment and a string.
std::string Plain(absl::string_view name) {
  std::string plain;
  for (const char c : name.substr(0, 64)) {
    plain += absl::ascii_isalnum(static_cast<unsigned char>(c)) ? c : '_';
  }
  return plain;
}

}  // namespace

absl::StatusOr<std::vector<EngineBackend::ModelFile>> ModelInC(
    const v1::Machine& machine, int32_t engine) {
  const int32_t sram = target::PrivateMemoryOf(machine, engine);
  if (sram < 0) {
    return absl::InvalidArgumentError("the engine has no memory of its own");
  }
  std::vector<EngineBackend::ModelFile> files;
  for (const EmbeddedFile& file : kFiles) {
    files.push_back({file.name, file.text});
  }
  const v1::Machine::Engine& described = machine.engines(engine);
  files.push_back(
      {absl::StrCat("engine_", engine, ".c"),
       absl::StrReplaceAll(
           kEngine,
           {{"@name@", Plain(described.name())},
            {"@encoding@", EncodingText(described.isa())},
            {"@bytes@", absl::StrCat(machine.memories(sram).capacity_bytes())},
            {"@engine@", absl::StrCat(engine)}})});
  return files;
}

}  // namespace edgekiln::compiler::dla
