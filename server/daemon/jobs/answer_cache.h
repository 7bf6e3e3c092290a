#ifndef EK_SERVER_DAEMON_JOBS_ANSWER_CACHE_H_
#define EK_SERVER_DAEMON_JOBS_ANSWER_CACHE_H_

// Serialized answers that never change again, ready to be sent. Those asked for
// last are kept. Thread-safe.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "base/sized_lru.h"

namespace edgekiln::server {

// Null: none.
using Answer = std::shared_ptr<const std::string>;

class AnswerCache {
 public:
  explicit AnswerCache(int64_t max_bytes) : answers_(max_bytes) {}

  Answer Find(const std::string& key) {
    MutexLock lock(mutex_);
    return answers_.Get(key);
  }

  // Returns what was given.
  Answer Keep(const std::string& key, std::string bytes) {
    auto answer = std::make_shared<const std::string>(std::move(bytes));
    const auto size = static_cast<int64_t>(key.size() + answer->size());
    MutexLock lock(mutex_);
    answers_.Put(key, answer, kEntryBytes + size);
    return answer;
  }

  void Forget(const std::string& key) {
    MutexLock lock(mutex_);
    answers_.Erase(key);
  }

 private:
  // What an entry takes beside its key and answer.
  static constexpr int64_t kEntryBytes = 256;

  Mutex mutex_;
  SizedLru<std::string, Answer> answers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_ANSWER_CACHE_H_
