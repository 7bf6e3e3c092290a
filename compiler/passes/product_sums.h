#ifndef EK_COMPILER_PASSES_PRODUCT_SUMS_H_
#define EK_COMPILER_PASSES_PRODUCT_SUMS_H_

#include <cstdint>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "compiler/ir/graph.h"

// What sums of products can come to, whatever the inputs are: engines hold them
// in a limited number of bits.
namespace edgekiln::compiler {

// Inclusive; 0 lies in it.
struct SumRange {
  int64_t low = 0;
  int64_t high = 0;
  bool operator==(const SumRange&) const = default;
};

// Whether so many bits, 1 to 64, hold all of it in two's complement.
bool Fits(SumRange range, int32_t bits);

// What values of quantized tensors can be, less their zero points: those of
// their type, within the limits of the op that makes them. Ops that make no
// other values than they read pass limits on.
class ValueRanges {
 public:
  // `graph` must outlive it.
  explicit ValueRanges(const Graph& graph) : graph_(graph) {}

  // Looks at the ops that the graph got since the last call, each once, in
  // constant time. What limits their values must not change any more.
  void Update();

  // Of a tensor with one scale.
  SumRange LessZero(TensorId tensor) const;
  // Null: ops that were looked at leave all values of its type.
  const SumRange* FindLimits(TensorId tensor) const;

 private:
  void Add(const Op& op);

  const Graph& graph_;
  size_t next_ = 0;  // In graph_.ops.
  absl::flat_hash_map<TensorId, SumRange> limits_;
};

// The sum of all products of `weights` with values from `inputs`; sums of some
// of the products, in whatever order they are added, lie in it as well. Up to
// 2^31 weights and values of 16 bits.
SumRange SumOfProducts(absl::Span<const int8_t> weights, SumRange inputs);

// Of any output channel of a convolution, depthwise convolution or fully
// connected layer, without the bias; its tensors are quantized, and `inputs`
// has what it reads. Nothing for other ops, and without constant int8 or uint8
// weights, as many for each channel.
std::optional<SumRange> SumsOfProducts(const Graph& graph, const Op& op,
                                       const ValueRanges& inputs);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PASSES_PRODUCT_SUMS_H_
