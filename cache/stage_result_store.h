#ifndef EK_CACHE_STAGE_RESULT_STORE_H_
#define EK_CACHE_STAGE_RESULT_STORE_H_

// Results of stages by stage key. Knows keys, bytes and blob digests; what a
// key is made of is its user's affair. Thread-safe.

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/digest.h"
#include "base/file.h"
#include "cache/blob_store.h"
#include "cache/evictor.h"
#include "edgekiln/v1/stage.pb.h"

namespace edgekiln::cache {

// Shared with whoever else was given it.
using SharedStageResult =
    std::shared_ptr<const absl::StatusOr<v1::StageResult>>;

class StageResultStore {
 public:
  virtual ~StageResultStore() = default;
  // The result, or NOT_FOUND: never stored, torn or corrupt (then removed), or
  // one of its output blobs is absent. `key` is a SHA-256 in hex digits.
  virtual absl::StatusOr<v1::StageResult> Get(const std::string& key) = 0;
  // What was got or put lately, without reading it again: the store asks the
  // system only whether the files of the result and of its blobs are as they
  // were. Null: ask Get(). What is given is OK.
  virtual SharedStageResult Recall(const std::string& key) = 0;
  // Replaces what is there. Its output blobs must be stored already. Not
  // durable: a power failure may lose it, and it is computed again.
  // `result` is OK.
  virtual absl::Status Put(const std::string& key,
                           SharedStageResult result) = 0;
  absl::Status Put(const std::string& key, const v1::StageResult& result) {
    return Put(key,
               std::make_shared<const absl::StatusOr<v1::StageResult>>(result));
  }
  // As BlobStore::HalveMemory().
  virtual void HalveMemory() = 0;
};

// Files <root>/<first two hex digits>/<key>: the 8 bytes "EKSTAGE2", the
// SHA-256 of key and rest in 64 hex digits, a serialized StageResult. What a
// crash left of writing them is removed. `files`, `blobs` and `evictor`, which
// may be null, must outlive the store. Errors: those of FileSystem.
absl::StatusOr<std::unique_ptr<StageResultStore>> OpenDiskStageResultStore(
    FileSystem& files, const std::string& root, BlobStore& blobs,
    Evictor* evictor = nullptr);

}  // namespace edgekiln::cache

#endif  // EK_CACHE_STAGE_RESULT_STORE_H_
