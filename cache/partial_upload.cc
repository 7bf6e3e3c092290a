#include "cache/partial_upload.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace edgekiln::cache {
namespace {

// Taken by one of the threads, but not yet hashed or written.
constexpr int64_t kMaxQueuedBytes = 4 << 20;

class UploadImpl : public Upload {
 public:
  UploadImpl(FileSystem& files, BlobStore& blobs,
             std::shared_ptr<PartialUpload> partial, uint64_t owner,
             int64_t committed, Clock& clock, UploadEnd end)
      : files_(files),
        blobs_(blobs),
        partial_(std::move(partial)),
        owner_(owner),
        committed_(committed),
        clock_(clock),
        end_(std::move(end)) {}

  ~UploadImpl() override {
    MutexLock lock(partial_->mutex);
    if (partial_->owner == owner_) partial_->Settle();
  }

  int64_t committed_bytes() const override { return committed_; }

  absl::Status Append(std::string bytes) override {
    PartialUpload& partial = *partial_;
    MutexLock lock(partial.mutex);
    EK_RETURN_IF_ERROR(CheckHeld(partial));
    const auto size = static_cast<int64_t>(bytes.size());
    if (size > partial.digest.size_bytes - committed_) {
      return MakeError(
          absl::StatusCode::kInvalidArgument,
          {.fault = Fault::kUser,
           .reason = "UPLOAD_TOO_LONG",
           .what = "more bytes were sent than the digest announces",
           .where = partial.digest.ToString(),
           .limit = absl::StrCat(partial.digest.size_bytes, " bytes"),
           .fix = "send exactly the announced bytes"});
    }
    EK_RETURN_IF_ERROR(
        Check(partial, partial.appender->Append(std::move(bytes))));
    committed_ += size;
    partial.received_bytes = committed_;
    partial.Touch(clock_);
    partial.CountPace(clock_);
    return absl::OkStatus();
  }

  absl::Status Finish() override {
    PartialUpload& partial = *partial_;
    MutexLock lock(partial.mutex);
    EK_RETURN_IF_ERROR(CheckHeld(partial));
    if (committed_ < partial.digest.size_bytes) {
      return MakeError(
          absl::StatusCode::kInvalidArgument,
          {.fault = Fault::kUser,
           .reason = "UPLOAD_INCOMPLETE",
           .what = "finish_write came before the last byte",
           .where = partial.digest.ToString(),
           .limit = absl::StrCat(committed_, " bytes received"),
           .need = absl::StrCat(partial.digest.size_bytes, " bytes"),
           .fix = "continue at the committed size"});
    }
    EK_RETURN_IF_ERROR(Check(partial, partial.Drain()));
    EK_RETURN_IF_ERROR(partial.file->Sync());
    EK_RETURN_IF_ERROR(partial.file->Close());
    partial.file.reset();
    // Until here the upload may have been dropped, and the path be that of
    // another one.
    if (!end_.claim()) return UploadExpired(partial.digest);
    partial.over = true;
    absl::Status stored = Store(partial);
    end_.forget();
    return stored;
  }

 private:
  // The complete file becomes a blob, or is removed.
  absl::Status Store(PartialUpload& partial)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(partial.mutex) {
    const Digest actual = partial.hash.Finish();
    if (actual == partial.digest) {
      return blobs_.Adopt(partial.digest, partial.path);
    }
    files_.Remove(partial.path).IgnoreError();
    return MakeError(
        absl::StatusCode::kInvalidArgument,
        {.fault = Fault::kUser,
         .reason = "DIGEST_MISMATCH",
         .what = "the uploaded bytes are not what their digest says",
         .where = partial.digest.ToString(),
         .need = absl::StrCat("the bytes have ", actual.ToString()),
         .fix = "upload the bytes that were hashed, under a new id"});
  }

