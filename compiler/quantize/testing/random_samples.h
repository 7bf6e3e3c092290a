#ifndef EK_COMPILER_QUANTIZE_TESTING_RANDOM_SAMPLES_H_
#define EK_COMPILER_QUANTIZE_TESTING_RANDOM_SAMPLES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/rng.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/data.pb.h"

namespace edgekiln::compiler {

// In [-1, 1).
inline float Uniform(Rng& rng) {
  return static_cast<float>(rng.Next() >> 40) * 0x1p-23f - 1;
}

// `graph`, with other weights in each op that has any. Always the same.
inline Graph WithRandomWeights(Graph graph) {
  Rng rng(1);
  for (const Op& op : graph.ops) {
    if (op.inputs.size() < 2) continue;
    Tensor& weights = graph.tensors[op.inputs[1]];
    if (!weights.is_constant()) continue;
    std::vector<float> values;
    for (int64_t i = 0; i < weights.num_elements(); ++i) {
      values.push_back(Uniform(rng));
    }
    weights.data =
        ConstantData(std::string(reinterpret_cast<const char*>(values.data()),
                                 values.size() * sizeof(float)));
  }
  return graph;
}

// Samples of the graph's only input, in chunks of `chunk`. `order`: which of
// them, always the same.
inline std::vector<v1::Chunk> RandomSamples(const Graph& graph,
                                            const std::vector<int>& order,
                                            int64_t chunk) {
  const int64_t elements = graph.tensors[graph.inputs[0]].num_elements();
  std::vector<std::string> samples;
  Rng rng(2);
  for (size_t s = 0; s < order.size(); ++s) {
    std::vector<float> values;
    for (int64_t i = 0; i < elements; ++i) {
      values.push_back(Uniform(rng) * Uniform(rng) * 4);
    }
    samples.emplace_back(reinterpret_cast<const char*>(values.data()),
                         values.size() * sizeof(float));
  }
  std::vector<v1::Chunk> chunks;
  for (size_t s = 0; s < order.size(); ++s) {
    if (s % static_cast<size_t>(chunk) == 0) {
      chunks.emplace_back().add_arrays();
    }
    chunks.back().set_samples(chunks.back().samples() + 1);
    chunks.back().mutable_arrays(0)->mutable_data()->append(samples[order[s]]);
  }
  return chunks;
}

inline std::vector<int> InOrder(int count) {
  std::vector<int> order;
  for (int i = 0; i < count; ++i) order.push_back(i);
  return order;
}

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_TESTING_RANDOM_SAMPLES_H_
