#include "compiler/codegen/c/testing/compiled_networks.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/rng.h"
#include "base/status_macros.h"
#include "compiler/codegen/c/identifiers.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/same_values.h"
#include "compiler/ir/text.h"

namespace edgekiln::compiler {
namespace {

namespace fs = std::filesystem;

// A folder that is removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "ek_c_XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  fs::path operator/(const std::string& name) const { return path_ / name; }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

void WriteFile(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

constexpr char kShared[] = R"(#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
extern FILE *in, *out;
void get(void *to, size_t bytes);
void put(const void *from, size_t bytes);
void put_tap(const void *at, const void *arena, size_t bytes);
)";

// What runs one network: reads its inputs, writes what every layer gives.
std::string RunnerOf(const CNetwork& network) {
  const CManifest& m = network.sources.manifest;
  const std::string macro = CMacroPrefix(m.name);
  std::string text =
      absl::StrCat("#define ", macro, "_DONE(l, o, at, size) put_tap(at, ",
                   m.name, "_arena.bytes, size);\n", "#include \"", m.name,
                   ".c\"\n", "void run_", m.name, "(void);\nvoid run_", m.name,
                   "(void) {\n  int32_t i, rc;\n  for (i = 0; i < ",
                   network.invocations.size(), "; ++i) {\n");
  for (const CPort& port : m.inputs) {
    if (port.is_state || port.size_bytes == 0) continue;
    absl::StrAppend(&text, "    get(", port.macro, ", ", port.size_bytes,
                    ");\n");
  }
  absl::StrAppend(&text, "    rc = ", m.name, "_invoke();\n    put(&rc, 4);\n",
                  "    if (rc != 0) continue;\n");
  for (const CPort& port : m.outputs) {
    if (port.size_bytes == 0) continue;
    absl::StrAppend(&text, "    put(", m.name, "_arena.bytes + ", port.offset,
                    ", ", port.size_bytes, ");\n");
  }
  return text + "  }\n}\n";
}

std::string MainOf(const std::vector<CNetwork>& networks) {
  std::string text = absl::StrCat(kShared, R"(FILE *in, *out;
void get(void *to, size_t bytes) {
  if (fread(to, 1, bytes, in) != bytes) exit(3);
}
void put(const void *from, size_t bytes) {
  if (fwrite(from, 1, bytes, out) != bytes) exit(4);
}
void put_tap(const void *at, const void *arena, size_t bytes) {
  const int32_t offset =
      (int32_t)((const uint8_t *)at - (const uint8_t *)arena);
  put(&offset, 4);
  put(at, bytes);
}
)");
  std::string calls;
  for (const CNetwork& network : networks) {
    const std::string run = "run_" + network.sources.manifest.name;
    absl::StrAppend(&text, "void ", run, "(void);\n");
    absl::StrAppend(&calls, "  ", run, "();\n");
  }
  return absl::StrCat(text,
                      "int main(int argc, char **argv) {\n"
                      "  if (argc != 3) return 2;\n"
                      "  in = fopen(argv[1], \"rb\");\n"
                      "  out = fopen(argv[2], \"wb\");\n",
                      calls, "  return fclose(out);\n}\n");
}

absl::Status Shell(const std::string& command, const fs::path& log) {
  const int status =
      std::system(absl::StrCat(command, " > ", log.string(), " 2>&1").c_str());
  if (status == 0) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat(command, "\n", ReadFile(log).substr(0, 4000)));
}

absl::Status Build(const std::vector<CNetwork>& networks,
                   const CCompiler& compiler, const TemporaryFolder& folder) {
  std::string units = "main.c";
  WriteFile(folder / "main.c", MainOf(networks));
  std::string unit;
  size_t count = 0;
  for (size_t i = 0; i < networks.size(); ++i) {
    for (const CFile& file : networks[i].sources.files) {
      WriteFile(folder / file.path, file.text);
    }
    absl::StrAppend(&unit, RunnerOf(networks[i]));
    const bool full =
        static_cast<int>(i + 1) % compiler.networks_per_unit == 0 ||
        i + 1 == networks.size();
    if (!full) continue;
    const std::string name = absl::StrCat("unit", count++, ".c");
    WriteFile(folder / name, kShared + unit);
    absl::StrAppend(&units, " ", name);
    unit.clear();
  }
  return Shell(
      absl::StrCat("cd ", folder.path().string(), " && ", compiler.command,
                   " -std=c99 -pedantic -Wall -Wextra -Wshadow -Werror",
                   " -ffp-contract=off ", compiler.flags, " ", units,
                   " -o program"),
      folder / "log");
}

// Reads what the program wrote and compares it value by value.
class Comparison {
 public:
  Comparison(const CNetwork& network, const std::string& written, size_t& at)
      : network_(network), written_(written), at_(at) {}

