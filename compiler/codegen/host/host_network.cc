#include "compiler/codegen/host/host_network.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "compiler/codegen/c/c_text.h"
#include "compiler/codegen/c/identifiers.h"
#include "compiler/codegen/host/driver_text.h"
#include "compiler/codegen/host/host_steps.h"
#include "compiler/ir/graph.h"

namespace edgekiln::compiler {
namespace {

using Binding = v1::Program::Binding;

int64_t BytesOf(const v1::TensorType& type) {
  int64_t bytes = ElementBytes(type.element_type());
  for (const int64_t extent : type.shape()) bytes *= extent;
  return bytes;
}

std::string AtText(const v1::Location& location) {
  return absl::StrFormat("edgekiln_at(%d, 0x%xu)", location.memory(),
                         location.address());
}

bool Overlap(const Binding& a, const Binding& b) {
  const uint64_t begin_a = a.location().address();
  const uint64_t begin_b = b.location().address();
  return a.location().memory() == b.location().memory() &&
         begin_a < begin_b + static_cast<uint64_t>(BytesOf(b.type())) &&
         begin_b < begin_a + static_cast<uint64_t>(BytesOf(a.type()));
}

class NetworkSource {
 public:
  NetworkSource(const v1::Program& program, const COperators& operators,
                const v1::Machine& machine, const std::string& prefix)
      : program_(program),
        operators_(operators),
        machine_(machine),
        p_(prefix),
        macro_(CMacroPrefix(prefix)) {}

  absl::StatusOr<std::vector<CFile>> Files() {
    PlanStates();
    EK_ASSIGN_OR_RETURN(steps_,
                        WriteHostSteps(program_, operators_, machine_, p_));
    std::vector<CFile> files;
    files.push_back({"edgekiln_driver.h", std::string(DriverText())});
    files.push_back({p_ + ".h", Header()});
    files.push_back({p_ + ".c", Source()});
    return files;
  }

 private:
  // --- States ---

  // What an inference leaves is copied to where the next one begins, unless an
  // output lies there that the caller has yet to read: then it waits in a
  // buffer.
  void PlanStates() {
    for (const v1::Program::Carry& carry : program_.carries()) {
      const Binding& to = program_.inputs(carry.input());
      waits_ = waits_ ||
               std::any_of(program_.outputs().begin(), program_.outputs().end(),
                           [&to](const Binding& output) {
                             return Overlap(to, output);
                           });
      offsets_.push_back(state_bytes_);
      state_bytes_ += (BytesOf(to.type()) + 7) / 8 * 8;
    }
    if (!waits_) state_bytes_ = 0;
  }

  // Where the values are between two inferences.
  std::string KeptAt(int carry) const {
    if (waits_) {
      return absl::StrCat("(void *)(", p_, "_states.bytes + ", offsets_[carry],
                          ")");
    }
    return AtText(program_.inputs(program_.carries(carry).input()).location());
  }

  // --- Header ---

  std::string Header() const {
    CodeWriter h;
    h.Line(
        "/* Made by edgekiln. C99, no library needed; a firmware defines the");
    h.Line(" * functions of edgekiln_driver.h. */");
    h.Line("#ifndef ", macro_, "_H_");
    h.Line("#define ", macro_, "_H_");
    h.Line("");
    h.Line("#include <stdint.h>");
    h.Line("");
    h.Line("#include \"edgekiln_driver.h\"");
    h.Line("");
    h.Line(
        "/* Static memory beside what the chip's memories hold: of operators "
        "and of");
    h.Line(" * states. */");
    h.Line("#define ", macro_, "_SCRATCH_BYTES ", operators_.scratch_bytes);
    h.Line("#define ", macro_, "_STATE_BYTES ", state_bytes_);
    h.Line("");
    Ports(h, "INPUT", program_.inputs());
    Ports(h, "OUTPUT", program_.outputs());
    h.Line(
        "/* Puts the content of constants.bin where the program has it. Once; "
        "not");
    h.Line("   needed where the linker did. */");
    h.Line("void ", p_, "_load(const uint8_t *constants);");
    h.Line("/* Sets the states to zero; done before the first invocation. */");
    h.Line("void ", p_, "_reset(void);");
    h.Line(
        "/* Computes the outputs of the inputs, whose memory it uses up. "
        "Outputs may");
    h.Line(
        "   lie where inputs were. Returns 0, or 1 + the index of a layer that "
        "met an");
    h.Line("   index out of range. */");
    h.Line("int ", p_, "_invoke(void);");
    if (steps_.has_moves) {
      h.Line("/* A move by the CPU, which must reach both places. */");
      h.Line("void ", p_, "_copy(const struct edgekiln_move *move);");
    }
    h.Line("");
    h.Line("#endif");
    return h.text();
  }

