#include "server/daemon/blobs/shared_checks.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/status_macros.h"
#include "cache/forwarding_blob_store.h"
#include "server/daemon/shutting_down.h"
#include "server/executor.h"

namespace edgekiln::server {
namespace {

constexpr int64_t kLargeBytes = int64_t{4} << 20;

class CheckSharingBlobStore : public cache::ForwardingBlobStore {
 public:
  CheckSharingBlobStore(std::unique_ptr<cache::BlobStore> inner,
                        std::unique_ptr<Executor> large,
                        std::unique_ptr<Executor> small,
                        const std::atomic<bool>& stopping)
      : ForwardingBlobStore(std::move(inner)),
        stopping_(stopping),
        large_(std::move(large)),
        small_(std::move(small)) {}

  void AskContains(const Digest& digest, const Told& told) override {
    const absl::StatusOr<std::optional<bool>> known =
        inner().ContainsIfKnown(digest);
    if (!known.ok()) return told(known.status());
    if (known->has_value()) return told(**known);
    Check* mine = nullptr;
    {
      MutexLock lock(mutex_);
      std::unique_ptr<Check>& check = checks_[digest.ToString()];
      if (check == nullptr) {
        check = std::make_unique<Check>(*this, digest);
        mine = check.get();
      }
      check->asking.push_back(told);
    }
    if (mine == nullptr) return;
    (digest.size_bytes < kLargeBytes ? small_ : large_)->Post(*mine);
  }

 private:
  // One blob that is being looked at.
  struct Check final : Executor::Work {
    Check(CheckSharingBlobStore& store, Digest digest)
        : store(store), digest(std::move(digest)) {}
    void Run() override {
      if (store.stopping_) return store.End(*this, ShuttingDown());
      store.End(*this, store.inner().Contains(digest));
    }

    CheckSharingBlobStore& store;
    const Digest digest;
    std::vector<Told> asking;  // As the store's mutex has it.
  };

  void End(Check& check, const absl::StatusOr<bool>& present) {
    std::unique_ptr<Check> ended;
    {
      MutexLock lock(mutex_);
      const auto it = checks_.find(check.digest.ToString());
      ended = std::move(it->second);
      checks_.erase(it);
    }
    for (const Told& told : ended->asking) told(present);
  }

  Mutex mutex_;
  std::map<std::string, std::unique_ptr<Check>> checks_ ABSL_GUARDED_BY(mutex_);
  const std::atomic<bool>& stopping_;
  // Last: their threads use the rest. Those that are read in no time do not
  // wait for those that take seconds.
  const std::unique_ptr<Executor> large_;
  const std::unique_ptr<Executor> small_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<cache::BlobStore>> NewCheckSharingBlobStore(
    std::unique_ptr<cache::BlobStore> inner, int threads,
    const std::atomic<bool>& stopping) {
  EK_ASSIGN_OR_RETURN(std::unique_ptr<Executor> large, Executor::New(threads));
  EK_ASSIGN_OR_RETURN(std::unique_ptr<Executor> small, Executor::New(1));
  return std::make_unique<CheckSharingBlobStore>(
      std::move(inner), std::move(large), std::move(small), stopping);
}

}  // namespace edgekiln::server