  absl::Status Run() {
    InterpreterOptions options;
    std::vector<std::pair<int32_t, std::vector<std::string>>> layers;
    options.after_op = [&](int32_t op,
                           absl::Span<const absl::string_view> out) {
      layers.emplace_back(op, std::vector<std::string>(out.begin(), out.end()));
      return absl::OkStatus();
    };
    EK_ASSIGN_OR_RETURN(const auto interpreter,
                        Interpreter::Create(network_.graph, options));
    for (const std::vector<std::string>& given : network_.invocations) {
      layers.clear();
      std::vector<absl::string_view> inputs;
      size_t next = 0;
      for (const CPort& port : network_.sources.manifest.inputs) {
        inputs.push_back(port.is_state ? absl::string_view()
                                       : absl::string_view(given[next++]));
      }
      const absl::Status ran = interpreter->Run(inputs);
      for (const auto& [op, values] : layers) {
        const Op& layer = network_.graph.ops[op];
        for (size_t i = 0; i < values.size(); ++i) {
          EK_RETURN_IF_ERROR(SameTap(op, layer.outputs[i], values[i]),
                             absl::StrCat("layer ", layer.id, ", ",
                                          std::string(layer.kind())));
        }
      }
      int32_t rc = 0;
      if (at_ + 4 > written_.size()) return absl::InternalError("cut off");
      std::memcpy(&rc, written_.data() + at_, 4);
      at_ += 4;
      if (ran.ok() != (rc == 0)) {
        return absl::InternalError(absl::StrCat(
            "returned ", rc, ", the interpreter ", ran.ToString()));
      }
      if (!ran.ok()) continue;
      for (const TensorId id : network_.graph.outputs) {
        EK_RETURN_IF_ERROR(Same(id, std::string(interpreter->value(id))),
                           "output");
      }
    }
    return absl::OkStatus();
  }

 private:
  // Offset and values are those that the manifest promises.
  absl::Status SameTap(int32_t op, TensorId id, const std::string& want) {
    int32_t offset = 0;
    if (at_ + 4 > written_.size()) return absl::InternalError("cut off");
    std::memcpy(&offset, written_.data() + at_, 4);
    at_ += 4;
    if (want.empty()) return absl::OkStatus();
    const CManifest& m = network_.sources.manifest;
    const auto tensor =
        std::find_if(m.tensors.begin(), m.tensors.end(),
                     [id](const CTensor& t) { return t.id == id; });
    if (tensor == m.tensors.end() || tensor->offset != offset ||
        std::ssize(want) != tensor->size_bytes) {
      return absl::InternalError("not where the manifest has it");
    }
    const bool has_function = !m.layers[op].function.empty();
    if (has_function ? tensor->layer != op : tensor->layer >= op) {
      return absl::InternalError(absl::StrCat("layer ", tensor->layer));
    }
    return Same(id, InMemory(*tensor, want));
  }

  // Row-major values in the order of the tensor's memory.
  std::string InMemory(const CTensor& tensor, const std::string& rows) const {
    const Tensor& of = network_.graph.tensors[tensor.id];
    const auto bytes = static_cast<size_t>(ElementBytes(of.type));
    std::string memory = rows;
    for (int64_t i = 0; i < of.num_elements(); ++i) {
      int64_t to = 0;
      int64_t rest = i;
      for (size_t d = of.shape.size(); d-- > 0; rest /= of.shape[d]) {
        to += rest % of.shape[d] * tensor.strides[d];
      }
      std::memcpy(memory.data() + static_cast<size_t>(to) * bytes,
                  rows.data() + static_cast<size_t>(i) * bytes, bytes);
    }
    return memory;
  }

  absl::Status Same(TensorId id, const std::string& want) {
    const Tensor& tensor = network_.graph.tensors[id];
    if (at_ + want.size() > written_.size()) {
      return absl::InternalError("the program wrote too little");
    }
    const auto bytes = static_cast<size_t>(ElementBytes(tensor.type));
    for (size_t i = 0; i < want.size(); i += bytes) {
      const char* got = written_.data() + at_ + i;
      if (SameValues(tensor.type, absl::string_view(want).substr(i, bytes),
                     absl::string_view(got, bytes)))
        continue;
      return absl::InternalError(
          absl::StrCat("element ", i / bytes, " of ", want.size() / bytes,
                       " (type ", tensor.type, "): want ",
                       Hex(want.data() + i, bytes), ", got ", Hex(got, bytes)));
    }
    at_ += want.size();
    return absl::OkStatus();
  }

