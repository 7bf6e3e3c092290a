#ifndef EK_OPS_COPY_LESS_H_
#define EK_OPS_COPY_LESS_H_

#include <cstdint>

namespace edgekiln::ops {

// to[i] = from[i] - less, in the arithmetic of To; the two do not overlap.
// At -O2 compilers make no vectors of the plain loop: its count is not known.
template <typename From, typename To>
static inline void CopyLess(const From* from, int64_t count, To less, To* to) {
  constexpr int64_t kLanes = 16;
  typedef From Given __attribute__((vector_size(kLanes * sizeof(From))));
  typedef To Made __attribute__((vector_size(kLanes * sizeof(To))));
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Given given;
    __builtin_memcpy(&given, from + i, sizeof(given));
    const Made made = __builtin_convertvector(given, Made) - less;
    __builtin_memcpy(to + i, &made, sizeof(made));
  }
  for (; i < count; ++i) to[i] = static_cast<To>(from[i] - less);
}

}  // namespace edgekiln::ops

#endif  // EK_OPS_COPY_LESS_H_
