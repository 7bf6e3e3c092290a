// run_cases FOLDER...: imports each NAME.tflite of the folders, runs it on the
// samples in NAME.input0, NAME.input1, ... (raw, one after the other), which
// are one sequence, and writes NAME.output0, ..., or NAME.error with the
// reason.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/tflite/tflite_import.h"
#include "compiler/ir/interpreter.h"

namespace edgekiln::compiler {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

void WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

size_t BytesOf(const Tensor& tensor) {
  return static_cast<size_t>(tensor.num_elements() * ElementBytes(tensor.type));
}

absl::Status RunModel(const std::string& stem) {
  EK_ASSIGN_OR_RETURN(const Graph graph,
                      ImportTflite(ReadFile(stem + ".tflite")));
  EK_ASSIGN_OR_RETURN(const auto interpreter, Interpreter::Create(graph));
  const size_t fed = graph.inputs.size() - graph.states.size();
  const size_t given = graph.outputs.size() - graph.states.size();
  std::vector<std::string> files;
  std::vector<size_t> bytes;
  for (size_t i = 0; i < fed; ++i) {
    files.push_back(ReadFile(absl::StrCat(stem, ".input", i)));
    bytes.push_back(BytesOf(graph.tensors[graph.inputs[i]]));
  }
  // A model without input values runs once.
  const size_t samples =
      fed == 0 || bytes[0] == 0 ? 1 : files[0].size() / bytes[0];
  std::vector<std::string> results(given);
  for (size_t sample = 0; sample < samples; ++sample) {
    std::vector<absl::string_view> inputs(graph.inputs.size());
    for (size_t i = 0; i < fed; ++i) {
      inputs[i] =
          absl::string_view(files[i]).substr(sample * bytes[i], bytes[i]);
    }
    EK_RETURN_IF_ERROR(interpreter->Run(inputs));
    for (size_t i = 0; i < given; ++i) {
      absl::StrAppend(&results[i], interpreter->value(graph.outputs[i]));
    }
  }
  for (size_t i = 0; i < given; ++i) {
    WriteFile(absl::StrCat(stem, ".output", i), results[i]);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace edgekiln::compiler

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      std::filesystem::path path = entry.path();
      if (path.extension() != ".tflite") continue;
      const std::string stem = path.replace_extension().string();
      const absl::Status status = edgekiln::compiler::RunModel(stem);
      if (!status.ok()) {
        edgekiln::compiler::WriteFile(stem + ".error",
                                      std::string(status.message()));
      }
    }
  }
  return 0;
}
