#ifndef EK_SIMFARM_SIMULATORS_LAZY_BYTES_H_
#define EK_SIMFARM_SIMULATORS_LAZY_BYTES_H_

#include <cstdint>
#include <memory>

namespace edgekiln::simfarm {

// Bytes that cost nothing until they are touched.
class LazyBytes {
 public:
  LazyBytes() = default;
  // Zeroed.
  explicit LazyBytes(int64_t size);
  // Of any content: up to some MiB, memory that was used before, which costs
  // less than new pages.
  static LazyBytes Unset(int64_t size);

  uint8_t* data() const { return bytes_.get(); }
  int64_t size() const { return size_; }

 private:
  struct Free {
    void operator()(uint8_t* bytes) const;
    int64_t mapped_bytes;  // 0: not of mmap().
  };
  LazyBytes(uint8_t* bytes, int64_t size, bool mapped)
      : bytes_(bytes, Free{mapped ? size : 0}), size_(size) {}

  std::unique_ptr<uint8_t[], Free> bytes_;
  int64_t size_ = 0;
};

}  // namespace edgekiln::simfarm

#endif  // EK_SIMFARM_SIMULATORS_LAZY_BYTES_H_
