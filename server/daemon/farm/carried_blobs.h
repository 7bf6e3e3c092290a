#ifndef EK_SERVER_DAEMON_FARM_CARRIED_BLOBS_H_
#define EK_SERVER_DAEMON_FARM_CARRIED_BLOBS_H_

// Small inputs that travel inside of leases: a worker that fetches them makes a
// call of its own, which costs more than what is in them.

#include <cstdint>

#include "base/digest.h"
#include "base/mutex.h"
#include "base/sized_lru.h"
#include "cache/blob_store.h"
#include "edgekiln/v1/data.pb.h"
#include "edgekiln/v1/workers.pb.h"

namespace edgekiln::server {

// Those of one session of a worker, each once. The worker fetches what it has
// dropped meanwhile. Thread-safe.
class CarriedBlobs {
 public:
  // Of one blob, and of all that one lease carries.
  static constexpr int64_t kMaxBlobBytes = int64_t{256} << 10;
  static constexpr int64_t kMaxLeaseBytes = int64_t{1} << 20;
  // Digests that are remembered: those named last.
  static constexpr int64_t kMaxKnown = 1024;

  // `blobs` must outlive the object.
  explicit CarriedBlobs(cache::BlobStore& blobs) : blobs_(blobs) {}

  // Adds the small inputs of its stages that the worker was not sent and has
  // not made. Reads blobs: may block.
  void AddTo(v1::DaemonMessage::Lease& lease);
  // The worker has its outputs, and those of `next`.
  void NoteMade(const v1::WorkerMessage::Result& result);

 private:
  // Whether the worker did not have it before: it has it from then on.
  bool IsNew(const Digest& digest);
  void Forget(const Digest& digest);
  void Add(const google::protobuf::RepeatedPtrField<v1::BlobRef>& inputs,
           int64_t& bytes, v1::DaemonMessage::Lease& lease);

  cache::BlobStore& blobs_;
  Mutex mutex_;
  // A set: each value is `this`, as an empty one stands for nothing.
  SizedLru<Digest, const CarriedBlobs*> known_ ABSL_GUARDED_BY(mutex_){
      kMaxKnown};
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_FARM_CARRIED_BLOBS_H_