  static std::string Hex(const char* value, size_t bytes) {
    std::string text;
    for (size_t i = bytes; i-- > 0;) {
      absl::StrAppendFormat(&text, "%02x",
                            static_cast<unsigned char>(value[i]));
    }
    return text;
  }

  const CNetwork& network_;
  const std::string& written_;
  size_t& at_;
};

float RandomReal(Rng& rng) {
  switch (rng.Below(40)) {
    case 0:
      return 0.0f;
    case 1:
      return -0.0f;
    case 2:
      return static_cast<float>(rng.InRange(-3, 3));
    case 3:
      return static_cast<float>(rng.InRange(-5, 5)) + 0.5f;
    case 4:
      return static_cast<float>(rng.Unit() - 0.5) * 1e4f;
    case 5:
      return static_cast<float>(rng.Unit() - 0.5) * 1e-4f;
    default:
      return static_cast<float>(rng.Unit() * 6 - 3);
  }
}

}  // namespace

absl::Status CompareWithInterpreter(const std::vector<CNetwork>& networks,
                                    const CCompiler& compiler) {
  const TemporaryFolder folder;
  EK_RETURN_IF_ERROR(Build(networks, compiler, folder));
  std::string given;
  for (const CNetwork& network : networks) {
    for (const auto& invocation : network.invocations) {
      for (const std::string& value : invocation) given += value;
    }
  }
  WriteFile(folder / "in", given);
  EK_RETURN_IF_ERROR(
      Shell(absl::StrCat("cd ", folder.path().string(), " && ./program in out"),
            folder / "log"));
  const std::string written = ReadFile(folder / "out");
  size_t at = 0;
  for (const CNetwork& network : networks) {
    EK_RETURN_IF_ERROR(Comparison(network, written, at).Run(),
                       absl::StrCat(network.sources.manifest.name, "\n",
                                    PrintGraph(network.graph).substr(0, 3000)));
  }
  return at == written.size() ? absl::OkStatus()
                              : absl::InternalError("too much was written");
}

std::vector<std::string> RandomInputs(const Graph& graph, uint64_t seed) {
  Rng rng(seed);
  std::vector<std::string> inputs;
  for (const TensorId id : graph.inputs) {
    bool is_state = false;
    for (const State& state : graph.states) is_state |= state.input == id;
    if (is_state) continue;
    const Tensor& tensor = graph.tensors[id];
    std::string& bytes = inputs.emplace_back();
    int64_t extent = 0;
    const size_t hash = tensor.name.find('#');
    const bool limited =
        hash != std::string::npos &&
        absl::SimpleAtoi(absl::string_view(tensor.name).substr(hash + 1),
                         &extent);
    const bool lengths = limited && tensor.name[0] == 'n';
    const auto put = [&bytes](auto value) {
      bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
    };
    for (int64_t i = 0; i < tensor.num_elements(); ++i) {
      const int64_t index = limited ? rng.InRange(lengths ? 0 : -extent,
                                                  lengths ? extent : extent - 1)
                                    : 0;
      switch (tensor.type) {
        case v1::FLOAT32:
          put(RandomReal(rng));
          break;
        case v1::FLOAT64:
          put(double{RandomReal(rng)} * 1.1);
          break;
        case v1::FLOAT16:
          put(static_cast<uint16_t>(rng.Below(2) << 15 | rng.Below(0x4800)));
          break;
        case v1::BOOL:
          put(static_cast<uint8_t>(rng.Below(2)));
          break;
        case v1::INT32:
          limited
              ? put(static_cast<int32_t>(index))
              : put(static_cast<int32_t>(rng.Next() >> (32 + rng.Below(31))));
          break;
        case v1::INT64:
          limited ? put(index)
                  : put(static_cast<int64_t>(rng.Next() >> rng.Below(60)));
          break;
        default: {
          const uint64_t value = rng.Next() >> (rng.Below(3) * 30);
          bytes.append(reinterpret_cast<const char*>(&value),
                       static_cast<size_t>(ElementBytes(tensor.type)));
        }
      }
    }
  }
  return inputs;
}

}  // namespace edgekiln::compiler
