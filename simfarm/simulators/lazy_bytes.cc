#include "simfarm/simulators/lazy_bytes.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace edgekiln::simfarm {
namespace {

// calloc() clears what was used before, however large: from here on that costs
// more than new pages. What is smaller has red zones in sanitized builds.
constexpr int64_t kMinMappedBytes = int64_t{1} << 16;

void* Map(int64_t size) {
  void* bytes = mmap(nullptr, static_cast<size_t>(size), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return bytes == MAP_FAILED ? nullptr : bytes;
}

// The same for memory that need not be cleared. From this size on mmap(): most
// pages of such maps are never touched.
constexpr int64_t kMinMappedUnsetBytes = int64_t{1} << 24;

uint8_t* Checked(void* bytes) {
  if (bytes == nullptr) throw std::bad_alloc();
  return static_cast<uint8_t*>(bytes);
}

}  // namespace

void LazyBytes::Free::operator()(uint8_t* bytes) const {
  if (mapped_bytes > 0) {
    munmap(bytes, static_cast<size_t>(mapped_bytes));
  } else {
    std::free(bytes);
  }
}

LazyBytes::LazyBytes(int64_t size) {
  if (size == 0) return;
  const bool mapped = size >= kMinMappedBytes;
  *this = LazyBytes(
      Checked(mapped ? Map(size) : std::calloc(static_cast<size_t>(size), 1)),
      size, mapped);
}

LazyBytes LazyBytes::Unset(int64_t size) {
  if (size == 0) return LazyBytes();
  const bool mapped = size >= kMinMappedUnsetBytes;
  return LazyBytes(
      Checked(mapped ? Map(size) : std::malloc(static_cast<size_t>(size))),
      size, mapped);
}

}  // namespace edgekiln::simfarm
