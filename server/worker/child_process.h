#ifndef EK_SERVER_WORKER_CHILD_PROCESS_H_
#define EK_SERVER_WORKER_CHILD_PROCESS_H_

// The process in which stages meet hostile bytes: limited, killed and replaced
// without harm to the worker, which only moves blobs.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "edgekiln/v1/worker_child.pb.h"
#include "edgekiln/v1/workers.pb.h"
#include "server/worker/builder_guard.h"
#include "server/worker/long_stages.h"
#include "server/worker/message_channel.h"
#include "server/worker/scratch_folder.h"

namespace edgekiln::server {

struct ChildOptions {
  std::string binary;  // Run with `arguments`, the channel on fd 3.
  std::string name = "edgekiln-worker";  // For process lists.
  std::vector<std::string> arguments;
  // Address space, in whole MiB, that the child limits itself to as it is told
  // by a last argument --memory-limit; 0: unlimited.
  int64_t memory_limit_bytes = 0;
  // A builder (confinement.h), with a folder of its own within this one. What
  // it has started, and the folder, end with it, and with the worker. Empty: no
  // builder.
  std::string scratch_parent;
  std::vector<std::string> tool_folders;
  // Of one request; never more than until its deadline, rounded up to seconds.
  absl::Duration cpu_limit = absl::InfiniteDuration();
  // Of children that are not in the background. Must outlive the ChildProcess;
  // null: long stages keep their priority.
  LongStages* long_stages = nullptr;
};

// Names of builders' folders begin like that.
inline constexpr char kBuilderFolderPrefix[] = "edgekiln-build-";

// Bytes of the inputs at these positions of a request, in order.
using InputSupply = std::function<
    absl::StatusOr<std::vector<std::shared_ptr<const std::string>>>(
        const std::vector<int>& positions)>;

// The descriptor on which a child finds its end of the channel.
inline constexpr int kChildChannelFd = 3;

// What a child of these options is confined to; a child is started for it. If
// there is none, all is missing for that reason.
v1::WorkerMessage::Confinement ProbeConfinement(const ChildOptions& options);

// Executes one request at a time, in a child that stays alive in between. The
// child is started on first use and replaced after each failure. It dies with
// the thread that calls Execute(). Not thread-safe.
class ChildProcess {
 public:
  explicit ChildProcess(ChildOptions options) : options_(std::move(options)) {}
  // Kills the child.
  ~ChildProcess() { Kill(); }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // What a request comes with. All are called from within Execute().
  struct Handlers {
    InputSupply supply;  // Of what the child lacks. May not be empty.
    std::function<void(const v1::StageProgress&)> progress;  // May be empty.
  };

  // Returns the result as the child gave it, or, if the child ended because the
  // stage went beyond its memory or stack, a result with that user error. After
  // either, and after an infra_error, the child is replaced. `stage` is for
  // errors. Errors, all of them Fault::kInfra and after the child is dead:
  // INTERNAL (it crashed; names stage and signal), CANCELLED
  // (`limits.cancel_fd` became readable),
  // DEADLINE_EXCEEDED (`limits.deadline` passed, its CPU time is used up,
  // or it waited for a processor for most of the time), UNAVAILABLE (no
  // process).
  // Also those of `handlers.supply`, as they are.
  absl::StatusOr<v1::ChildReply::Result> Execute(
      const v1::ChildRequest& request, absl::string_view stage,
      const MessageChannel::Limits& limits, const Handlers& handlers);

  // Whether its children give way to others that want a processor, from now on
  // (cpu_priority.h).
  void SetBackground(bool background);

  // Process id of the living child; 0 without one.
  pid_t pid() const { return pid_; }
  void Kill();

 private:
  absl::Status Start();
  absl::Status StartGuard();
  bool IsBuilder() const { return !options_.scratch_parent.empty(); }
  // Whether it has, of itself.
  bool HasEnded() const;
  void LimitCpuTime(const MessageChannel::Limits& limits);
  // How a child ended.
  struct End {
    int exit_code = 0;  // If `signal` is 0.
    int signal = 0;
    int64_t peak_bytes = 0;  // Of physical memory.
  };
  End Reap();
  absl::StatusOr<v1::ChildReply::Result> Fail(const absl::Status& why,
                                              absl::string_view stage,
                                              absl::Duration timeout);
  // The child closed its end of the channel.
  absl::StatusOr<v1::ChildReply::Result> Died(absl::string_view stage);
  absl::Status Supply(const v1::ChildReply::Need& need, int inputs,
                      const MessageChannel::Limits& limits,
                      const InputSupply& supply);
  absl::StatusOr<v1::ChildReply::Result> Converse(
      const v1::ChildRequest& request, const MessageChannel::Limits& limits,
      const Handlers& handlers);

  const ChildOptions options_;
  pid_t pid_ = 0;
  bool background_ = false;
  std::unique_ptr<ScratchFolder> folder_;  // A builder's.
  std::unique_ptr<BuilderGuard> guard_;    // As well.
  absl::Duration cpu_limit_;               // Of the request under way.
  // See cpu_wait.h: when the request under way began, or up to a hundredth of
  // its time earlier, as reading it costs as much as a small stage's request.
  absl::Duration cpu_wait_before_;
  absl::Duration cpu_wait_read_ = -absl::InfiniteDuration();  // As of Now().
  std::unique_ptr<MessageChannel> channel_;
  absl::Status unsupplied_;  // Why the living child waits in vain.
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_CHILD_PROCESS_H_
