#include "compiler/codegen/c/network_files.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "compiler/codegen/c/c_text.h"
#include "compiler/codegen/c/copied_outputs.h"
#include "compiler/codegen/c/identifiers.h"

namespace edgekiln::compiler {
namespace {

int64_t BytesOf(const Tensor& tensor) {
  return tensor.num_elements() * ElementBytes(tensor.type);
}

class FileWriter {
 public:
  FileWriter(NetworkWriter& writer, const std::vector<LayerText>& layers,
             const ArenaPlan& plan, bool walks, CManifest& manifest)
      : writer_(writer),
        graph_(writer.graph()),
        layers_(layers),
        plan_(plan),
        walks_(walks && !layers.empty()),
        manifest_(manifest),
        p_(writer.prefix()),
        macro_(CMacroPrefix(writer.prefix())) {}

  std::vector<CFile> Files() {
    // The source first: it decides where outputs are.
    std::string source = Source();
    std::vector<CFile> files;
    files.push_back({absl::StrCat(p_, ".h"), Header()});
    files.push_back({absl::StrCat(p_, ".c"), std::move(source)});
    return files;
  }

 private:
  int32_t StateOf(TensorId input) const {
    for (size_t s = 0; s < graph_.states.size(); ++s) {
      if (graph_.states[s].input == input) return static_cast<int32_t>(s);
    }
    return -1;
  }

  // --- Where outputs are found ---

  // Outputs that are constants or states are copied behind the arena's plan, so
  // that they keep their values until the next invocation.
  void PlaceOutputs() {
    arena_bytes_ = plan_.bytes;
    for (const TensorId id : graph_.outputs) {
      if (!IsCopiedOutput(graph_, id)) {
        output_offset_.push_back(plan_.tensors.at(id));
        continue;
      }
      output_offset_.push_back(arena_bytes_);
      copies_.push_back({id, arena_bytes_});
      arena_bytes_ += CopyBytesOf(graph_.tensors[id]);
    }
    manifest_.arena_bytes = arena_bytes_;
  }

  // --- Header ---

  std::string Header() {
    CodeWriter h;
    h.Line("/* Made by edgekiln. C99, no library needed. */");
    h.Line("#ifndef ", macro_, "_H_");
    h.Line("#define ", macro_, "_H_");
    h.Line("");
    h.Line("#include <stdint.h>");
    h.Line("");
    h.Line("/* All values of the network: see ", macro_,
           "_INPUT_0 and so on. */");
    h.Line("#define ", macro_, "_ARENA_BYTES ", arena_bytes_);
    h.Line("extern union ", p_, "_memory {");
    h.Line("  uint64_t align;");
    h.Line("  uint8_t bytes[", macro_, "_ARENA_BYTES];");
    h.Line("} ", p_, "_arena;");
    h.Line("");
    h.Line("#define ", macro_, "_INPUTS ", graph_.inputs.size());
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      Port(h, "INPUT", i, graph_.inputs[i], plan_.tensors.at(graph_.inputs[i]),
           StateOf(graph_.inputs[i]) >= 0, manifest_.inputs);
    }
    h.Line("#define ", macro_, "_OUTPUTS ", graph_.outputs.size());
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      Port(h, "OUTPUT", i, graph_.outputs[i], output_offset_[i], false,
           manifest_.outputs);
    }
    h.Line("/* Sets the states to zero; done before the first invocation. */");
    h.Line("void ", p_, "_reset(void);");
    h.Line("/* Computes the outputs of the inputs, whose memory it uses up.");
    h.Line(
        "   Returns 0, or 1 + the index of a layer that met an index out of");
    h.Line("   range. */");
    h.Line("int ", p_, "_invoke(void);");
    h.Line("");
    h.Line("#endif");
    return h.text();
  }

  void Port(CodeWriter& h, absl::string_view kind, size_t i, TensorId id,
            int64_t offset, bool is_state, std::vector<CPort>& ports) const {
    const Tensor& tensor = graph_.tensors[id];
    const std::string name = absl::StrCat(macro_, "_", kind, "_", i);
    const absl::string_view type = CTypeOf(tensor.type);
    h.Line("/* [", absl::StrJoin(tensor.shape, ","), "] */");
    h.Line("#define ", name, " ((", type, " *)(void *)(", p_, "_arena.bytes + ",
           offset, "))");
    h.Line("#define ", name, "_ELEMENTS ", tensor.num_elements());
    h.Line("#define ", name, "_BYTES ", BytesOf(tensor));
    if (tensor.quantization.has_value()) {
      h.Line("#define ", name, "_SCALE ",
             CFloat(tensor.quantization->scale[0]));
      h.Line("#define ", name, "_ZERO_POINT (",
             CInteger(tensor.quantization->zero_point[0]), ")");
    }
    h.Line("");
    ports.push_back({name, BytesOf(tensor), is_state, offset});
  }

  // --- Source ---

