#include "compiler/codegen/bundle_header.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/digest.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/text_scanner.h"

namespace edgekiln::compiler {
namespace {

// Of this header's lists and of docs/bundle.md.
constexpr int kBundleFormat = 1;
constexpr size_t kMaxNameBytes = 64;

// A string literal. Octal escapes end after three digits, unlike hexadecimal
// ones; "?" is escaped for the sake of trigraphs.
std::string Literal(absl::string_view text) {
  std::string out = "\"";
  for (const char c : text.substr(0, kMaxNameBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(byte) || absl::StrContains(" _-.,:;/+=()[]", c)) {
      out += c;
    } else {
      absl::StrAppendFormat(&out, "\\%03o", byte);
    }
  }
  return out + "\"";
}

// In a comment, which such a name must not end.
std::string Remark(absl::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kMaxNameBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    out += absl::ascii_isalnum(byte) || absl::StrContains(" _-.,:+()[]", c)
               ? c
               : '?';
  }
  return out;
}

std::string Hex(uint64_t value) { return absl::StrFormat("0x%xull", value); }

std::string Real(float value) {
  const std::string text = RealText(value);
  return absl::StrContains(text, '.') || absl::StrContains(text, 'e')
             ? text
             : text + ".0";
}

int64_t BytesOf(const v1::TensorType& type) {
  int64_t bytes = ElementBytes(type.element_type());
  for (const int64_t extent : type.shape()) bytes *= extent;
  return bytes;
}

// The lines of the file, in order.
class Writer {
 public:
  void Text(absl::string_view line) { absl::StrAppend(&out_, line, "\n"); }
  void Comment(absl::string_view text) {
    absl::StrAppend(&out_, "\n/* ", text, " */\n");
  }
  void Define(absl::string_view name, absl::string_view value) {
    absl::StrAppend(&out_, "#define EDGEKILN_", name, " ", value, "\n");
  }
  // #define EDGEKILN_NAME(parameters) entry entry ...
  void List(absl::string_view name, absl::string_view parameters,
            const std::vector<std::string>& entries) {
    absl::StrAppend(&out_, "#define EDGEKILN_", name, "(", parameters, ")");
    for (const std::string& entry : entries) {
      absl::StrAppend(&out_, " \\\n  ", entry);
    }
    absl::StrAppend(&out_, "\n");
  }
  std::string Finish() && { return std::move(out_); }

 private:
  std::string out_;
};

class HeaderBuilder {
 public:
  HeaderBuilder(const v1::Program& program, absl::string_view constants,
                const v1::Machine& machine, const BundleOrigin& origin)
      : program_(program),
        constants_(constants),
        machine_(machine),
        origin_(origin) {}

  std::string Build() && {
    Origin();
    Memories();
    Contents();
    Ports("INPUT", program_.inputs());
    Ports("OUTPUT", program_.outputs());
    Carries();
    Steps();
    Layouts();
    writer_.Text("\n#endif /* EDGEKILN_MODEL_H_ */");
    return std::move(writer_).Finish();
  }

 private:
  using Bindings = google::protobuf::RepeatedPtrField<v1::Program::Binding>;

  void Origin() {
    writer_.Text(absl::StrCat(
        "/* ", Remark(origin_.model_name), " on ", Remark(origin_.target_name),
        ", recipe ", Remark(origin_.recipe_name), ". Made by edgekiln ",
        Remark(origin_.version),
        ";\n * docs/bundle.md of edgekiln says how firmware uses it. */"));
    writer_.Text("#ifndef EDGEKILN_MODEL_H_\n#define EDGEKILN_MODEL_H_\n");
    writer_.Define("BUNDLE_FORMAT", absl::StrCat(kBundleFormat));
    writer_.Define("VERSION", Literal(origin_.version));
    writer_.Define("MODEL_NAME", Literal(origin_.model_name));
    writer_.Define("TARGET_NAME", Literal(origin_.target_name));
    writer_.Define("MODEL_SHA256", Literal(origin_.model.hash));
    writer_.Define("MACHINE_SHA256", Literal(origin_.machine.hash));
    writer_.Define("CONSTANTS_SHA256", Literal(DigestOf(constants_).hash));
  }

  void Memories() {
    writer_.Comment("MEMORY(index, name, base, capacity, used)");
    std::vector<std::string> entries;
    for (int i = 0; i < machine_.memories_size(); ++i) {
      const v1::ResolvedMemory& memory = machine_.memories(i);
      entries.push_back(absl::StrCat("MEMORY(", i, ", ", Literal(memory.name()),
                                     ", ", Hex(memory.base_address()), ", ",
                                     memory.capacity_bytes(), "ull, ", Used(i),
                                     "ull)"));
    }
    writer_.List("MEMORIES", "MEMORY", entries);
    writer_.Comment("ENGINE(index, name)");
    entries.clear();
    for (int i = 0; i < machine_.engines_size(); ++i) {
      entries.push_back(absl::StrCat("ENGINE(", i, ", ",
                                     Literal(machine_.engines(i).name()), ")"));
    }
    writer_.List("ENGINES", "ENGINE", entries);
  }

