// The two forms of a network's inputs and outputs: integers that the caller
// converts, and the element types of the source model, converted by the host.
// They give the same values, and their cycles differ by the conversions alone.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/codegen/io_cost.h"
#include "compiler/dataset/convert.h"
#include "compiler/dataset/port_conversion.h"
#include "compiler/passes/integer_io.h"
#include "compiler/quantize/quantize.h"
#include "gtest/gtest.h"
#include "simfarm/session/session.h"
#include "tests/pipeline/chip_run.h"
#include "tests/pipeline/compiler_run.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

using compiler::Graph;

// As it is handed to targets, ports as in the source. A float model is
// quantized with ranges from nowhere: they decide nothing about cycles.
absl::StatusOr<Graph> SourceGraph(const std::string& model) {
  EK_ASSIGN_OR_RETURN(Graph graph, SimplifiedGraph(ReadWholeFile(model)));
  for (const compiler::Tensor& tensor : graph.tensors) {
    if (!tensor.is_constant() && tensor.quantization) return graph;
  }
  v1::CalibrationStatistics statistics;
  statistics.set_samples(1);
  for (const compiler::Tensor& tensor : graph.tensors) {
    if (tensor.is_constant()) continue;
    auto& range = *statistics.add_ranges();
    range.set_tensor(tensor.name);
    range.set_min(-1);
    range.set_max(1);
  }
  return compiler::QuantizeGraph(graph, statistics);
}

absl::StatusOr<int64_t> CyclesOf(const compiler::EmitResult& compiled,
                                 const v1::Machine& machine) {
  EK_ASSIGN_OR_RETURN(const v1::SimReport report,
                      simfarm::CountCycles(compiled.program, machine, {}));
  return report.cycles();
}

// Chips of which the host has a clock of its own, in no round relation.
v1::ResolvedTarget WithHostClock(v1::ResolvedTarget target, int64_t hz) {
  target.mutable_machine()->set_host_clock_hz(hz);
  return target;
}

struct Network {
  const char* model;
  int converted_inputs;
  int converted_outputs;
};

class CyclesTest : public testing::TestWithParam<Network> {};

