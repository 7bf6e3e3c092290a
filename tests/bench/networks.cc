#include "tests/bench/networks.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>

#include "base/file.h"
#include "base/status_macros.h"
#include "compiler/frontend/import.h"
#include "compiler/passes/pipeline.h"
#include "tests/pipeline/synthetic.h"

namespace edgekiln::bench {
namespace {

bool IsFloat(const compiler::Graph& graph) {
  return std::all_of(
      graph.inputs.begin(), graph.inputs.end(), [&](compiler::TensorId input) {
        return graph.tensors[static_cast<size_t>(input)].type == v1::FLOAT32;
      });
}

}  // namespace

void OrDie(const absl::Status& status) {
  if (status.ok()) return;
  std::cerr << "bench: " << status << "\n";
  std::exit(1);
}

bool FileExists(const std::string& path) {
  return !path.empty() && access(path.c_str(), R_OK) == 0;
}

std::string ReadFileOrDie(const std::string& path) {
  return OrDie(NewPosixFileSystem()->Read(path, int64_t{1} << 32));
}

std::vector<Network> TinyNetworks(const std::string& models) {
  const auto at = [&](const char* name) { return models + "/" + name; };
  return {
      {"resnet8", at("resnet8_int8.tflite"), at("resnet8_fp32.onnx"),
       at("resnet8_int8_qdq.onnx")},
      {"dscnn", at("dscnn_int8.tflite"), at("dscnn_fp32.onnx"),
       at("dscnn_int8_qdq.onnx")},
      {"ad", at("ad_int8.tflite"), "", at("ad_int8_qdq.onnx")},
      {"person_detect", at("person_detect_int8.tflite"), "", ""},
  };
}

std::vector<Network> Present(const std::vector<Network>& networks,
                             const std::vector<std::string>& only,
                             Results& results) {
  std::vector<Network> present;
  for (const Network& network : networks) {
    if (!only.empty() &&
        std::find(only.begin(), only.end(), network.name) == only.end()) {
      continue;
    }
    if (FileExists(network.model)) {
      present.push_back(network);
    } else {
      results.Note("absent: " + network.name);
    }
  }
  return present;
}

absl::StatusOr<compiler::Graph> LoadFloat(const std::string& path) {
  EK_ASSIGN_OR_RETURN(compiler::Graph graph,
                      compiler::ImportModel(ReadFileOrDie(path)));
  EK_RETURN_IF_ERROR(compiler::Simplify(graph));
  return graph;
}

absl::StatusOr<compiler::Graph> LoadQuantized(const Network& network) {
  EK_ASSIGN_OR_RETURN(compiler::Graph graph, LoadFloat(network.model));
  if (!IsFloat(graph)) return graph;
  return tests::QuantizedBySample(graph);
}

}  // namespace edgekiln::bench
