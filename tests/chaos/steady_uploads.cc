#include "tests/chaos/steady_uploads.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "client/local_blob.h"
#include "tests/chaos/requests.h"
#include "tests/chaos/watched_job.h"

namespace edgekiln::chaos {
namespace {

constexpr int64_t kMostUploads = 6;
// Streams, not batches, and long enough to be hit.
constexpr int64_t kLeastBytes = 4'000'000;
constexpr int64_t kMostBytes = 16'000'000;
// A client gives up after some failures in a row; its user does not.
constexpr int kMostAttempts = 20;

}  // namespace

SteadyUploads::SteadyUploads(uint64_t seed, std::string path,
                             const std::string& address, FileSystem& files,
                             Clock& clock)
    : rng_(seed),
      path_(std::move(path)),
      files_(files),
      clock_(clock),
      connection_(Connect(address, files, clock)) {
  thread_ = std::thread([this] { Run(); });
}

SteadyUploads::~SteadyUploads() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

void SteadyUploads::Run() {
  for (int64_t number = 1; number <= kMostUploads && !stop_; ++number) {
    status_ = UploadOne(number);
    under_way_ = 0;
    if (!status_.ok()) return;
    clock_.SleepFor(absl::Milliseconds(rng_.InRange(0, 100)));
  }
}

absl::Status SteadyUploads::UploadOne(int64_t number) {
  const std::string bytes =
      RandomBytes(rng_.InRange(kLeastBytes, kMostBytes), rng_);
  EK_RETURN_IF_ERROR(WriteAtomically(files_, path_, bytes));
  EK_ASSIGN_OR_RETURN(const client::LocalBlob blob,
                      client::OpenLocalBlob(files_, path_, "blob"));
  under_way_ = number;
  absl::Status status;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    status = connection_->Upload({blob}, nullptr);
    if (status.ok()) {
      stored_.push_back(blob.digest);
      return status;
    }
    if (!absl::IsUnavailable(status)) break;
  }
  return Annotate(status, absl::StrCat("upload ", number));
}

absl::Status SteadyUploads::Finish(client::Connection& connection) {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
  EK_RETURN_IF_ERROR(status_);
  for (const Digest& digest : stored_) {
    // The client compares the digest.
    EK_RETURN_IF_ERROR(
        connection.Download(digest,
                            [](absl::string_view) { return absl::OkStatus(); }),
        "an acknowledged upload");
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::chaos