  // From the memory's base to the last byte that constants, inputs, outputs and
  // steps of the host touch.
  uint64_t Used(int memory) const {
    uint64_t end = machine_.memories(memory).base_address();
    const auto reach = [&](const v1::Location& location, int64_t bytes) {
      if (location.memory() != memory) return;
      end = std::max(end, location.address() + static_cast<uint64_t>(bytes));
    };
    for (const v1::Program::Segment& segment : program_.segments()) {
      reach(segment.location(), segment.size_bytes());
    }
    for (const Bindings* bindings : {&program_.inputs(), &program_.outputs()}) {
      for (const v1::Program::Binding& binding : *bindings) {
        reach(binding.location(),
              program_.layouts(binding.layout()).size_bytes());
      }
    }
    for (const v1::Program::Step& step : program_.steps()) {
      for (const auto* operands :
           {&step.host_op().inputs(), &step.host_op().outputs()}) {
        for (const v1::Program::HostOp::Operand& operand : *operands) {
          reach(operand.location(), BytesOf(operand.type()));
        }
      }
      if (!step.has_move()) continue;
      const v1::Program::Move& move = step.move();
      reach(move.from(), program_.layouts(move.from_layout()).size_bytes());
      reach(move.to(), program_.layouts(move.to_layout()).size_bytes());
    }
    return end - machine_.memories(memory).base_address();
  }

  void Contents() {
    writer_.Comment(
        "CONSTANTS(memory, address, size, offset in constants.bin)");
    std::vector<std::string> entries;
    for (const v1::Program::Segment& segment : program_.segments()) {
      entries.push_back(absl::StrCat("CONSTANTS(", segment.location().memory(),
                                     ", ", Hex(segment.location().address()),
                                     ", ", segment.size_bytes(), "ull, ",
                                     segment.blob_offset(), "ull)"));
    }
    writer_.List("CONSTANTS", "CONSTANTS", entries);
    writer_.Comment("STREAM(index, engine, size of streams/INDEX.bin)");
    entries.clear();
    for (int i = 0; i < program_.streams_size(); ++i) {
      entries.push_back(
          absl::StrCat("STREAM(", i, ", ", program_.streams(i).engine(), ", ",
                       program_.streams(i).code().size(), "ull)"));
    }
    writer_.List("STREAMS", "STREAM", entries);
  }

  void Ports(const std::string& role, const Bindings& bindings) {
    writer_.Comment(absl::StrCat(role, "(index, memory, address, size)"));
    std::vector<std::string> entries;
    for (int i = 0; i < bindings.size(); ++i) {
      const v1::Location& location = bindings[i].location();
      entries.push_back(absl::StrCat(
          role, "(", i, ", ", location.memory(), ", ", Hex(location.address()),
          ", ", program_.layouts(bindings[i].layout()).size_bytes(), "ull)"));
    }
    writer_.List(absl::StrCat(role, "S"), role, entries);
    writer_.Define(absl::StrCat(role, "_COUNT"), absl::StrCat(entries.size()));
    for (int i = 0; i < bindings.size(); ++i) {
      const v1::TensorType& type = bindings[i].type();
      const std::string front = absl::StrCat(role, "_", i, "_");
      writer_.Define(front + "NAME", Literal(type.name()));
      writer_.Define(front + "TYPE",
                     Literal(v1::ElementType_Name(type.element_type())));
      writer_.Define(front + "RANK", absl::StrCat(type.shape_size()));
      writer_.Define(front + "SHAPE",
                     absl::StrCat("{", absl::StrJoin(type.shape(), ", "), "}"));
      if (type.quantization().scale_size() != 1) continue;
      writer_.Define(front + "SCALE", Real(type.quantization().scale(0)));
      writer_.Define(front + "ZERO_POINT",
                     absl::StrCat("(", type.quantization().zero_point(0), ")"));
    }
  }

  void Carries() {
    writer_.Comment(
        "CARRY(output, input, element of the input before the first "
        "inference)");
    std::vector<std::string> entries;
    for (const v1::Program::Carry& carry : program_.carries()) {
      const v1::Quantization& quantization =
          program_.inputs(carry.input()).type().quantization();
      const int32_t zero =
          quantization.zero_point_size() == 1 ? quantization.zero_point(0) : 0;
      entries.push_back(absl::StrCat("CARRY(", carry.output(), ", ",
                                     carry.input(), ", (", zero, "))"));
    }
    writer_.List("CARRIES", "CARRY", entries);
  }

