#include "server/worker/warm_cache.h"

#include <malloc.h>

namespace edgekiln::server {

int64_t WarmCache::HeapBytes() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

}  // namespace edgekiln::server
