#ifndef EK_BASE_SIZED_LRU_H_
#define EK_BASE_SIZED_LRU_H_

// Things of known size, of which those used last are kept.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/digest.h"

namespace edgekiln {

// Key is a std::string or a Digest, Value is a pointer of some kind; an empty
// one stands for nothing. Not thread-safe.
template <typename Key, typename Value>
class SizedLru {
 public:
  explicit SizedLru(int64_t max_bytes) : max_bytes_(max_bytes) {}

  // Empty if it is not there.
  Value Get(const Key& key) {
    const auto it = index_.find(key);
    if (it == index_.end()) return Value();
    entries_.splice(entries_.begin(), entries_, it->second);
    return it->second->value;
  }

  // Drops what was used longest ago until this fits; what never fits is not
  // kept. Something kept under that key stays.
  void Put(const Key& key, Value value, int64_t bytes) {
    if (bytes > max_bytes_ || index_.count(key) > 0) return;
    Shrink(max_bytes_ - bytes);
    entries_.push_front({key, std::move(value), bytes});
    index_[key] = entries_.begin();
    bytes_ += bytes;
  }

  void Erase(const Key& key) {
    const auto it = index_.find(key);
    if (it == index_.end()) return;
    bytes_ -= it->second->bytes;
    entries_.erase(it->second);
    index_.erase(it);
  }

  // Evicts what was used longest ago until at most half of the limit is used.
  void Halve() { Shrink(max_bytes_ / 2); }

  void Clear() {
    index_.clear();
    entries_.clear();
    bytes_ = 0;
  }

  // Of all that is kept.
  int64_t bytes() const { return bytes_; }

 private:
  struct Entry {
    Key key;
    Value value;
    int64_t bytes = 0;
  };
  struct Hash {
    size_t operator()(const std::string& key) const {
      // Keys come from clients, who could make many that share a bucket if they
      // knew where this program lies in memory.
      static const char kHere = 0;
      return std::hash<std::string>()(key) ^
             reinterpret_cast<uintptr_t>(&kHere);
    }
    size_t operator()(const Digest& key) const { return (*this)(key.hash); }
  };

  // Drops what was used longest ago until no more than that is left.
  void Shrink(int64_t max_bytes) {
    while (bytes_ > max_bytes) {
      bytes_ -= entries_.back().bytes;
      index_.erase(entries_.back().key);
      entries_.pop_back();
    }
  }

  const int64_t max_bytes_;
  int64_t bytes_ = 0;
  std::list<Entry> entries_;  // Used last in front.
  std::unordered_map<Key, typename std::list<Entry>::iterator, Hash> index_;
};

}  // namespace edgekiln

#endif  // EK_BASE_SIZED_LRU_H_
