#include "tests/support/heap_peak.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<int64_t> in_use{0};
std::atomic<int64_t> peak{0};

void* Count(void* block) {
  if (block == nullptr) std::abort();  // Tests do not run out of memory.
  const int64_t size = static_cast<int64_t>(malloc_usable_size(block));
  const int64_t now = in_use.fetch_add(size) + size;
  int64_t largest = peak.load();
  while (now > largest && !peak.compare_exchange_weak(largest, now)) {
  }
  return block;
}

void Free(void* block) {
  if (block == nullptr) return;
  in_use.fetch_sub(static_cast<int64_t>(malloc_usable_size(block)));
  std::free(block);
}

}  // namespace

void* operator new(size_t size) { return Count(std::malloc(size)); }
void* operator new(size_t size, std::align_val_t alignment) {
  const size_t step = static_cast<size_t>(alignment);
  return Count(std::aligned_alloc(step, (size + step - 1) / step * step));
}
// What standard algorithms take their buffers by.
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  void* block = std::malloc(size);
  return block == nullptr ? nullptr : Count(block);
}
void operator delete(void* block) noexcept { Free(block); }
void operator delete(void* block, size_t) noexcept { Free(block); }
void operator delete(void* block, std::align_val_t) noexcept { Free(block); }
void operator delete(void* block, size_t, std::align_val_t) noexcept {
  Free(block);
}

namespace edgekiln::tests {

HeapPeak::HeapPeak() : before_(in_use.load()) { peak.store(before_); }

int64_t HeapPeak::bytes() const { return peak.load() - before_; }

}  // namespace edgekiln::tests
