#include "compiler/codegen/bundle.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "compiler/codegen/backends.h"
#include "compiler/codegen/bundle_header.h"
#include "compiler/codegen/memory_map.h"
#include "compiler/codegen/steps_text.h"
#include "compiler/ir/text_scanner.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "target/layout.h"

namespace edgekiln::compiler {
namespace {

std::string SerializeDeterministically(const v1::Program& program) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  program.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

std::string JsonString(absl::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      absl::StrAppendFormat(&out, "\\u%04x", static_cast<unsigned char>(c));
    } else {
      out.push_back(c);
    }
  }
  out.push_back('"');
  return out;
}

using Bindings = google::protobuf::RepeatedPtrField<v1::Program::Binding>;
using Conversions = google::protobuf::RepeatedPtrField<v1::ConvertedPort>;

// Null if the caller hands over, or gets, what the source model has.
const v1::ConvertedPort* ConversionOf(const Conversions& conversions,
                                      int port) {
  for (const v1::ConvertedPort& conversion : conversions) {
    if (conversion.port() == port) return &conversion;
  }
  return nullptr;
}

bool IsFloat(v1::ElementType type) {
  return type == v1::FLOAT32 || type == v1::FLOAT16 || type == v1::FLOAT64;
}

// How reals become steps. Where it computes in floats, HALF_UP rounds ties away
// from 0; nobody should have to know that.
absl::string_view RoundingName(v1::Rounding rounding) {
  return rounding == v1::HALF_EVEN ? "HALF_EVEN" : "HALF_AWAY";
}

// "; from FLOAT32: round_half_even(x / scale) + zero, saturated".
std::string ConversionText(const v1::ConvertedPort& conversion, bool input) {
  const std::string type = v1::ElementType_Name(conversion.element_type());
  const std::string direction = input ? "; from " : "; to ";
  if (!IsFloat(conversion.element_type())) {
    const bool is_unsigned = conversion.element_type() == v1::UINT8 ||
                             conversion.element_type() == v1::UINT16;
    return absl::StrCat(direction, type, ": x ",
                        is_unsigned == input ? "- " : "+ ",
                        "half of the type's range");
  }
  if (!input) return absl::StrCat(direction, type, ": scale * (x - zero)");
  return absl::StrCat(
      direction, type, ": round_",
      absl::AsciiStrToLower(RoundingName(conversion.rounding())),
      "(x / scale) + zero, saturated");
}

void AppendBindings(absl::string_view role, const Bindings& bindings,
                    const Conversions& conversions, const v1::Machine& machine,
                    std::string& out) {
  for (int i = 0; i < bindings.size(); ++i) {
    const v1::Program::Binding& binding = bindings[i];
    const v1::TensorType& type = binding.type();
    absl::StrAppendFormat(&out, "%-7s %-8s 0x%08x  %s %s[%s]", role,
                          machine.memories(binding.location().memory()).name(),
                          binding.location().address(), type.name(),
                          v1::ElementType_Name(type.element_type()),
                          absl::StrJoin(type.shape(), ","));
    if (type.quantization().scale_size() == 1) {
      absl::StrAppend(&out, " scale ", RealText(type.quantization().scale(0)),
                      " zero ", type.quantization().zero_point(0));
    }
    const v1::ConvertedPort* conversion = ConversionOf(conversions, i);
    if (conversion != nullptr) {
      out += ConversionText(*conversion, role == "input");
    }
    out += "\n";
  }
}

// What an element of a carried input holds before the first inference.
int32_t FirstValue(const v1::TensorType& type) {
  return type.quantization().zero_point_size() == 1
             ? type.quantization().zero_point(0)
             : 0;
}

// "carry   ram      0x80000040  h1 to 0x80000000 h0, 16 bytes, at first -3".
void AppendCarries(const v1::Program& program, const v1::Machine& machine,
                   std::string& out) {
  for (const v1::Program::Carry& carry : program.carries()) {
    const v1::Program::Binding& from = program.outputs(carry.output());
    const v1::Program::Binding& to = program.inputs(carry.input());
    absl::StrAppendFormat(
        &out, "%-7s %-8s 0x%08x  %s to 0x%08x %s, %d bytes, at first %d\n",
        "carry", machine.memories(from.location().memory()).name(),
        from.location().address(), from.type().name(), to.location().address(),
        to.type().name(), program.layouts(from.layout()).size_bytes(),
        FirstValue(to.type()));
  }
}

// A JSON list with one object per carry.
std::string CarryList(const v1::Program& program) {
  std::vector<std::string> objects;
  for (const v1::Program::Carry& carry : program.carries()) {
    const v1::TensorType& input = program.inputs(carry.input()).type();
    objects.push_back(
        absl::StrCat("    {\"output\": ",
                     JsonString(program.outputs(carry.output()).type().name()),
                     ", \"input\": ", JsonString(input.name()),
                     ", \"first_value\": ", FirstValue(input), "}"));
  }
  return absl::StrCat("[\n", absl::StrJoin(objects, ",\n"), "\n  ]");
}

