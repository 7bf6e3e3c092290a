#ifndef EK_SERVER_WORKER_WARM_CACHE_H_
#define EK_SERVER_WORKER_WARM_CACHE_H_

// What stages have made of their inputs, kept for the stages that come next: a
// network that is ready to compute, a program that is loaded and checked.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <typeinfo>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/sized_lru.h"

namespace edgekiln::server {

// Serves one stage at a time: what it gives out may be of use to one thread
// only. Not thread-safe.
class WarmCache {
 public:
  // 0 = keeps nothing.
  explicit WarmCache(int64_t max_bytes) : objects_(max_bytes) {}

  // What was made under this key, or, failing that, what `make` returns: an
  // absl::StatusOr<std::shared_ptr<T>>. The key must say all that `make`
  // depends on. The size of an object is `bytes`, or without them what making
  // it added to the heap, but at least `min_bytes`. Asking how large the heap
  // is takes as long as making a small object. Objects of several types may
  // share a key.
  template <typename T, typename Make>
  absl::StatusOr<std::shared_ptr<T>> GetOrMake(
      absl::string_view key, int64_t min_bytes, const Make& make,
      std::optional<int64_t> bytes = std::nullopt) {
    const std::string full = absl::StrCat(typeid(T).name(), " ", key);
    if (auto found = objects_.Get(full)) {
      return std::static_pointer_cast<T>(found);
    }
    const int64_t before = bytes.has_value() ? 0 : HeapBytes();
    absl::StatusOr<std::shared_ptr<T>> made = make();
    if (!made.ok()) return made;
    objects_.Put(
        full, *made,
        bytes.has_value() ? *bytes : std::max(min_bytes, HeapBytes() - before));
    return made;
  }

  void Clear() { objects_.Clear(); }
  // Of all that is kept.
  int64_t bytes() const { return objects_.bytes(); }

 private:
  // Allocated by this process. 0 where a sanitizer replaces the allocator: the
  // `min_bytes` have to do there.
  static int64_t HeapBytes();

  SizedLru<std::string, std::shared_ptr<void>> objects_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_WARM_CACHE_H_
