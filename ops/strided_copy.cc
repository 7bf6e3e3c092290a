#include "ops/strided_copy.h"

#include <cstring>

#include "ops/element_types.h"

namespace edgekiln::ops {
namespace {

// Loops that walk the same memory in the same order, joined where one continues
// the other; without those of one element. Innermost last.
std::vector<StridedLoop> Joined(const std::vector<StridedLoop>& loops) {
  std::vector<StridedLoop> joined;
  for (const StridedLoop& loop : loops) {
    if (loop.extent == 1) continue;
    if (!joined.empty() && joined.back().step == loop.step * loop.extent) {
      joined.back() = {joined.back().extent * loop.extent, loop.step};
    } else {
      joined.push_back(loop);
    }
  }
  if (joined.empty()) joined.push_back({1, 1});
  return joined;
}

template <typename T>
void CopyRow(const T* from, StridedLoop loop, T* to) {
  if (loop.step == 1) {
    std::memcpy(to, from, loop.extent * sizeof(T));
    return;
  }
  for (int64_t i = 0; i < loop.extent; ++i) to[i] = from[i * loop.step];
}

template <typename T>
void Copy(const T* from, const std::vector<StridedLoop>& loops, T* to) {
  const StridedLoop row = loops.back();
  const size_t outer = loops.size() - 1;
  std::vector<int64_t> position(outer, 0);
  while (true) {
    CopyRow(from, row, to);
    to += row.extent;
    size_t d = outer;
    for (; d > 0; --d) {
      const StridedLoop& loop = loops[d - 1];
      from += loop.step;
      if (++position[d - 1] < loop.extent) break;
      from -= loop.step * loop.extent;
      position[d - 1] = 0;
    }
    if (d == 0) return;
  }
}

}  // namespace

std::vector<int64_t> RowMajorSteps(absl::Span<const int64_t> shape) {
  std::vector<int64_t> steps(shape.size(), 1);
  for (int64_t i = std::ssize(shape) - 2; i >= 0; --i) {
    steps[i] = steps[i + 1] * shape[i + 1];
  }
  return steps;
}

void CopyStrided(const char* from, int64_t element_bytes,
                 std::vector<StridedLoop> loops, char* to) {
  loops = Joined(loops);
  WithElementSize(element_bytes, [&](auto type) {
    using T = decltype(type);
    Copy(reinterpret_cast<const T*>(from), loops, reinterpret_cast<T*>(to));
  });
}

}  // namespace edgekiln::ops
