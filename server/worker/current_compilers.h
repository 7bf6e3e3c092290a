#ifndef EK_SERVER_WORKER_CURRENT_COMPILERS_H_
#define EK_SERVER_WORKER_CURRENT_COMPILERS_H_

// The compilers of this machine while a worker runs: a package may be upgraded
// under it.

#include <functional>
#include <memory>
#include <utility>

#include "base/mutex.h"
#include "server/worker/compilers.h"

namespace edgekiln::server {

// Thread-safe.
class CurrentCompilers {
 public:
  using Find = std::function<InstalledCompilers()>;
  // Looks for them at once. Empty: there are none.
  explicit CurrentCompilers(Find find)
      : find_(std::move(find)), found_(Look()) {}

  std::shared_ptr<const InstalledCompilers> Get() const {
    MutexLock lock(mutex_);
    return found_;
  }
  // Looks for them again, as `seen` is no longer right, unless somebody else
  // has done so since. Takes as long as reading a compiler's files.
  std::shared_ptr<const InstalledCompilers> Renew(
      const std::shared_ptr<const InstalledCompilers>& seen) {
    MutexLock lock(mutex_);
    if (found_ == seen) found_ = Look();
    return found_;
  }

 private:
  std::shared_ptr<const InstalledCompilers> Look() const {
    return std::make_shared<const InstalledCompilers>(
        find_ ? find_() : InstalledCompilers());
  }

  const Find find_;
  mutable Mutex mutex_;
  std::shared_ptr<const InstalledCompilers> found_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_CURRENT_COMPILERS_H_
