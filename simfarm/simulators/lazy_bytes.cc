#include "simfarm/simulators/lazy_bytes.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace edgekiln::simfarm {
namespace {

// calloc() clears what was used before, however large: from here on that costs
// more than new pages. What is smaller has red zones in sanitized builds.
constexpr int64_t kMinMappedBytes = int64_t{1} << 16;

uint8_t* Map(int64_t size) {
  void* bytes = mmap(nullptr, static_cast<size_t>(size), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return bytes == MAP_FAILED ? nullptr : static_cast<uint8_t*>(bytes);
}

uint8_t* Allocate(int64_t size) {
  if (size == 0) return nullptr;
  uint8_t* bytes =
      size >= kMinMappedBytes
          ? Map(size)
          : static_cast<uint8_t*>(std::calloc(static_cast<size_t>(size), 1));
  if (bytes == nullptr) throw std::bad_alloc();
  return bytes;
}

}  // namespace

void LazyBytes::Free::operator()(uint8_t* bytes) const {
  if (mapped_bytes > 0) {
    munmap(bytes, static_cast<size_t>(mapped_bytes));
  } else {
    std::free(bytes);
  }
}

LazyBytes::LazyBytes(int64_t size)
    : bytes_(Allocate(size), Free{size >= kMinMappedBytes ? size : 0}),
      size_(size) {}

}  // namespace edgekiln::simfarm
