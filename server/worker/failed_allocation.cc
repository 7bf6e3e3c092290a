#include "server/worker/failed_allocation.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>

#include "server/worker/sanitized.h"

namespace edgekiln::server {
namespace {

thread_local bool has_failed = false;
thread_local FailedAllocation failed;

int statm = -1;  // /proc/self/statm.

// Virtual memory of this process; allocates nothing.
int64_t AddressSpaceInUse() {
  if (statm < 0) return 0;
  char text[64];
  const ssize_t size = pread(statm, text, sizeof(text), 0);
  int64_t pages = 0;
  for (ssize_t i = 0; i < size && text[i] >= '0' && text[i] <= '9'; ++i) {
    pages = pages * 10 + (text[i] - '0');
  }
  return pages * sysconf(_SC_PAGESIZE);
}

}  // namespace

// Outside of the unnamed namespace for the operators below.
[[maybe_unused]] static void NoteFailure(size_t size) {
  constexpr auto kMax = std::numeric_limits<int64_t>::max();
  has_failed = true;
  failed.asked_bytes =
      size > static_cast<size_t>(kMax) ? kMax : static_cast<int64_t>(size);
  failed.in_use_bytes = AddressSpaceInUse();
}

void OpenMemoryAccount() {
  statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
}

std::optional<FailedAllocation> TakeFailedAllocation() {
  if (!has_failed) return std::nullopt;
  has_failed = false;
  return failed;
}

}  // namespace edgekiln::server

#if !EK_SANITIZED

// The standard library's, and a note of what failed. Its other forms call
// these; its operators delete free what malloc gave.
void* operator new(size_t size) {
  while (true) {
    void* block = std::malloc(size == 0 ? 1 : size);
    if (block != nullptr) return block;
    edgekiln::server::NoteFailure(size);
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

void* operator new(size_t size, std::align_val_t alignment) {
  const auto step = static_cast<size_t>(alignment);
  while (true) {
    const size_t rounded = (size + step - 1) / step * step;
    void* block = rounded < size
                      ? nullptr
                      : std::aligned_alloc(step, rounded == 0 ? step : rounded);
    if (block != nullptr) return block;
    edgekiln::server::NoteFailure(size);
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

#endif