TEST_P(CyclesTest, DifferByTheConversionsAlone) {
  const std::string model = absl::StrCat("models/", GetParam().model);
  EK_REQUIRE_SHARED(model);
  const auto graph = SourceGraph(SharedPath(model));
  ASSERT_TRUE(graph.ok()) << graph.status();
  Graph integer = *graph;
  compiler::SetIoForm(v1::IO_INTEGER, integer);
  EXPECT_EQ(std::ssize(integer.converted_inputs), GetParam().converted_inputs);
  EXPECT_EQ(std::ssize(integer.converted_outputs),
            GetParam().converted_outputs);
  for (const compiler::Op& op : integer.ops) {
    for (const compiler::TensorId input : integer.inputs) {
      EXPECT_FALSE(op.attributes.has_quantize() && op.inputs[0] == input);
    }
    for (const compiler::TensorId output : integer.outputs) {
      EXPECT_FALSE(op.attributes.has_dequantize() && op.outputs[0] == output);
    }
  }
  Graph source = *graph;
  compiler::SetIoForm(v1::IO_FLOAT, source);
  for (const v1::ResolvedTarget& target :
       {TargetWithScratchpad("extends: \"dla-64-o-512k\"", 512 << 10),
        WithHostClock(
            TargetWithScratchpad("extends: \"dla-128-i-1m\"", 1 << 20),
            33'333'333),
        WithHostClock(
            TargetWithScratchpad(
                "extends: \"dla\" set { name: \"pes\" value: 96 }", 192 << 10),
            700'000'001)}) {
    const auto small = CompileQuantized(integer, target);
    ASSERT_TRUE(small.ok()) << small.status();
    const auto large = CompileQuantized(source, target);
    ASSERT_TRUE(large.ok()) << large.status();
    EXPECT_EQ(small->io_conversion_cycles, large->io_conversion_cycles);
    EXPECT_GT(small->io_conversion_cycles, 0);
    const auto without = CyclesOf(*small, target.machine());
    ASSERT_TRUE(without.ok()) << without.status();
    const auto with = CyclesOf(*large, target.machine());
    ASSERT_TRUE(with.ok()) << with.status();
    EXPECT_EQ(*without + small->io_conversion_cycles, *with);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, CyclesTest,
    testing::Values(
        Network{"mnist_cnn_fp32.onnx", 1, 1}, Network{"lenet_fp32.onnx", 1, 1},
        Network{"mnist_mlp_fp32.onnx", 1, 1},
        Network{"resnet8_fp32.onnx", 1, 1},
        Network{"resnet8_fp32.tflite", 1, 1},
        Network{"resnet8_int8_qdq.onnx", 1, 0},
        Network{"dscnn_fp32.onnx", 1, 1}, Network{"dscnn_int8_qdq.onnx", 1, 0},
        Network{"dscnn_dynamic_range.tflite", 1, 1},
        Network{"ad_int8_qdq.onnx", 1, 1}, Network{"microkws_fp32.onnx", 1, 1},
        Network{"mobilenet_v1_0.25_224_fp32.tflite", 1, 1},
        Network{"yunet_s_fp32.onnx", 1, 12},
        Network{"ultraface_slim_fp32.onnx", 1, 2},
        Network{"htvm_resnet8_digital.onnx", 1, 1},
        Network{"htvm_mobilenet_v1_0.25_96_mixed.onnx", 1, 1}),
    [](const auto& info) {
      std::string name = info.param.model;
      for (char& c : name) c = absl::ascii_isalnum(c) ? c : '_';
      return name;
    });

struct Measured {
  const char* model;
  const char* data;
  bool is_float;
};

class ValuesTest : public testing::TestWithParam<Measured> {
 protected:
  static constexpr int kSamples = 100;

  static absl::StatusOr<Graph> Quantized() {
    const std::string model =
        SharedPath(absl::StrCat("models/", GetParam().model));
    if (!GetParam().is_float) return SourceGraph(model);
    return QuantizedGraph({ReadWholeFile(model), Data(), 16},
                          ops::CpuPath::kAuto);
  }

  static std::string Data() {
    return ReadWholeFile(SharedPath(absl::StrCat("data/", GetParam().data)));
  }

  // Outputs of the chip for each sample, in the element types of the source.
  static absl::StatusOr<std::vector<std::vector<std::string>>> RunChip(
      const Graph& graph, const v1::ResolvedTarget& target) {
    const v1::Graph stored = compiler::GraphToProto(graph);
    compiler::ModelInputs inputs = compiler::InputsOf(stored);
    EK_ASSIGN_OR_RETURN(inputs.conversions,
                        compiler::InputConversionsOf(stored));
    EK_ASSIGN_OR_RETURN(const auto outputs,
                        compiler::OutputConversionsOf(stored));
    v1::ConvertDataOptions convert;
    convert.set_chunk_samples(1);
    convert.set_limit(kSamples);
    const std::string data = Data();
    EK_ASSIGN_OR_RETURN(const compiler::ConvertedData converted,
                        compiler::ConvertDataSet(convert, {data}, inputs));
    EK_ASSIGN_OR_RETURN(const auto compiled, CompileQuantized(graph, target));
    EK_ASSIGN_OR_RETURN(
        const std::unique_ptr<simfarm::Session> session,
        simfarm::LoadSession(compiled.program, compiled.constants,
                             target.machine(), {}));
    std::vector<std::vector<std::string>> all;
    for (const v1::Chunk& chunk : converted.chunks) {
      std::vector<absl::string_view> sample;
      for (const auto& array : chunk.arrays()) sample.push_back(array.data());
      std::vector<std::string>& values = all.emplace_back();
      EK_RETURN_IF_ERROR(session->Run(sample, nullptr, &values));
      for (size_t i = 0; i < values.size(); ++i) {
        if (!outputs[i]) continue;
        EK_ASSIGN_OR_RETURN(values[i], outputs[i]->ToSource(values[i]));
      }
    }
    return all;
  }
};

TEST_P(ValuesTest, AreTheSameInBothForms) {
  EK_REQUIRE_SHARED(absl::StrCat("models/", GetParam().model));
  EK_REQUIRE_SHARED(absl::StrCat("data/", GetParam().data));
  const auto graph = Quantized();
  ASSERT_TRUE(graph.ok()) << graph.status();
  const v1::ResolvedTarget target =
      TargetWithScratchpad("extends: \"dla-64-o-512k\"", 512 << 10);
  Graph integer = *graph;
  ASSERT_TRUE(compiler::SetIoForm(v1::IO_INTEGER, integer));
  Graph source = *graph;
  compiler::SetIoForm(v1::IO_FLOAT, source);
  const auto as_it_came = RunChip(*graph, target);
  ASSERT_TRUE(as_it_came.ok()) << as_it_came.status();
  const auto from_integers = RunChip(integer, target);
  ASSERT_TRUE(from_integers.ok()) << from_integers.status();
  const auto from_floats = RunChip(source, target);
  ASSERT_TRUE(from_floats.ok()) << from_floats.status();
  ASSERT_EQ(as_it_came->size(), size_t{kSamples});
  EXPECT_TRUE(*from_integers == *as_it_came);
  EXPECT_TRUE(*from_floats == *as_it_came);
}

INSTANTIATE_TEST_SUITE_P(
    All, ValuesTest,
    testing::Values(
        Measured{"mnist_cnn_fp32.onnx", "mnist_2k.npz", true},
        Measured{"lenet_fp32.onnx", "mnist_2k.npz", true},
        Measured{"mnist_mlp_fp32.onnx", "mnist_2k.npz", true},
        Measured{"resnet8_fp32.onnx", "cifar10_ic_100.npz", true},
        Measured{"resnet8_fp32.tflite", "cifar10_ic_100.npz", true},
        Measured{"resnet8_int8_qdq.onnx", "cifar10_ic_100.npz", false},
        Measured{"dscnn_fp32.onnx", "kws_500.npz", true},
        Measured{"dscnn_int8_qdq.onnx", "kws_500.npz", false},
        Measured{"ad_int8_qdq.onnx", "ad_windows.npz", false},
        Measured{"htvm_resnet8_digital.onnx", "cifar10_ic_100.npz", false}),
    [](const auto& info) {
      std::string name = info.param.model;
      for (char& c : name) c = absl::ascii_isalnum(c) ? c : '_';
      return name;
    });

}  // namespace
}  // namespace edgekiln::tests