  std::string Source() {
    PlaceOutputs();
    CodeWriter c;
    c.Line("/* Made by edgekiln. */");
    c.Line("#include \"", p_, ".h\"");
    for (const std::string& header : writer_.headers()) {
      c.Line("#include \"", header, "\"");
    }
    c.Line("");
    c.Raw(LayerAttribute(p_));
    c.Raw(
        "/* Called with every output of a layer; for tests. */\n"
        "#ifndef $DONE\n"
        "#define $DONE(layer, output, at, bytes)\n"
        "#endif\n"
        "/* A section that a linker script places; gcc keeps it out of the\n"
        "   file if its name begins with .bss. */\n"
        "#ifdef $ARENA_SECTION\n"
        "#define $PLACE __attribute__((section($ARENA_SECTION), aligned(16)))\n"
        "#else\n"
        "#define $PLACE\n"
        "#endif\n\n");
    c.Line("$PLACE union ", p_, "_memory ", p_, "_arena;");
    c.Line("");
    c.Raw(AddressFunction(p_));
    for (const auto& [id, offset] : plan_.tensors)
      Place(c, writer_.TensorName(id), offset);
    for (const auto& [number, offset] : plan_.scratch) {
      Place(c, writer_.ScratchName(number), offset);
    }
    c.Line("");
    CodeWriter rest;
    Layers(rest);
    Reset(rest);
    Invoke(rest);
    CodeWriter behind;
    behind.Line("");
    behind.Raw(writer_.helpers().Text());
    Entries(behind);
    behind.Raw(rest.text());
    // Constants are most of the text, and have no macros.
    std::string source = WithMacros(c.text());
    const std::string code = WithMacros(behind.text());
    source.reserve(source.size() + writer_.constants_text().size() +
                   code.size());
    source.append(writer_.constants_text());
    source.append(code);
    return source;
  }

  // The macros of the source have the prefix, as everything else.
  std::string WithMacros(const std::string& text) const {
    return absl::StrReplaceAll(text,
                               {{"$LAYER", macro_ + "_LAYER"},
                                {"$DONE", macro_ + "_DONE"},
                                {"$ARENA_SECTION", macro_ + "_ARENA_SECTION"},
                                {"$PLACE", macro_ + "_PLACE"}});
  }

  void Place(CodeWriter& c, const std::string& name, int64_t offset) const {
    c.Line("#define ", name, " ", p_, "_at(", offset, ")");
  }

  // The table of kernels.
  void Entries(CodeWriter& c) const {
    if (writer_.entries().empty()) return;
    for (const auto& [id, offset] : plan_.tensors) {
      c.Line("#define ", writer_.OffsetName(id), " ", offset);
    }
    c.Line("static const struct ", p_, "_entry ", writer_.TableName(), "[",
           writer_.entries().size(), "] = {");
    for (const std::string& entry : writer_.entries()) {
      c.Line("  ", entry, ",");
    }
    c.Line("};");
    c.Line("");
  }

  void Layers(CodeWriter& c) const {
    for (size_t i = 0; i < layers_.size(); ++i) {
      const LayerText& layer = layers_[i];
      if (layer.body.empty()) continue;
      const bool has_result = layer.can_fail || walks_;
      const absl::string_view type = has_result ? "int" : "void";
      c.Line(type, " ", layer.layer.function, "(void);");
      c.Line("$LAYER ", type, " ", layer.layer.function, "(void) {");
      c.Raw(layer.body);
      if (walks_) {
        Done(c, i);
        AliasesDone(c, i + 1);
      }
      if (has_result) c.Line("  return 0;");
      c.Line("}");
      c.Line("");
    }
  }

  void Done(CodeWriter& c, size_t layer) const {
    const std::vector<TensorId>& outputs = layers_[layer].outputs;
    for (size_t k = 0; k < outputs.size(); ++k) {
      c.Line("  $DONE(", layer, ", ", k, ", ", writer_.TensorName(outputs[k]),
             ", ", BytesOf(graph_.tensors[outputs[k]]), ")");
    }
  }

  // Of layers from `first` on that have no function.
  void AliasesDone(CodeWriter& c, size_t first) const {
    for (; first < layers_.size() && layers_[first].body.empty(); ++first) {
      Done(c, first);
    }
  }

  // Bytes of real zero in a state.
  void Reset(CodeWriter& c) const {
    if (!graph_.states.empty()) c.Line("static int ", p_, "_ready;");
    c.Open("void ", p_, "_reset(void)");
    for (const State& state : graph_.states) {
      const Tensor& tensor = graph_.tensors[state.input];
      const absl::string_view type = CTypeOf(tensor.type);
      const int32_t zero = tensor.quantization.has_value()
                               ? tensor.quantization->zero_point[0]
                               : 0;
      c.OpenBlock();
      c.Line(type, " *const to = (", type, " *)",
             writer_.TensorName(state.input), ";");
      c.OpenLoop("i", tensor.num_elements());
      c.Line("to[i] = ", zero, ";");
      c.Close();
      c.Close();
    }
    if (!graph_.states.empty()) c.Line(p_, "_ready = 1;");
    c.Close();
    c.Line("");
  }