// A JSON list with one object per input or output.
std::string BindingList(const Bindings& bindings,
                        const Conversions& conversions, bool inputs) {
  std::vector<std::string> objects;
  for (int i = 0; i < bindings.size(); ++i) {
    const v1::TensorType& type = bindings[i].type();
    std::string object = absl::StrCat(
        "    {\"name\": ", JsonString(type.name()), ", \"type\": \"",
        v1::ElementType_Name(type.element_type()), "\", \"shape\": [",
        absl::StrJoin(type.shape(), ", "), "]");
    if (type.quantization().scale_size() == 1) {
      absl::StrAppend(&object,
                      ", \"scale\": ", RealText(type.quantization().scale(0)),
                      ", \"zero_point\": ", type.quantization().zero_point(0));
    }
    const v1::ConvertedPort* conversion = ConversionOf(conversions, i);
    if (conversion != nullptr) {
      absl::StrAppend(&object, ", \"source_type\": \"",
                      v1::ElementType_Name(conversion->element_type()), "\"");
    }
    if (conversion != nullptr && inputs &&
        IsFloat(conversion->element_type())) {
      absl::StrAppend(&object, ", \"rounding\": \"",
                      RoundingName(conversion->rounding()), "\"");
    }
    objects.push_back(absl::StrCat(object, "}"));
  }
  if (objects.empty()) return "[]";
  return absl::StrCat("[\n", absl::StrJoin(objects, ",\n"), "\n  ]");
}

// Map and manifest tell type and place of inputs and outputs, not how their
// elements lie.
absl::Status CheckDense(const v1::Program& program) {
  for (const Bindings* bindings : {&program.inputs(), &program.outputs()}) {
    for (const v1::Program::Binding& binding : *bindings) {
      if (binding.layout() < 0 || binding.layout() >= program.layouts_size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("'", binding.type().name(), "' has no layout"));
      }
      EK_ASSIGN_OR_RETURN(
          const target::Layout layout,
          target::Layout::Create(program.layouts(binding.layout())),
          binding.type().name());
      if (!layout.is_dense()) {
        return absl::UnimplementedError(
            absl::StrCat("'", binding.type().name(),
                         "' is not dense, which no bundle can tell"));
      }
    }
  }
  return absl::OkStatus();
}

// What the header is made of.
absl::Status CheckMoves(const v1::Program& program) {
  for (const v1::Program::Step& step : program.steps()) {
    if (!step.has_move()) continue;
    for (const int32_t layout :
         {step.move().from_layout(), step.move().to_layout()}) {
      if (layout >= 0 && layout < program.layouts_size()) continue;
      return absl::InvalidArgumentError("a move has no layout");
    }
  }
  return absl::OkStatus();
}

// Only firmware that writes registers itself needs the steps as text.
bool WritesRegisters(const v1::Program& program) {
  return std::any_of(
      program.steps().begin(), program.steps().end(),
      [](const v1::Program::Step& step) { return step.has_register_writes(); });
}

std::string StreamStem(int stream) {
  return absl::StrFormat("streams/%03d", stream);
}

// The memory that Program.sram_peak_bytes is about: with several, the largest
// use of one.
std::string EngineMemoryName(const v1::Machine& machine) {
  std::vector<std::string> names;
  for (const v1::ResolvedMemory& memory : machine.memories()) {
    if (!memory.host_reaches()) names.push_back(memory.name());
  }
  return names.size() == 1 ? names[0] : "engine memory";
}

absl::StatusOr<std::string> MemoryMap(const v1::Program& program,
                                      const v1::Graph& graph,
                                      const v1::Machine& machine) {
  EK_ASSIGN_OR_RETURN(const SystemMemories system, SystemMemoriesOf(machine));
  std::string out;
  for (const v1::ResolvedMemory& memory : machine.memories()) {
    absl::StrAppendFormat(&out, "memory  %-8s 0x%08x  %d bytes\n",
                          memory.name(), memory.base_address(),
                          memory.capacity_bytes());
  }
  for (const auto& segment : program.segments()) {
    absl::StrAppendFormat(&out,
                          "segment %-8s 0x%08x  constants.bin, %d bytes\n",
                          machine.memories(segment.location().memory()).name(),
                          segment.location().address(), segment.size_bytes());
  }
  // In that memory, wherever the firmware's linker puts them.
  for (int i = 0; i < program.streams_size(); ++i) {
    absl::StrAppendFormat(&out, "stream  %-8s -           %s.bin, %d bytes\n",
                          machine.memories(system.flash).name(), StreamStem(i),
                          program.streams(i).code().size());
  }
  AppendBindings("input", program.inputs(), graph.converted_inputs(), machine,
                 out);
  AppendBindings("output", program.outputs(), graph.converted_outputs(),
                 machine, out);
  AppendCarries(program, machine, out);
  absl::StrAppendFormat(&out,
                        "use     flash %d bytes, ram %d bytes, %s %d bytes\n",
                        program.flash_bytes(), program.ram_bytes(),
                        EngineMemoryName(machine), program.sram_peak_bytes());
  return out;
}

