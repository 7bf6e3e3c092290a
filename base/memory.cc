#include "base/memory.h"

#include <malloc.h>

namespace edgekiln {
namespace {

constexpr int kKeptBytes = 32 << 20;

}  // namespace

void KeepFreedMemory() {
  mallopt(M_MMAP_THRESHOLD, kKeptBytes);
  mallopt(M_TRIM_THRESHOLD, kKeptBytes);
}

}  // namespace edgekiln
