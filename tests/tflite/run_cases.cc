// run_cases FOLDER...: imports each NAME.tflite of the folders, runs it on the
// samples in NAME.input0, NAME.input1, ... (raw, one after the other) and
// writes NAME.output0, ..., or NAME.error with the reason. States start at zero
// and are carried from sample to sample.

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

// Real value zero in every element.
std::string Zero(const Tensor& tensor) {
  const int64_t bytes = ElementBytes(tensor.type);
  std::string value(static_cast<size_t>(tensor.num_elements() * bytes), '\0');
  if (bytes == 1 && tensor.quantization.has_value()) {
    value.assign(value.size(),
                 static_cast<char>(tensor.quantization->zero_point[0]));
  }
  return value;
}

absl::Status RunModel(const std::string& stem) {
  EK_ASSIGN_OR_RETURN(const Graph graph,
                      ImportTflite(ReadFile(stem + ".tflite")));
  EK_ASSIGN_OR_RETURN(const auto interpreter, Interpreter::Create(graph));
  const size_t fed = graph.inputs.size() - graph.states.size();
  const size_t given = graph.outputs.size() - graph.states.size();
  std::vector<std::string> files;
  std::vector<std::string> values;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    values.push_back(Zero(graph.tensors[graph.inputs[i]]));
    if (i < fed) files.push_back(ReadFile(absl::StrCat(stem, ".input", i)));
  }
  // A model without input values runs once.
  const size_t samples =
      fed == 0 || values[0].empty() ? 1 : files[0].size() / values[0].size();
  std::vector<std::string> results(given);
  for (size_t sample = 0; sample < samples; ++sample) {
    for (size_t i = 0; i < fed; ++i) {
      values[i] = files[i].substr(sample * values[i].size(), values[i].size());
    }
    const std::vector<absl::string_view> inputs(values.begin(), values.end());
    EK_RETURN_IF_ERROR(interpreter->Run(inputs));
    for (size_t i = 0; i < given; ++i) {
      absl::StrAppend(&results[i], interpreter->value(graph.outputs[i]));
    }
    for (size_t i = 0; i < graph.states.size(); ++i) {
      values[fed + i] = std::string(interpreter->value(graph.states[i].output));
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
