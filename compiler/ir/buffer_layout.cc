#include "compiler/ir/buffer_layout.h"

#include <algorithm>
#include <map>

#include "base/rounding.h"

namespace edgekiln::compiler {
namespace {

int64_t AlignedBytes(const Tensor& tensor) {
  const int64_t bytes = tensor.num_elements() * ElementBytes(tensor.type);
  constexpr int64_t kUnit = BufferLayout::kAlignmentBytes;
  // At least one unit, so that every value has an address of its own.
  return RoundUp(std::max<int64_t>(bytes, 1), kUnit);
}

// First-fit allocation of ranges.
class Ranges {
 public:
  int64_t Take(int64_t bytes) {
    int64_t at = 0;
    for (const auto& [begin, end] : taken_) {
      if (begin - at >= bytes) break;
      at = end;
    }
    taken_[at] = at + bytes;
    high_water_ = std::max(high_water_, at + bytes);
    return at;
  }
  // What Take() does while nothing is ever released, without the search.
  int64_t Append(int64_t bytes) {
    const int64_t at = high_water_;
    high_water_ += bytes;
    return at;
  }
  void Release(int64_t offset) { taken_.erase(offset); }
  int64_t high_water() const { return high_water_; }

 private:
  std::map<int64_t, int64_t> taken_;  // Begin to end.
  int64_t high_water_ = 0;
};

}  // namespace

BufferLayout LayOutBuffers(const Graph& graph, bool keep_all) {
  BufferLayout layout;
  layout.offset.assign(graph.tensors.size(), -1);
  layout.kept.assign(graph.tensors.size(), keep_all);
  for (const TensorId id : graph.inputs) layout.kept[id] = true;
  for (const TensorId id : graph.outputs) layout.kept[id] = true;
  Ranges ranges;
  const auto take = [&](TensorId id) {
    const int64_t bytes = AlignedBytes(graph.tensors[id]);
    layout.offset[id] = keep_all ? ranges.Append(bytes) : ranges.Take(bytes);
  };
  for (const TensorId id : graph.inputs) take(id);
  const std::vector<std::vector<int32_t>> consumers = Consumers(graph);
  for (int32_t i = 0; i < std::ssize(graph.ops); ++i) {
    const Op& op = graph.ops[i];
    for (const TensorId id : op.outputs) take(id);
    const auto release = [&](TensorId id) {
      if (id == kNoTensor || layout.kept[id] || layout.offset[id] < 0) return;
      if (consumers[id].empty() || consumers[id].back() == i) {
        ranges.Release(layout.offset[id]);
      }
    };
    for (const TensorId id : op.inputs) release(id);
    for (const TensorId id : op.outputs) release(id);
  }
  layout.bytes = ranges.high_water();
  return layout;
}

}  // namespace edgekiln::compiler
