#include "tests/bench/networks.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>

#include "base/file.h"
#include "base/status_macros.h"
#include "compiler/dataset/convert.h"
#include "compiler/dataset/synthesize.h"
#include "compiler/frontend/import.h"
#include "compiler/passes/pipeline.h"
#include "compiler/quantize/calibrate.h"
#include "compiler/quantize/quantize.h"

namespace edgekiln::bench {
namespace {

absl::StatusOr<std::vector<v1::Chunk>> OneSample(const compiler::Graph& graph) {
  v1::SynthesizeDataOptions options;
  options.set_seed(1);
  options.set_samples(1);
  options.set_chunk_samples(1);
  return compiler::SynthesizeData(
      options, compiler::InputsOf(compiler::GraphToProto(graph)).types);
}

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

absl::StatusOr<compiler::Graph> LoadQuantized(const Network& network) {
  EK_ASSIGN_OR_RETURN(compiler::Graph graph,
                      compiler::ImportModel(ReadFileOrDie(network.model)));
  EK_RETURN_IF_ERROR(compiler::Simplify(graph));
  if (!IsFloat(graph)) return graph;
  EK_ASSIGN_OR_RETURN(const std::vector<v1::Chunk> chunks, OneSample(graph));
  v1::CalibrateOptions options;
  options.set_method(v1::CalibrateOptions::MIN_MAX);
  EK_ASSIGN_OR_RETURN(const v1::CalibrationStatistics statistics,
                      compiler::Calibrate(graph, chunks, options));
  return compiler::QuantizeGraph(graph, statistics);
}

absl::StatusOr<std::vector<std::string>> SyntheticInputs(
    const compiler::Graph& graph) {
  EK_ASSIGN_OR_RETURN(const std::vector<v1::Chunk> chunks, OneSample(graph));
  std::vector<std::string> inputs;
  for (const v1::Chunk::Array& array : chunks[0].arrays()) {
    inputs.push_back(array.data());
  }
  return inputs;
}

}  // namespace edgekiln::bench
