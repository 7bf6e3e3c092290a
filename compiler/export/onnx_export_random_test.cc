// Small random graphs: the exported model passes ONNX's checker and computes
// the same once it is imported again, in float, and in int8 where all layers
// come back as they were.

#include <string>
#include <vector>

#include "base/rng.h"
#include "compiler/export/onnx_export.h"
#include "compiler/export/testing/onnx_checker.h"
#include "compiler/export/testing/round_trip.h"
#include "compiler/ir/text.h"
#include "compiler/passes/pipeline.h"
#include "compiler/passes/testing/random_graph.h"
#include "compiler/passes/testing/rewrite_case.h"
#include "compiler/quantize/calibrate.h"
#include "compiler/quantize/quantize.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

constexpr uint64_t kGraphs = 1000;

std::vector<std::string> RandomSample(const Graph& graph, Rng& rng) {
  std::vector<std::string> sample;
  for (const TensorId id : graph.inputs) {
    std::string& bytes = sample.emplace_back();
    for (int64_t i = 0; i < graph.tensors[id].num_elements(); ++i) {
      const float share = static_cast<float>(rng.Next() >> 40) * 0x1p-24f;
      const float value = 4 * share - 2;
      bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
    }
  }
  return sample;
}

v1::Chunk ChunkOf(const Graph& graph, const std::vector<std::string>& sample) {
  v1::Chunk chunk;
  chunk.set_samples(1);
  for (size_t i = 0; i < sample.size(); ++i) {
    v1::Chunk::Array& array = *chunk.add_arrays();
    *array.mutable_type() = TypeOf(graph.tensors[graph.inputs[i]]);
    array.set_data(sample[i]);
  }
  return chunk;
}

TEST(OnnxExportRandomTest, FloatGraphsComputeTheSame) {
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    const Graph graph = RandomGraph(seed, /*quantized=*/false).Make();
    SCOPED_TRACE(testing::Message() << "seed " << seed << "\n"
                                    << PrintGraph(graph));
    const auto bytes = ExportQdqOnnx(graph);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    const absl::Status checked = CheckedByOnnx(*bytes);
    ASSERT_TRUE(checked.ok()) << checked;
    const auto again = ExportedAndImported(graph);
    ASSERT_TRUE(again.ok()) << again.status();
    ExpectSameOutputs(graph, *again, seed);
    if (HasFailure()) return;
  }
}

TEST(OnnxExportRandomTest, QuantizedGraphsComeBack) {
  uint64_t whole = 0;
  uint64_t quantizable = 0;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    Graph graph = RandomGraph(seed, /*quantized=*/false).Make();
    ASSERT_TRUE(Simplify(graph).ok());
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    const std::vector<std::string> sample = RandomSample(graph, rng);
    const v1::Chunk chunk = ChunkOf(graph, sample);
    const auto statistics = Calibrate(graph, {&chunk, 1}, {});
    if (!statistics.ok()) continue;  // Values that are no numbers.
    const auto quantized = QuantizeGraph(graph, *statistics);
    if (!quantized.ok()) continue;
    ++quantizable;
    const auto bytes = ExportQdqOnnx(*quantized);
    ASSERT_TRUE(bytes.ok()) << bytes.status() << PrintGraph(*quantized);
    const absl::Status checked = CheckedByOnnx(*bytes);
    ASSERT_TRUE(checked.ok()) << checked << PrintGraph(*quantized);
    const auto again = ExportedAndImported(*quantized);
    ASSERT_TRUE(again.ok()) << again.status() << PrintGraph(*quantized);
    // Random graphs are rich in what looks different: transposes, squares, even
    // average pools.
    if (!IntegerDifferences(*quantized, *again).empty()) continue;
    ++whole;
    const auto before = OutputsOf(*quantized, sample);
    const auto after = OutputsOf(WithRoundingsOf(*quantized, *again), sample);
    ASSERT_TRUE(before.ok() && after.ok());
    ASSERT_TRUE(*before == *after)
        << PrintGraph(*quantized) << PrintGraph(*again);
  }
  EXPECT_GT(quantizable, kGraphs * 9 / 10);
  EXPECT_GT(whole, kGraphs / 2);
}

}  // namespace
}  // namespace edgekiln::compiler
