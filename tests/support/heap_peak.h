#ifndef EK_TESTS_SUPPORT_HEAP_PEAK_H_
#define EK_TESTS_SUPPORT_HEAP_PEAK_H_

#include <cstdint>

namespace edgekiln::tests {

// The most heap in use since it was made, above what was in use then. Exact,
// where the peak of a process knows no end and sanitizers add to it. Programs
// that link this count all that operator new hands out, on every thread. One at
// a time.
class HeapPeak {
 public:
  HeapPeak();
  int64_t bytes() const;

 private:
  int64_t before_;
};

}  // namespace edgekiln::tests

#endif  // EK_TESTS_SUPPORT_HEAP_PEAK_H_
