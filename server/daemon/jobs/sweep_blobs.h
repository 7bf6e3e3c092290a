#ifndef EK_SERVER_DAEMON_JOBS_SWEEP_BLOBS_H_
#define EK_SERVER_DAEMON_JOBS_SWEEP_BLOBS_H_

// Where the plans of sweeps are, and the descriptors that come of them.

#include <functional>
#include <string>

#include "base/digest.h"
#include "base/status_macros.h"
#include "cache/blob_store.h"
#include "proto/convert.h"
#include "server/sweep/sweep_job.h"

namespace edgekiln::server {

class StoredSweepBlobs final : public SweepBlobs {
 public:
  // `blobs` must outlive it.
  explicit StoredSweepBlobs(cache::BlobStore& blobs) : blobs_(blobs) {}

  absl::StatusOr<v1::Digest> Store(absl::string_view bytes) override {
    const Digest digest = DigestOf(bytes);
    EK_RETURN_IF_ERROR(blobs_.Put(digest, bytes));
    return ToProto(digest);
  }

  absl::StatusOr<std::string> Load(const v1::Digest& digest) override {
    EK_ASSIGN_OR_RETURN(const Digest name, FromProto(digest));
    EK_ASSIGN_OR_RETURN(std::string bytes, blobs_.Get(name));
    // The plan is told to clients, and rows refer to it.
    EK_RETURN_IF_ERROR(blobs_.Sync(name));
    return bytes;
  }

  void AskHas(const v1::Digest& digest,
              const std::function<void(bool)>& told) override {
    const absl::StatusOr<Digest> name = FromProto(digest);
    if (!name.ok()) return told(false);
    blobs_.AskContains(*name, [told](const absl::StatusOr<bool>& present) {
      told(present.ok() && *present);
    });
  }

 private:
  cache::BlobStore& blobs_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_SWEEP_BLOBS_H_
