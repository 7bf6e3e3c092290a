#ifndef EK_CACHE_PARTIAL_UPLOAD_H_
#define EK_CACHE_PARTIAL_UPLOAD_H_

// An upload between its first byte and its last: what the store knows of it,
// and the stream that writes it.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/mutex.h"
#include "cache/background_appender.h"
#include "cache/blob_store.h"
#include "cache/upload_store.h"

namespace edgekiln::cache {

// From here on hashing and writing take a thread each, and the file is written
// past the page cache.
inline constexpr int64_t kLargeUploadBytes = int64_t{16} << 20;

// A stream that brings less than that in such a time trickles. One that has not
// lasted for so long is judged by its part of it, after a moment: else a slot
// could be kept by beginning again and again.
inline constexpr absl::Duration kPaceWindow = absl::Seconds(20);
inline constexpr int64_t kMinPaceBytes = int64_t{32} << 10;
inline constexpr absl::Duration kPaceGrace = absl::Seconds(1);

// What is known of one upload. The mutex is held while a stream waits for its
// appender: only streams of this very upload wait for it.
struct PartialUpload {
  PartialUpload(std::string its_path, Digest its_digest)
      : path(std::move(its_path)), digest(std::move(its_digest)) {}

  void Touch(Clock& clock) {
    last_used_ns = absl::ToInt64Nanoseconds(clock.Monotonic());
  }

  // A stream begins: it has a moment to show how fast it is.
  void StartPace(Clock& clock);
  // Bytes have come.
  void CountPace(Clock& clock);
  // Whether the last whole window brought too little, or this one does already.
  bool Trickles(Clock& clock) const;

  const std::string path;
  std::atomic<int64_t> received_bytes{0};
  std::atomic<int64_t> last_used_ns{0};  // On the monotonic clock.
  std::atomic<int> streams{0};           // That hold it.
  std::atomic<int64_t> window_start_ns{0};
  std::atomic<int64_t> window_start_bytes{0};
  std::atomic<bool> paced{false};     // There was a window before,
  std::atomic<bool> trickled{false};  // in which it did.
  std::atomic<bool> dropped{false};   // Its file has been removed.
  std::atomic<bool> claimed{false};   // Its file becomes a blob.
  Mutex mutex;
  Digest digest ABSL_GUARDED_BY(mutex);
  // The handle that may write.
  uint64_t owner ABSL_GUARDED_BY(mutex) = 0;
  bool loaded ABSL_GUARDED_BY(mutex) = false;
  bool over ABSL_GUARDED_BY(mutex) = false;
  // These two belong to the threads below until they are drained, and are
  // guarded by the mutex then. The file is open only while a stream holds the
  // upload.
  Sha256 hash;
  std::unique_ptr<WritableFile> file;
  // While a stream holds the upload: takes its bytes, hashes them and has them
  // written, by itself or, in a large upload, by the other one.
  std::unique_ptr<BackgroundAppender> writer ABSL_GUARDED_BY(mutex);
  std::unique_ptr<BackgroundAppender> appender ABSL_GUARDED_BY(mutex);

  // Starts the threads. `file` is open.
  void StartWriting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // Waits until all that was taken is hashed and in the file. Returns the
  // first error of either. Some stream must hold the upload.
  absl::Status Drain() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // Ends the last stream's writing. How much of a failed write reached the
  // file is unknown: the next stream looks.
  void Settle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
};

// ABORTED: why a stream may write no more.
absl::Status UploadTakenOver(const Digest& digest);
absl::Status UploadExpired(const Digest& digest);

// What the end of an upload does in the store, which must not remove the file
// while it becomes a blob, nor give it to another stream.
struct UploadEnd {
  std::function<bool()> claim;   // False if the file has been removed.
  std::function<void()> forget;  // The file is gone.
};

// A stream that holds `partial` as `owner` and goes on at `committed`. The
// references must outlive the stream.
std::unique_ptr<Upload> NewUpload(FileSystem& files, BlobStore& blobs,
                                  std::shared_ptr<PartialUpload> partial,
                                  uint64_t owner, int64_t committed,
                                  Clock& clock, UploadEnd end);

}  // namespace edgekiln::cache

#endif  // EK_CACHE_PARTIAL_UPLOAD_H_
