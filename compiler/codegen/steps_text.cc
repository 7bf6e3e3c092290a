#include "compiler/codegen/steps_text.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "compiler/codegen/backends.h"
#include "target/host_cost.h"

namespace edgekiln::compiler {
namespace {

void AppendWord(uint32_t word, std::string& out) {
  for (int shift = 0; shift < 32; shift += 8) {
    out.push_back(static_cast<char>((word >> shift) & 0xff));
  }
}

class StepsWriter {
 public:
  explicit StepsWriter(const v1::Machine& machine) : machine_(machine) {}

  absl::StatusOr<std::string> TextOf(const v1::Program::Step& step) const {
    using Step = v1::Program::Step;
    switch (step.step_case()) {
      case Step::kHostOp:
        return absl::StrCat(
            "host  ", target::OpAttributesName(step.host_op().attributes()),
            "\n");
      case Step::kLaunch:
        return absl::StrCat("launch stream ", step.launch().stream(), "\n");
      case Step::kWait: {
        EK_ASSIGN_OR_RETURN(const auto name, EngineName(step.wait().engine()));
        return absl::StrCat("wait  ", name, "\n");
      }
      case Step::kMove:
        return Move(step.move());
      case Step::kRegisterWrites:
        return Writes(step.register_writes());
      case Step::kPoll: {
        const v1::Program::Poll& poll = step.poll();
        EK_ASSIGN_OR_RETURN(const auto name, EngineName(poll.engine()));
        return absl::StrFormat("poll  %s 0x%x until & 0x%08x is 0x%08x\n", name,
                               poll.offset(), poll.mask(), poll.value());
      }
      case Step::STEP_NOT_SET:
        break;
    }
    return absl::InvalidArgumentError("it does nothing");
  }

 private:
  absl::StatusOr<std::string> EngineName(int32_t engine) const {
    if (engine < 0 || engine >= machine_.engines_size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the machine has no engine ", engine));
    }
    return machine_.engines(engine).name();
  }

  absl::StatusOr<std::string> Place(const v1::Location& location) const {
    if (location.memory() < 0 ||
        location.memory() >= machine_.memories_size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the machine has no memory ", location.memory()));
    }
    return absl::StrFormat("%s 0x%08x",
                           machine_.memories(location.memory()).name(),
                           location.address());
  }

  absl::StatusOr<std::string> Move(const v1::Program::Move& move) const {
    EK_ASSIGN_OR_RETURN(const std::string from, Place(move.from()));
    EK_ASSIGN_OR_RETURN(const std::string to, Place(move.to()));
    std::string by = "copy";
    if (move.link() >= machine_.links_size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the machine has no link ", move.link()));
    }
    if (move.link() >= 0) by = machine_.links(move.link()).name();
    return absl::StrCat("move  ", from, " to ", to, ", layouts ",
                        move.from_layout(), " to ", move.to_layout(), ", ", by,
                        "\n");
  }

  absl::StatusOr<std::string> Writes(
      const v1::Program::RegisterWrites& writes) const {
    EK_ASSIGN_OR_RETURN(const std::string name, EngineName(writes.engine()));
    EK_ASSIGN_OR_RETURN(const EngineBackend* const backend,
                        FindBackend(machine_, writes.engine()));
    std::string bytes;
    for (const v1::Program::RegisterWrites::Write& write : writes.writes()) {
      AppendWord(write.offset(), bytes);
      AppendWord(write.value(), bytes);
    }
    EK_ASSIGN_OR_RETURN(
        const std::string lines,
        backend->Disassemble(machine_.engines(writes.engine()), bytes));
    std::string text = absl::StrCat("write ", name, "\n");
    for (const absl::string_view line :
         absl::StrSplit(lines, '\n', absl::SkipEmpty())) {
      absl::StrAppend(&text, "       ", line, "\n");
    }
    return text;
  }

  const v1::Machine& machine_;
};

}  // namespace

absl::StatusOr<std::string> StepsText(const v1::Program& program,
                                      const v1::Machine& machine) {
  const StepsWriter writer(machine);
  std::string out;
  for (int i = 0; i < program.steps_size(); ++i) {
    EK_ASSIGN_OR_RETURN(const std::string text, writer.TextOf(program.steps(i)),
                        absl::StrCat("step ", i));
    absl::StrAppendFormat(&out, "%-4d ", i);
    out += text;
  }
  return out;
}

}  // namespace edgekiln::compiler