  void CopyBytes(CodeWriter& c, const std::string& from, const std::string& to,
                 int64_t bytes) const {
    c.OpenBlock();
    c.Line("const uint8_t *const from = (const uint8_t *)", from, ";");
    c.Line("uint8_t *const to = (uint8_t *)", to, ";");
    c.OpenLoop("i", bytes);
    c.Line("to[i] = from[i];");
    c.Close();
    c.Close();
  }

  std::string At(int64_t offset) const {
    return absl::StrCat("(", p_, "_arena.bytes + ", offset, ")");
  }

  void Invoke(CodeWriter& c) {
    c.Open("int ", p_, "_invoke(void)");
    if (!graph_.states.empty()) {
      c.Line("if (!", p_, "_ready) ", p_, "_reset();");
    }
    if (walks_) {
      Walk(c);
    } else {
      Calls(c);
    }
    for (const auto& [id, offset] : copies_) {
      const Tensor& tensor = graph_.tensors[id];
      CopyBytes(c,
                tensor.is_constant() ? writer_.UseConstant(id)
                                     : writer_.TensorName(id),
                At(offset), BytesOf(tensor));
    }
    UpdateStates(c);
    c.Line("return 0;");
    c.Close();
  }

  void Calls(CodeWriter& c) const {
    for (size_t i = 0; i < layers_.size(); ++i) {
      const LayerText& layer = layers_[i];
      if (layer.can_fail) {
        c.Line("if (", layer.layer.function, "() != 0) return ", i + 1, ";");
      } else if (!layer.body.empty()) {
        c.Line(layer.layer.function, "();");
      }
      Done(c, i);
    }
  }

  // 0 stands for a layer without a function.
  void Walk(CodeWriter& c) const {
    c.Line("static int (*const layers[", layers_.size(), "])(void) = {");
    for (const LayerText& layer : layers_) {
      c.Line("  ", layer.body.empty() ? "0" : layer.layer.function, ",");
    }
    c.Line("};");
    AliasesDone(c, 0);
    c.OpenLoop("i", std::ssize(layers_));
    c.Line("if (layers[i] != 0 && layers[i]() != 0) return i + 1;");
    c.Close();
  }

  // What one state becomes may be another: all are read before any is written.
  void UpdateStates(CodeWriter& c) {
    std::vector<std::string> from;
    for (const State& state : graph_.states) {
      const Tensor& tensor = graph_.tensors[state.output];
      if (tensor.is_constant()) {
        from.push_back(writer_.UseConstant(state.output));
        continue;
      }
      // Copied as an output above where it is a state itself.
      const auto copy = std::find_if(
          copies_.begin(), copies_.end(),
          [&](const auto& copied) { return copied.first == state.output; });
      from.push_back(copy == copies_.end() ? writer_.TensorName(state.output)
                                           : At(copy->second));
    }
    for (size_t s = 0; s < graph_.states.size(); ++s) {
      const State& state = graph_.states[s];
      if (state.output == state.input) continue;
      CopyBytes(c, from[s], writer_.TensorName(state.input),
                BytesOf(graph_.tensors[state.input]));
    }
  }

  NetworkWriter& writer_;
  const Graph& graph_;
  const std::vector<LayerText>& layers_;
  const ArenaPlan& plan_;
  const bool walks_;
  CManifest& manifest_;
  const std::string p_;
  const std::string macro_;
  int64_t arena_bytes_ = 0;
  std::vector<int64_t> output_offset_;
  std::vector<std::pair<TensorId, int64_t>> copies_;
};

}  // namespace

std::string LayerAttribute(absl::string_view prefix) {
  return absl::StrReplaceAll(
      "#if defined(__GNUC__)\n"
      "#define $LAYER __attribute__((noinline))\n"
      "#else\n"
      "#define $LAYER\n"
      "#endif\n"
      "#if !defined(__GNUC__) || defined(__clang__)\n"
      "#pragma STDC FP_CONTRACT OFF\n"
      "#endif\n",
      {{"$LAYER", CMacroPrefix(prefix) + "_LAYER"}});
}

// gcc 12 writes the address of one buffer as a multiple of another's and then
// forgets that it is the arena which a layer stores to; it drops calls of the
// layer. So it does not get to see what buffers have in common.
std::string AddressFunction(absl::string_view prefix) {
  CodeWriter c;
  c.Line("/* The memory at an offset; where it comes from is kept from the");
  c.Line("   optimizer, which would relate buffers to each other. */");
  // Nobody calls it if all layers have entries in a table.
  c.Raw("#if defined(__GNUC__)\n__attribute__((unused))\n#endif\n");
  c.Open("static inline void *", prefix, "_at(uint32_t offset)");
  c.Line("uint8_t *at = ", prefix, "_arena.bytes + offset;");
  c.Raw("#if defined(__GNUC__)\n");
  c.Line("__asm__(\"\" : \"+r\"(at));");
  c.Raw("#endif\n");
  c.Line("return at;");
  c.Close();
  c.Line("");
  return c.text();
}

std::vector<CFile> NetworkFiles(NetworkWriter& writer,
                                const std::vector<LayerText>& layers,
                                const ArenaPlan& plan, bool walks,
                                CManifest& manifest) {
  return FileWriter(writer, layers, plan, walks, manifest).Files();
}

}  // namespace edgekiln::compiler
