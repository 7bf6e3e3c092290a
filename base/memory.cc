#include "base/memory.h"

#include <malloc.h>
#include <sys/mman.h>

#include <cstdint>

namespace edgekiln {
namespace {

constexpr int kKeptBytes = 32 << 20;

}  // namespace

void PreferHugePages(void* memory, size_t bytes) {
  const auto start = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t first =
      (start + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
  const uintptr_t end = (start + bytes) / kHugePageBytes * kHugePageBytes;
  if (first >= end) return;
  // Only advice: without it all works, slower.
  madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
}

void KeepFreedMemory() {
  mallopt(M_MMAP_THRESHOLD, kKeptBytes);
  mallopt(M_TRIM_THRESHOLD, kKeptBytes);
  // malloc_trim() leaves the end of every arena but the main one as it is: up
  // to the threshold above, each.
  mallopt(M_ARENA_MAX, 1);
}

void ReturnFreedMemory() { malloc_trim(0); }

}  // namespace edgekiln
