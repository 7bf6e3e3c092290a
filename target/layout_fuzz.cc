// Any Layout is refused or gives every element bytes of its own within its
// size; any Box is refused or lies in the tensor.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "target/layout.h"

namespace {

constexpr int64_t kMaxBytes = 1 << 16;  // More only costs time.

void Check(bool holds) {
  if (!holds) __builtin_trap();
}

void RoundTrip(const edgekiln::target::Layout& layout) {
  if (layout.size_bytes() > kMaxBytes) return;
  // Of the very size, so that a sanitizer sees a step beyond it.
  std::vector<char> memory(static_cast<size_t>(layout.size_bytes()));
  std::vector<char> dense(static_cast<size_t>(layout.dense_bytes()));
  for (size_t i = 0; i < dense.size(); ++i) {
    dense[i] = static_cast<char>(i ^ (i >> 8));
  }
  layout.Scatter(dense.data(), memory.data());
  std::vector<char> again(dense.size());
  layout.Gather(memory.data(), again.data());
  Check(again == dense);
  int64_t taken = 0;
  layout.VisitTaken([&](int64_t offset, int64_t bytes) {
    Check(offset >= 0 && bytes > 0 && offset + bytes <= layout.end_bytes());
    taken += bytes;
    return true;
  });
  Check(taken == layout.dense_bytes());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using edgekiln::target::Layout;
  edgekiln::v1::Layout message;
  if (message.ParseFromArray(data, static_cast<int>(size))) {
    const auto layout = Layout::Create(message);
    if (layout.ok()) RoundTrip(*layout);
  }
  edgekiln::v1::Box box;
  if (box.ParseFromArray(data, static_cast<int>(size))) {
    const std::vector<int64_t> own = {2, 3, 4, 5};
    for (const absl::Span<const int64_t> shape :
         {absl::MakeConstSpan(own), absl::MakeConstSpan(box.shape())}) {
      const auto part = Layout::OfBox(box, shape, 2);
      if (part.ok()) RoundTrip(*part);
    }
  }
  return 0;
}
