#ifndef EK_SERVER_DAEMON_STAGES_TESTING_FAKE_STAGES_H_
#define EK_SERVER_DAEMON_STAGES_TESTING_FAKE_STAGES_H_

// Stages for tests: same shape as the real ones, made of text. A blob says what
// it was made from, so that a test can see what reached a stage.
//
// Models: "int8 ...", "float ..."; "bad ..." is a user error of import.
// Targets: "capabilities;machine", e.g. "conv;sram=64"; "capabilities"
// containing "per tensor" need one scale for weights, "shifts" that an int8
// model is quantized anew; "machine" containing "tiny" is a user error of tile,
// "warns" a warning of every simulated chunk, "stalls" a user error of those. A
// sweep's cells are models x targets x recipes, of targets whose names are
// their texts; those that hold "refused" are REFUSED. Data: "samples=40",
// "labelled=40", "warns".

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/digest.h"
#include "base/mutex.h"
#include "cache/blob_store.h"
#include "edgekiln/v1/stage.pb.h"
#include "server/daemon/stages/lease_source.h"

namespace edgekiln::server {

// Reads inputs from `blobs` and writes outputs there. NOT_FOUND if an input is
// absent. Pure: same inputs, same outputs.
absl::StatusOr<v1::StageResult> RunFakeStage(
    const v1::StageOptions& options, const std::vector<v1::BlobRef>& inputs,
    cache::BlobStore& blobs);

// Stores `text` and returns its digest.
v1::Digest PutText(cache::BlobStore& blobs, const std::string& text);

// Executes leases at once, in the caller's thread. Thread-safe.
class FakeLeases : public LeaseSource {
 public:
  explicit FakeLeases(cache::BlobStore& blobs) : blobs_(blobs) {}

  uint64_t Submit(LeaseRequest request, LeaseCallbacks callbacks) override;
  void Cancel(uint64_t lease_id) override;
  std::optional<v1::Compiler> FindCompiler(v1::CompilerFamily family,
                                           const std::string& program) override;
  // No worker has shown a compiler from now on.
  void HideCompilers();

  // How many leases there were; one may execute several stages.
  int Leases();
  // Names of the stages executed, sorted; then forgets them.
  std::vector<std::string> TakeExecuted();
  // The same of those that went with the lease of another one.
  std::vector<std::string> TakeChained();
  // CPU time of each stage from now on.
  void SetCpuSeconds(double seconds);
  // By stage: what it was handed as "graph".
  std::multimap<std::string, std::string> GraphsRead();
  // Leases of this stage stay open until Cancel(): no worker takes them, or one
  // did and works on.
  // `input`: only those of which some input holds this text.
  void Block(const std::string& stage, bool leased = false,
             const std::string& input = "");
  // How many such leases are open.
  int Blocked();
  bool Blocks() { return Blocked() > 0; }

 private:
  bool HasInput(const LeaseRequest& request, const std::string& text) const;
  void ExecuteNext(const std::vector<LeaseRequest::Next>& next,
                   LeaseOutcome& outcome);

  cache::BlobStore& blobs_;
  Mutex mutex_;
  std::vector<std::string> executed_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> chained_ ABSL_GUARDED_BY(mutex_);
  double cpu_seconds_ ABSL_GUARDED_BY(mutex_) = 0.5;
  std::multimap<std::string, std::string> graphs_read_ ABSL_GUARDED_BY(mutex_);
  std::string blocked_stage_ ABSL_GUARDED_BY(mutex_);
  bool blocked_leased_ ABSL_GUARDED_BY(mutex_) = false;
  std::string blocked_input_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, LeaseCallbacks> blocked_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  bool hides_compilers_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_STAGES_TESTING_FAKE_STAGES_H_
