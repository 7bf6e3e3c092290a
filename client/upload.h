#ifndef EK_CLIENT_UPLOAD_H_
#define EK_CLIENT_UPLOAD_H_

// Blobs to and from the daemon over the Remote Execution API: only what is
// missing travels, a cut stream goes on where it was.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "client/local_blob.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace edgekiln::client {

struct TransferOptions {
  // Blobs up to this size share one message, bigger ones are streamed.
  int64_t batch_blob_bytes = int64_t{256} << 10;
  // A batch at most; less if the daemon's capabilities say so.
  int64_t batch_total_bytes = int64_t{3} << 20;
  // Of a streamed message. Below gRPC's default limit of 4 MiB.
  int64_t chunk_bytes = int64_t{512} << 10;
  // Without a byte getting through for this long, a transfer ends: the shorter
  // one as long as nobody has ever answered.
  absl::Duration patience = absl::Seconds(60);
  absl::Duration first_patience = absl::Seconds(3);
  bool reached = false;  // The daemon has answered before this transfer.
  absl::Duration first_backoff = absl::Milliseconds(100);  // Doubles.
  absl::Duration max_backoff = absl::Seconds(2);
  absl::Time deadline = absl::InfiniteFuture();  // Wall clock.
  // Called before trying again; may start a daemon. Its error ends the
  // transfer. May be empty.
  std::function<absl::Status()> revive;
};

struct TransferState {
  int64_t done_bytes = 0;
  int64_t total_bytes = 0;
  bool reconnecting = false;  // Nothing moves: the connection broke.
};

// Called whenever the state changes. May be empty.
using TransferProgress = std::function<void(const TransferState& state)>;

// Returns once the daemon has every blob. Not thread-safe. Errors: those of the
// daemon; INVALID_ARGUMENT (reason FILE_CHANGED) if a file no longer has the
// digest it had.
absl::Status UploadMissing(const std::shared_ptr<grpc::Channel>& channel,
                           FileSystem& files, Clock& clock,
                           const std::vector<LocalBlob>& blobs,
                           const TransferOptions& options,
                           const TransferProgress& progress);

// Hands the bytes of `digest` to `sink` in order and returns OK after the last
// one if they have that digest; DATA_LOSS otherwise. Errors: those of the
// daemon (NOT_FOUND) and of `sink`.
absl::Status Download(
    const std::shared_ptr<grpc::Channel>& channel, Clock& clock,
    const Digest& digest, const TransferOptions& options,
    const std::function<absl::Status(absl::string_view)>& sink);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_UPLOAD_H_
