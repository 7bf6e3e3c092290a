#include "tests/chaos/cut_upload.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/rng.h"
#include "base/status_macros.h"
#include "client/local_blob.h"
#include "tests/chaos/cut_proxy.h"
#include "tests/chaos/farm.h"
#include "tests/chaos/requests.h"
#include "tests/chaos/verify.h"
#include "tests/chaos/watched_job.h"

namespace edgekiln::chaos {
namespace {

// No cut so close to either end: it might miss the stream.
constexpr int64_t kMarginBytes = 1'000'000;

// What the upload told of itself.
struct Resent {
  int64_t chunk_bytes = client::TransferOptions().chunk_bytes;
  int64_t last = 0;
  CutUpload out;

  // `done` of `total` bytes were handed to the network, the last chunk just
  // now; it is shorter only at the end.
  void OnProgress(const client::TransferState& state) {
    if (state.reconnecting) return;
    const int64_t done = state.done_bytes;
    const int64_t total = state.total_bytes;
    const int64_t from = std::max<int64_t>(0, done - chunk_bytes);
    if (done > 0 && done < total && from < last) {
      const int64_t again = last - from;
      out.worst_resent_bytes = std::max(out.worst_resent_bytes, again);
      out.resent_bytes += again;
      ++out.resumes;
    }
    last = done;
  }
};

std::vector<int64_t> RandomCuts(const CutUploadOptions& options, int64_t size,
                                Rng& rng) {
  std::vector<int64_t> cuts;
  cuts.reserve(static_cast<size_t>(options.cuts));
  for (int i = 0; i < options.cuts; ++i) {
    cuts.push_back(rng.InRange(kMarginBytes, size - kMarginBytes));
  }
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

}  // namespace

absl::StatusOr<CutUpload> RunCutUpload(const CutUploadOptions& options) {
  const std::unique_ptr<FileSystem> files = NewPosixFileSystem();
  const std::unique_ptr<Clock> clock = NewRealClock();
  const Scratch scratch;
  Rng rng(options.seed);
  const int64_t size = options.megabytes * 1'000'000;
  const std::string path = scratch.At("blob");
  EK_RETURN_IF_ERROR(WriteAtomically(*files, path, RandomBytes(size, rng)));
  EK_ASSIGN_OR_RETURN(const client::LocalBlob blob,
                      client::OpenLocalBlob(*files, path, "blob"));

  EK_ASSIGN_OR_RETURN(
      const std::unique_ptr<Farm> farm,
      Farm::Start({.bin = options.bin, .listening = Listening::kTcp}, scratch));
  const std::string& address = farm->address();
  int port = 0;
  if (!absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port)) {
    return absl::InternalError(absl::StrCat("no port in ", address));
  }
  EK_ASSIGN_OR_RETURN(const std::unique_ptr<CutProxy> proxy,
                      CutProxy::Start(port, RandomCuts(options, size, rng)));
  Resent resent;
  {
    const auto connection =
        Connect(absl::StrCat("127.0.0.1:", proxy->port()), *files, *clock);
    const absl::Duration start = clock->Monotonic();
    EK_RETURN_IF_ERROR(connection->Upload(
        {blob},
        [&](const client::TransferState& state) { resent.OnProgress(state); }));
    resent.out.took = clock->Monotonic() - start;
  }
  resent.out.bytes = size;
  resent.out.wire_bytes = proxy->client_bytes();
  if (proxy->cuts_made() != options.cuts) {
    return absl::InternalError("the upload ended before all cuts were made");
  }

  // Not through the proxy; the client checks the digest.
  EK_RETURN_IF_ERROR(
      Connect(address, *files, *clock)
          ->Download(blob.digest,
                     [](absl::string_view) { return absl::OkStatus(); }),
      "reading it back");
  EK_RETURN_IF_ERROR(farm->Stop());
  EK_ASSIGN_OR_RETURN(const BlobCount count, VerifyBlobs(farm->blobs_folder()));
  if (count.torn > 0) return absl::DataLossError("a blob is torn");
  if (count.bytes < size) return absl::DataLossError("the blob is not stored");
  return resent.out;
}

}  // namespace edgekiln::chaos
