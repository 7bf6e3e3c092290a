#ifndef EK_TESTS_CHAOS_STEADY_UPLOADS_H_
#define EK_TESTS_CHAOS_STEADY_UPLOADS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/rng.h"
#include "client/connection.h"

namespace edgekiln::chaos {

// Uploads blob after blob, on a thread and a connection of its own, whatever
// happens to the daemon meanwhile; stops after a few, as disks are finite.
class SteadyUploads {
 public:
  // `path` is where each blob lies while it is uploaded. All must outlive the
  // object.
  SteadyUploads(uint64_t seed, std::string path, const std::string& address,
                FileSystem& files, Clock& clock);
  ~SteadyUploads();  // As Finish().

  // Which upload is under way; 0: none just now.
  int64_t under_way() const { return under_way_; }
  // Waits for the one that is under way. OK if every blob that was acknowledged
  // is served with its bytes.
  absl::Status Finish(client::Connection& connection);
  // After Finish().
  int64_t uploads() const { return static_cast<int64_t>(stored_.size()); }

 private:
  void Run();
  absl::Status UploadOne(int64_t number);

  Rng rng_;
  const std::string path_;
  FileSystem& files_;
  Clock& clock_;
  const std::unique_ptr<client::Connection> connection_;
  std::atomic<bool> stop_{false};
  std::atomic<int64_t> under_way_{0};
  // Of the thread until it has ended.
  std::vector<Digest> stored_;
  absl::Status status_;
  std::thread thread_;
};

}  // namespace edgekiln::chaos

#endif  // EK_TESTS_CHAOS_STEADY_UPLOADS_H_