  absl::Status CheckHeld(const PartialUpload& partial) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(partial.mutex) {
    if (partial.dropped) return UploadExpired(partial.digest);
    if (partial.owner != owner_ || partial.over) {
      return UploadTakenOver(partial.digest);
    }
    return absl::OkStatus();
  }

  // After a failure this stream is over; another may go on.
  static absl::Status Check(PartialUpload& partial, const absl::Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(partial.mutex) {
    if (status.ok()) return status;
    partial.Settle();
    partial.owner = 0;
    return status;
  }

  FileSystem& files_;
  BlobStore& blobs_;
  const std::shared_ptr<PartialUpload> partial_;
  const uint64_t owner_;
  int64_t committed_;
  Clock& clock_;
  const UploadEnd end_;
};

}  // namespace

void PartialUpload::StartPace(Clock& clock) {
  window_start_ns = absl::ToInt64Nanoseconds(clock.Monotonic());
  window_start_bytes = received_bytes.load();
  paced = false;
  trickled = false;
}

void PartialUpload::CountPace(Clock& clock) {
  const int64_t now = absl::ToInt64Nanoseconds(clock.Monotonic());
  if (absl::Nanoseconds(now - window_start_ns) < kPaceWindow) return;
  trickled = received_bytes - window_start_bytes < kMinPaceBytes;
  paced = true;
  window_start_ns = now;
  window_start_bytes = received_bytes.load();
}

bool PartialUpload::Trickles(Clock& clock) const {
  if (trickled) return true;
  const absl::Duration spent =
      clock.Monotonic() - absl::Nanoseconds(window_start_ns.load());
  if (spent < (paced ? kPaceWindow : kPaceGrace)) return false;
  const double part = std::min(1.0, absl::FDivDuration(spent, kPaceWindow));
  return static_cast<double>(received_bytes - window_start_bytes) <
         part * static_cast<double>(kMinPaceBytes);
}

void PartialUpload::StartWriting() {
  const bool large = digest.size_bytes >= kLargeUploadBytes;
  if (large) {
    writer = std::make_unique<BackgroundAppender>(
        [this](const std::string& bytes) { return file->Append(bytes); },
        kMaxQueuedBytes);
  }
  appender = std::make_unique<BackgroundAppender>(
      [this, next = writer.get()](std::string bytes) {
        if (next == nullptr) EK_RETURN_IF_ERROR(file->Append(bytes));
        hash.Update(bytes);
        return next == nullptr ? absl::OkStatus()
                               : next->Append(std::move(bytes));
      },
      kMaxQueuedBytes);
}

absl::Status PartialUpload::Drain() {
  absl::Status status = appender->Drain();
  if (writer != nullptr) status.Update(writer->Drain());
  return status;
}

void PartialUpload::Settle() {
  if (appender == nullptr) return;
  if (!Drain().ok()) loaded = false;
  appender.reset();
  writer.reset();
  file.reset();
}

absl::Status UploadTakenOver(const Digest& digest) {
  return MakeError(absl::StatusCode::kAborted,
                   {.fault = Fault::kUser,
                    .reason = "UPLOAD_TAKEN_OVER",
                    .what = "another stream continued this upload",
                    .where = digest.ToString()});
}

absl::Status UploadExpired(const Digest& digest) {
  return MakeError(absl::StatusCode::kAborted,
                   {.fault = Fault::kUser,
                    .reason = "UPLOAD_EXPIRED",
                    .what = "the upload was idle for too long and gave way "
                            "to others",
                    .where = digest.ToString(),
                    .fix = "start it again"});
}

std::unique_ptr<Upload> NewUpload(FileSystem& files, BlobStore& blobs,
                                  std::shared_ptr<PartialUpload> partial,
                                  uint64_t owner, int64_t committed,
                                  Clock& clock, UploadEnd end) {
  return std::make_unique<UploadImpl>(files, blobs, std::move(partial), owner,
                                      committed, clock, std::move(end));
}

}  // namespace edgekiln::cache
