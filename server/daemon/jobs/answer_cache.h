#ifndef EK_SERVER_DAEMON_JOBS_ANSWER_CACHE_H_
#define EK_SERVER_DAEMON_JOBS_ANSWER_CACHE_H_

// A bounded cache of answers that never change again, such as those about
// finished jobs. Evicts the least recently used. Thread-safe.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "base/sized_lru.h"

namespace edgekiln::server {

template <typename T>
class AnswerCacheOf {
 public:
  explicit AnswerCacheOf(int64_t max_bytes) : answers_(max_bytes) {}

  // Null if it is not kept.
  std::shared_ptr<const T> Find(const std::string& key) {
    MutexLock lock(mutex_);
    return answers_.Get(key);
  }

  // `bytes`: what `answer` takes in memory.
  void Keep(const std::string& key, std::shared_ptr<const T> answer,
            int64_t bytes) {
    bytes += kEntryBytes + static_cast<int64_t>(key.size());
    MutexLock lock(mutex_);
    answers_.Put(key, std::move(answer), bytes);
  }

  void Forget(const std::string& key) {
    MutexLock lock(mutex_);
    answers_.Erase(key);
  }

  void HalveMemory() {
    MutexLock lock(mutex_);
    answers_.Halve();
  }

 private:
  // What an entry takes beside its key and answer.
  static constexpr int64_t kEntryBytes = 256;

  Mutex mutex_;
  SizedLru<std::string, std::shared_ptr<const T>> answers_
      ABSL_GUARDED_BY(mutex_);
};

// Serialized, ready to be sent. May be null: there is none.
using Answer = std::shared_ptr<const std::string>;

class AnswerCache : public AnswerCacheOf<std::string> {
 public:
  using AnswerCacheOf::AnswerCacheOf;

  // Returns `bytes`, shared with the cache.
  Answer Keep(const std::string& key, std::string bytes) {
    auto answer = std::make_shared<const std::string>(std::move(bytes));
    AnswerCacheOf::Keep(key, answer, static_cast<int64_t>(answer->size()));
    return answer;
  }
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_ANSWER_CACHE_H_