  std::string Place(const v1::Location& location) const {
    return absl::StrCat(location.memory(), ", ", Hex(location.address()));
  }

  void AddStep(const v1::Program::Step& step,
               std::vector<std::string>& entries) {
    switch (step.step_case()) {
      case v1::Program::Step::kHostOp:
        entries.push_back(absl::StrCat("HOST(", entries.size(), ", ",
                                       step.host_op().layer(), ")"));
        break;
      case v1::Program::Step::kLaunch:
        entries.push_back(absl::StrCat("LAUNCH(", step.launch().stream(), ", ",
                                       step.launch().first_command(), ", ",
                                       step.launch().end_command(), ")"));
        break;
      case v1::Program::Step::kWait:
        entries.push_back(absl::StrCat("WAIT(", step.wait().engine(), ")"));
        break;
      case v1::Program::Step::kMove: {
        const v1::Program::Move& move = step.move();
        layouts_.insert({move.from_layout(), move.to_layout()});
        entries.push_back(
            absl::StrCat("MOVE(", move.link(), ", ", Place(move.from()), ", ",
                         move.from_layout(), ", ", Place(move.to()), ", ",
                         move.to_layout(), ")"));
        break;
      }
      case v1::Program::Step::kRegisterWrites:
        for (const auto& write : step.register_writes().writes()) {
          entries.push_back(absl::StrFormat("WRITE(%d, 0x%xu, 0x%xu)",
                                            step.register_writes().engine(),
                                            write.offset(), write.value()));
        }
        break;
      case v1::Program::Step::kPoll:
        entries.push_back(absl::StrFormat(
            "POLL(%d, 0x%xu, 0x%xu, 0x%xu)", step.poll().engine(),
            step.poll().offset(), step.poll().mask(), step.poll().value()));
        break;
      case v1::Program::Step::STEP_NOT_SET:
        break;
    }
  }

  void Steps() {
    writer_.Comment(
        "An inference, one after another:\n"
        " * HOST(position, layer): an operator of the host CPU\n"
        " * LAUNCH(stream, first command, end; 0: all that follow)\n"
        " * WAIT(engine): until its last launch has ended\n"
        " * MOVE(link or -1, memory, address, layout; memory, address, "
        "layout)\n"
        " * WRITE(engine, register offset, value)\n"
        " * POLL(engine, register offset, mask, value): until it reads so");
    std::vector<std::string> entries;
    for (const v1::Program::Step& step : program_.steps()) {
      AddStep(step, entries);
    }
    writer_.List("STEPS", "HOST, LAUNCH, WAIT, MOVE, WRITE, POLL", entries);
  }

  // Those of moves.
  void Layouts() {
    writer_.Comment(
        "LAYOUT(index, rank, element bits, size); TERM(axis, divide, modulo,\n"
        " * stride in bytes): an element's byte is the sum over the terms of\n"
        " * i[axis] / divide % modulo * stride, without % where modulo is 0");
    std::vector<std::string> entries;
    for (const int32_t index : layouts_) {
      const v1::Layout& layout = program_.layouts(index);
      entries.push_back(absl::StrCat(
          "LAYOUT(", index, ", ", layout.extents_size(), ", ",
          layout.element_bits(), ", ", layout.size_bytes(), "ull)"));
    }
    writer_.List("LAYOUTS", "LAYOUT", entries);
    for (const int32_t index : layouts_) {
      const v1::Layout& layout = program_.layouts(index);
      const std::string front = absl::StrCat("LAYOUT_", index, "_");
      // C has no empty arrays.
      writer_.Define(front + "EXTENTS",
                     absl::StrCat("{",
                                  layout.extents().empty()
                                      ? "1"
                                      : absl::StrJoin(layout.extents(), ", "),
                                  "}"));
      std::vector<std::string> terms;
      for (const v1::Layout::Term& term : layout.terms()) {
        terms.push_back(absl::StrCat(
            "TERM(", term.axis(), ", ", std::max<int64_t>(term.divide(), 1),
            ", ", term.modulo(), ", ", term.stride_bytes(), ")"));
      }
      writer_.List(front + "TERMS", "TERM", terms);
    }
  }

  const v1::Program& program_;
  const absl::string_view constants_;
  const v1::Machine& machine_;
  const BundleOrigin& origin_;
  std::set<int32_t> layouts_;
  Writer writer_;
};

}  // namespace

std::string BundleHeader(const v1::Program& program,
                         absl::string_view constants,
                         const v1::Machine& machine,
                         const BundleOrigin& origin) {
  return HeaderBuilder(program, constants, machine, origin).Build();
}

}  // namespace edgekiln::compiler
