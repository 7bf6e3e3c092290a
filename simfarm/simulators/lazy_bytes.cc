#include "simfarm/simulators/lazy_bytes.h"

#include <new>

namespace edgekiln::simfarm {

LazyBytes::LazyBytes(int64_t size)
    : bytes_(size == 0 ? nullptr
                       : static_cast<uint8_t*>(
                             std::calloc(static_cast<size_t>(size), 1))),
      size_(size) {
  if (size > 0 && bytes_ == nullptr) throw std::bad_alloc();
}

}  // namespace edgekiln::simfarm
