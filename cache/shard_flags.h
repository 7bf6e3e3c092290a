#ifndef EK_CACHE_SHARD_FLAGS_H_
#define EK_CACHE_SHARD_FLAGS_H_

#include <array>
#include <atomic>
#include <cstddef>

#include "absl/strings/string_view.h"

namespace edgekiln::cache {

// What is known of each folder of a store, in this process. A folder is named
// by the first two hex digits of what lies in it. All are false at first.
// Thread-safe.
class ShardFlags {
 public:
  // `hash` begins with two lower-case hex digits.
  std::atomic<bool>& Of(absl::string_view hash) {
    const auto value = [](char digit) {
      return static_cast<size_t>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    };
    return flags_[16 * value(hash[0]) + value(hash[1])];
  }

 private:
  std::array<std::atomic<bool>, 256> flags_{};
};

}  // namespace edgekiln::cache

#endif  // EK_CACHE_SHARD_FLAGS_H_