std::string DigestFields(const Digest& digest) {
  return absl::StrCat("\"sha256\": \"", digest.hash,
                      "\", \"size_bytes\": ", digest.size_bytes);
}

std::string NamedDigest(absl::string_view name, const Digest& digest) {
  return absl::StrCat("{\"name\": ", JsonString(name), ", ",
                      DigestFields(digest), "}");
}

std::string Manifest(const BundleOrigin& origin, const v1::Program& program,
                     const v1::Graph& graph,
                     const std::vector<BundleFile>& files) {
  std::string out = absl::StrCat(
      "{\n  \"edgekiln\": ", JsonString(origin.version),
      ",\n  \"program_version\": ", program.version(),
      ",\n  \"model\": ", NamedDigest(origin.model_name, origin.model),
      ",\n  \"target\": ", NamedDigest(origin.target_name, origin.target),
      ",\n  \"recipe\": ", JsonString(origin.recipe_name),
      ",\n  \"machine\": {", DigestFields(origin.machine), "},\n  \"inputs\": ",
      BindingList(program.inputs(), graph.converted_inputs(), true),
      ",\n  \"outputs\": ",
      BindingList(program.outputs(), graph.converted_outputs(), false));
  if (program.carries_size() > 0) {
    absl::StrAppend(&out, ",\n  \"carries\": ", CarryList(program));
  }
  absl::StrAppend(&out, ",\n  \"files\": [\n");
  for (size_t i = 0; i < files.size(); ++i) {
    absl::StrAppend(&out, "    {\"path\": ", JsonString(files[i].path), ", ",
                    DigestFields(DigestOf(files[i].bytes)),
                    i + 1 < files.size() ? "},\n" : "}\n");
  }
  absl::StrAppend(&out, "  ]\n}\n");
  return out;
}

}  // namespace

absl::StatusOr<std::vector<BundleFile>> BundleFiles(
    const v1::Program& program, const v1::Graph& graph,
    absl::string_view constants, const v1::Machine& machine,
    const BundleOrigin& origin, std::string network_document,
    std::vector<BundleFile> more) {
  EK_RETURN_IF_ERROR(CheckDense(program));
  EK_RETURN_IF_ERROR(CheckMoves(program));
  std::vector<BundleFile> files = std::move(more);
  if (!program.has_firmware()) {
    files.push_back({"constants.bin", std::string(constants)});
    files.push_back({"edgekiln_model.h",
                     BundleHeader(program, constants, machine, origin)});
  } else if (!constants.empty()) {
    files.push_back({"firmware.elf", std::string(constants)});
  }
  EK_ASSIGN_OR_RETURN(std::string map, MemoryMap(program, graph, machine));
  files.push_back({"memory_map.txt", std::move(map)});
  files.push_back({"program.pb", SerializeDeterministically(program)});
  if (!network_document.empty()) {
    files.push_back({"network.ekn", std::move(network_document)});
  }
  if (WritesRegisters(program)) {
    EK_ASSIGN_OR_RETURN(std::string steps, StepsText(program, machine));
    files.push_back({"steps.txt", std::move(steps)});
  }
  for (int i = 0; i < program.streams_size(); ++i) {
    const v1::Program::Stream& stream = program.streams(i);
    EK_ASSIGN_OR_RETURN(const EngineBackend* const backend,
                        FindBackend(machine, stream.engine()));
    const v1::Machine::Engine& engine = machine.engines(stream.engine());
    EK_ASSIGN_OR_RETURN(std::string text,
                        backend->Disassemble(engine, stream.code()),
                        absl::StrCat("stream ", i));
    const std::string stem = StreamStem(i);
    files.push_back({absl::StrCat(stem, ".bin"), stream.code()});
    files.push_back({absl::StrCat(stem, ".txt"), std::move(text)});
  }
  std::sort(
      files.begin(), files.end(),
      [](const BundleFile& a, const BundleFile& b) { return a.path < b.path; });
  std::string manifest = Manifest(origin, program, graph, files);
  files.push_back({"manifest.json", std::move(manifest)});
  return files;
}

}  // namespace edgekiln::compiler
