#include "server/daemon/blobs/shared_checks.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/status_macros.h"
#include "server/executor.h"

namespace edgekiln::server {
namespace {

class CheckSharingBlobStore : public cache::BlobStore {
 public:
  CheckSharingBlobStore(std::unique_ptr<cache::BlobStore> inner,
                        std::unique_ptr<Executor> executor)
      : inner_(std::move(inner)), executor_(std::move(executor)) {}

  absl::StatusOr<bool> Contains(const Digest& digest) override {
    return inner_->Contains(digest);
  }
  absl::StatusOr<std::optional<bool>> ContainsIfKnown(
      const Digest& digest) override {
    return inner_->ContainsIfKnown(digest);
  }

  void AskContains(const Digest& digest, const Told& told) override {
    const absl::StatusOr<std::optional<bool>> known =
        inner_->ContainsIfKnown(digest);
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
    if (mine != nullptr) executor_->Post(*mine);
  }

  absl::StatusOr<std::string> Get(const Digest& digest) override {
    return inner_->Get(digest);
  }
  absl::StatusOr<std::unique_ptr<cache::BlobReader>> OpenReader(
      const Digest& digest) override {
    return inner_->OpenReader(digest);
  }
  absl::Status Put(const Digest& digest, absl::string_view bytes) override {
    return inner_->Put(digest, bytes);
  }
  absl::Status Adopt(const Digest& digest, const std::string& path) override {
    return inner_->Adopt(digest, path);
  }

 private:
  // One blob that is being looked at.
  struct Check final : Executor::Work {
    Check(CheckSharingBlobStore& store, Digest digest)
        : store(store), digest(std::move(digest)) {}
    void Run() override { store.End(*this, store.inner_->Contains(digest)); }

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

  const std::unique_ptr<cache::BlobStore> inner_;
  Mutex mutex_;
  std::map<std::string, std::unique_ptr<Check>> checks_ ABSL_GUARDED_BY(mutex_);
  const std::unique_ptr<Executor> executor_;  // Last: its threads use the rest.
};

}  // namespace

absl::StatusOr<std::unique_ptr<cache::BlobStore>> NewCheckSharingBlobStore(
    std::unique_ptr<cache::BlobStore> inner, int threads) {
  EK_ASSIGN_OR_RETURN(std::unique_ptr<Executor> executor,
                      Executor::New(threads));
  return std::make_unique<CheckSharingBlobStore>(std::move(inner),
                                                 std::move(executor));
}

}  // namespace edgekiln::server
