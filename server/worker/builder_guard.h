#ifndef EK_SERVER_WORKER_BUILDER_GUARD_H_
#define EK_SERVER_WORKER_BUILDER_GUARD_H_

// What is left to end where a worker is killed while a builder runs. A child
// dies with its parent; what the child has started, and its folder, do not. So
// each builder has a second process beside it, which meets no hostile bytes.

#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/scoped_fd.h"

namespace edgekiln::server {

// Once the worker is gone, whatever ended it, the guard kills the group of the
// builder and removes its folder.
class BuilderGuard {
 public:
  // Of the builder that leads `group`, which must not have been waited for.
  // `binary` is run with `name`, --guard and the folder. Errors as of
  // SpawnChild().
  static absl::StatusOr<std::unique_ptr<BuilderGuard>> Start(
      const std::string& binary, const std::string& name, pid_t group,
      const std::string& folder);
  // Ends it. It belongs to the group: whoever kills that ends it as well.
  ~BuilderGuard();
  BuilderGuard(const BuilderGuard&) = delete;
  BuilderGuard& operator=(const BuilderGuard&) = delete;

 private:
  BuilderGuard(pid_t pid, ScopedFd life) : pid_(pid), life_(std::move(life)) {}

  const pid_t pid_;
  const ScopedFd life_;  // The system closes it when this process ends.
};

// The inside of that process; returns its exit code.
int RunGuard(const std::string& folder);

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_BUILDER_GUARD_H_