  void Ports(CodeWriter& h, absl::string_view kind,
             const google::protobuf::RepeatedPtrField<Binding>& ports) const {
    h.Line("#define ", macro_, "_", kind, "S ", ports.size());
    for (int i = 0; i < ports.size(); ++i) {
      const v1::TensorType& type = ports[i].type();
      const std::string name = absl::StrCat(macro_, "_", kind, "_", i);
      const int64_t bytes = BytesOf(type);
      h.Line("/* [", absl::StrJoin(type.shape(), ","), "] */");
      h.Line("#define ", name, " ((", CTypeOf(type.element_type()), " *)",
             AtText(ports[i].location()), ")");
      h.Line("#define ", name, "_ELEMENTS ",
             bytes / ElementBytes(type.element_type()));
      h.Line("#define ", name, "_BYTES ", bytes);
      if (type.quantization().scale_size() > 0 &&
          type.quantization().zero_point_size() > 0) {
        h.Line("#define ", name, "_SCALE ",
               CFloat(type.quantization().scale(0)));
        h.Line("#define ", name, "_ZERO_POINT (",
               CInteger(type.quantization().zero_point(0)), ")");
      }
      h.Line("");
    }
  }

  // --- Source ---

  std::string Source() const {
    CodeWriter c;
    c.Line("/* Made by edgekiln. */");
    c.Line("#include \"", p_, ".h\"");
    c.Line("");
    if (!operators_.operators.empty()) c.Raw(operators_.text);
    CopyBytes(c);
    if (waits_) {
      c.Line("static union {");
      c.Line("  uint64_t align;");
      c.Line("  uint8_t bytes[", state_bytes_, "];");
      c.Line("} ", p_, "_states;");
      c.Line("");
    }
    Load(c);
    Reset(c);
    c.Raw(steps_.text);
    Invoke(c);
    return c.text();
  }

  bool CopiesBytes() const {
    return program_.segments_size() > 0 || program_.carries_size() > 0;
  }

  void CopyBytes(CodeWriter& c) const {
    if (!CopiesBytes()) return;
    c.Open("static void ", p_,
           "_bytes(uint8_t *to, const uint8_t *from, uint32_t bytes)");
    c.Line("uint32_t i;");
    c.Line("if (to == from) return;");
    c.Line("for (i = 0; i < bytes; ++i) to[i] = from[i];");
    c.Close();
    c.Line("");
  }

  void Load(CodeWriter& c) const {
    c.Open("void ", p_, "_load(const uint8_t *constants)");
    for (const v1::Program::Segment& segment : program_.segments()) {
      c.Line(p_, "_bytes((uint8_t *)", AtText(segment.location()),
             ", constants + ", segment.blob_offset(), "u, ",
             segment.size_bytes(), "u);");
    }
    if (program_.segments().empty()) c.Line("(void)constants;");
    c.Close();
    c.Line("");
  }

  void Reset(CodeWriter& c) const {
    if (program_.carries_size() > 0) c.Line("static int ", p_, "_ready;");
    c.Open("void ", p_, "_reset(void)");
    for (int i = 0; i < program_.carries_size(); ++i) {
      const v1::TensorType& type =
          program_.inputs(program_.carries(i).input()).type();
      const absl::string_view element = CTypeOf(type.element_type());
      const int32_t zero = type.quantization().zero_point_size() > 0
                               ? type.quantization().zero_point(0)
                               : 0;
      c.OpenBlock();
      c.Line(element, " *const to = (", element, " *)", KeptAt(i), ";");
      c.OpenLoop("i", BytesOf(type) / ElementBytes(type.element_type()));
      c.Line("to[i] = ", zero, ";");
      c.Close();
      c.Close();
    }
    if (program_.carries_size() > 0) c.Line(p_, "_ready = 1;");
    c.Close();
    c.Line("");
  }

  void MoveState(CodeWriter& c, int carry, bool keeps) const {
    const v1::Program::Carry& states = program_.carries(carry);
    const Binding& output = program_.outputs(states.output());
    const Binding& input = program_.inputs(states.input());
    const std::string from = keeps ? AtText(output.location()) : KeptAt(carry);
    const std::string to = keeps ? KeptAt(carry) : AtText(input.location());
    c.Line(p_, "_bytes((uint8_t *)", to, ", (const uint8_t *)", from, ", ",
           BytesOf(input.type()), "u);");
  }

  void Invoke(CodeWriter& c) const {
    const int carries = program_.carries_size();
    c.Open("int ", p_, "_invoke(void)");
    if (steps_.has_steps) c.Line("int code;");
    if (carries > 0) c.Line("if (!", p_, "_ready) ", p_, "_reset();");
    for (int i = 0; i < carries && waits_; ++i) MoveState(c, i, false);
    if (steps_.has_steps) {
      c.Line("code = ", p_, "_walk();");
      c.Line("if (code != 0) return code;");
    }
    for (int i = 0; i < carries; ++i) MoveState(c, i, true);
    c.Line("return 0;");
    c.Close();
  }

  const v1::Program& program_;
  const COperators& operators_;
  const v1::Machine& machine_;
  const std::string p_;
  const std::string macro_;
  bool waits_ = false;
  int64_t state_bytes_ = 0;
  std::vector<int64_t> offsets_;  // By carry.
  HostSteps steps_;
};

}  // namespace

absl::StatusOr<std::vector<CFile>> HostNetwork(const v1::Program& program,
                                               const COperators& operators,
                                               const v1::Machine& machine,
                                               const std::string& prefix) {
  return NetworkSource(program, operators, machine, prefix).Files();
}

}  // namespace edgekiln::compiler
