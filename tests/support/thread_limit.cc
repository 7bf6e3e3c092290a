#include "tests/support/thread_limit.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <limits>

namespace {

constexpr int kUnlimited = std::numeric_limits<int>::max();

std::atomic<int> left{kUnlimited};
std::atomic<int> refusals{0};

bool TakeOne() {
  int now = left.load();
  while (now != kUnlimited) {
    if (now == 0) return false;
    if (left.compare_exchange_weak(now, now - 1)) return true;
  }
  return true;
}

}  // namespace

// That of the C library, or of the sanitizer in front of it, comes next.
extern "C" int pthread_create(pthread_t* thread,
                              const pthread_attr_t* attributes,
                              void* (*start)(void*), void* argument) {
  static const auto next = reinterpret_cast<decltype(&pthread_create)>(
      dlsym(RTLD_NEXT, "pthread_create"));
  if (next == nullptr) std::abort();
  if (!TakeOne()) {
    ++refusals;
    return EAGAIN;
  }
  return next(thread, attributes, start, argument);
}

namespace edgekiln::tests {

ThreadLimit::ThreadLimit(int threads) {
  refusals = 0;
  left = threads;
}

ThreadLimit::~ThreadLimit() { left = kUnlimited; }

int ThreadLimit::refused() const { return refusals; }

}  // namespace edgekiln::tests
