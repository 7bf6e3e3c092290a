#include "server/daemon/farm/carried_blobs.h"

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "proto/convert.h"

namespace edgekiln::server {

bool CarriedBlobs::IsNew(const Digest& digest) {
  MutexLock lock(mutex_);
  if (known_.Get(digest) != nullptr) return false;
  known_.Put(digest, this, /*bytes=*/1);
  return true;
}

void CarriedBlobs::Forget(const Digest& digest) {
  MutexLock lock(mutex_);
  known_.Erase(digest);
}

void CarriedBlobs::Add(
    const google::protobuf::RepeatedPtrField<v1::BlobRef>& inputs,
    int64_t& bytes, v1::DaemonMessage::Lease& lease) {
  for (const v1::BlobRef& input : inputs) {
    const int64_t size = input.digest().size_bytes();
    if (size > kMaxBlobBytes || bytes + size > kMaxLeaseBytes) continue;
    // An output of an earlier stage of the chain has no digest.
    const absl::StatusOr<Digest> digest = FromProto(input.digest());
    if (!digest.ok() || !IsNew(*digest)) continue;
    absl::StatusOr<std::string> blob = blobs_.Get(*digest);
    if (!blob.ok()) {
      // The worker asks for it and is told what is wrong.
      Forget(*digest);
      continue;
    }
    bytes += size;
    lease.add_carried(*std::move(blob));
  }
}

void CarriedBlobs::AddTo(v1::DaemonMessage::Lease& lease) {
  int64_t bytes = 0;
  Add(lease.inputs(), bytes, lease);
  for (const v1::DaemonMessage::Lease::Next& next : lease.next()) {
    Add(next.inputs(), bytes, lease);
  }
}

void CarriedBlobs::NoteMade(const v1::WorkerMessage::Result& result) {
  for (const v1::BlobRef& output : result.result().outputs()) {
    if (output.digest().size_bytes() > kMaxBlobBytes) continue;
    const absl::StatusOr<Digest> digest = FromProto(output.digest());
    if (digest.ok()) IsNew(*digest);
  }
  for (const v1::WorkerMessage::Result& next : result.next()) NoteMade(next);
}

}  // namespace edgekiln::server
