#include "server/daemon/net/accept_loop.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "server/daemon/net/connections.h"
#include "server/daemon/net/greeting.h"
#include "server/daemon/net/log_limit.h"

namespace edgekiln::server {
namespace {

// How often connections are looked at that poll() cannot tell about: those that
// wait for room, those with a part of the greeting.
constexpr absl::Duration kLookEvery = absl::Milliseconds(20);
// Until the first such look after a part: many clients send the greeting in two
// packets.
constexpr absl::Duration kFirstLook = absl::Milliseconds(1);
// How often all connections are looked at while there is no room.
constexpr absl::Duration kPruneEvery = absl::Milliseconds(5);
// After accept() has failed, for example for want of descriptors.
constexpr absl::Duration kBackOff = absl::Milliseconds(100);
constexpr absl::Duration kProbePatience = absl::Seconds(2);
// Taken from the listener before those that came earlier are looked at again.
constexpr int kAtOnce = 16;

class AcceptLoopImpl : public AcceptLoop {
 public:
  AcceptLoopImpl(AcceptOptions options, ListenSockets sockets,
                 std::function<void(int)> take, Clock& clock, Logger& log)
      : options_(std::move(options)),
        take_(std::move(take)),
        clock_(clock),
        log_(log),
        failed_(clock, log),
        refused_(clock, log),
        silent_(clock, log),
        wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        sockets_(std::move(sockets)) {
    thread_ = std::thread([this] { Run(); });
  }

  ~AcceptLoopImpl() override {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
    }
    Wake();
    thread_.join();
    for (const Pending& pending : pending_) close(pending.descriptor);
    if (wake_ >= 0) close(wake_);
  }

  AcceptCounts Counts() override {
    MutexLock lock(mutex_);
    connections_.Prune();
    counts_.connections = connections_.size();
    return counts_;
  }

  absl::Status Check() override {
    std::vector<int> copies;
    {
      MutexLock lock(mutex_);
      if (!sockets_.Reachable()) Reopen();
      // The loop's thread may not close them while we look.
      for (const int fd : sockets_.descriptors()) {
        copies.push_back(dup(fd));
      }
    }
    absl::Status status;
    for (const int fd : copies) {
      status.Update(ProbeListener(fd, kProbePatience));
      if (fd >= 0) close(fd);
    }
    return status;
  }

 private:
  struct Pending {
    int descriptor = -1;
    std::string peer;
    absl::Duration since;
    bool greeted = false;  // Waits for room.
    bool partial = false;  // Has said a part: readable, but nothing new.
    bool again = false;    // Was partial at the last look, too.
    bool spoke = false;    // Since it was looked at.
  };

  void Wake() {
    const uint64_t one = 1;
    const ssize_t written = write(wake_, &one, sizeof(one));
    static_cast<void>(written);
  }

  void Reopen() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    absl::StatusOr<ListenSockets> again =
        ListenSockets::Open(sockets_.address());
    if (!again.ok()) {
      failed_.Warning(
          absl::StrCat(options_.name, ": ", again.status().message()));
      return;
    }
    sockets_ = *std::move(again);
    log_.Warning(options_.name, ": somebody had removed ", sockets_.address(),
                 "; listening there again");
    Wake();
  }

  // Everything but Counts() and Check() is done here. The lock is free while
  // waiting only.
  void Run() {
    MutexLock lock(mutex_);
    while (!stopping_) {
      const std::vector<pollfd> waiting = WaitFor();
      std::vector<pollfd> got = waiting;
      const int timeout = TimeoutMs();
      lock.Unlock();
      (void)poll(got.data(), got.size(), timeout);
      lock.Lock();
      NoteWhoSpoke(got);
      uint64_t ignored = 0;
      const ssize_t drained = read(wake_, &ignored, sizeof(ignored));
      static_cast<void>(drained);
      if (Crowded()) MakeRoom();
      LookAtPending();
      if (CanAccept()) AcceptSome();
      counts_.pending = static_cast<int>(pending_.size());
    }
  }

  std::vector<pollfd> WaitFor() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::vector<pollfd> out = {{.fd = wake_, .events = POLLIN, .revents = 0}};
    if (CanAccept()) {
      for (const int fd : sockets_.descriptors()) {
        out.push_back({.fd = fd, .events = POLLIN, .revents = 0});
      }
    }
    for (const Pending& pending : pending_) {
      if (pending.greeted || pending.partial) continue;
      out.push_back({.fd = pending.descriptor, .events = POLLIN, .revents = 0});
    }
    return out;
  }

  // Of the pending ones, which come last in what WaitFor() returned.
  void NoteWhoSpoke(const std::vector<pollfd>& got)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    auto pending = pending_.rbegin();
    for (auto it = got.rbegin(); it != got.rend(); ++it) {
      while (pending != pending_.rend() && pending->descriptor != it->fd) {
        ++pending;
      }
      if (pending == pending_.rend()) return;
      if (it->revents != 0) pending->spoke = true;
    }
  }

  int TimeoutMs() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const absl::Duration now = clock_.Monotonic();
    absl::Duration until = absl::InfiniteDuration();
    if (now < accept_again_) until = accept_again_ - now;
    for (const Pending& pending : pending_) {
      const bool look = pending.greeted || pending.partial;
      const bool soon = pending.partial && !pending.again && !pending.greeted;
      until = std::min(until,
                       soon   ? kFirstLook
                       : look ? kLookEvery
                              : pending.since + options_.greeting_time - now);
    }
    if (Crowded()) until = std::min(until, kLookEvery);
    if (now >= accept_again_ && !CanAccept()) {
      for (const Pending& pending : pending_) {
        if (pending.greeted) continue;
        until = std::min(until, pending.since + PatienceWith(pending) - now);
      }
    }
    // Without a descriptor to be woken by, the end is seen by looking.
    if (wake_ < 0) until = std::min(until, kBackOff);
    if (until == absl::InfiniteDuration()) return -1;
    return static_cast<int>(absl::ToInt64Milliseconds(
               std::max(until, absl::ZeroDuration()))) +
           1;
  }

  // Whether there is room for one more, or somebody who has to make it.
  bool CanAccept() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (clock_.Monotonic() < accept_again_) return false;
    return static_cast<int>(pending_.size()) < options_.limits.max_pending ||
           FirstToGo() != pending_.end();
  }

  // Until a newcomer may have its place.
  absl::Duration PatienceWith(const Pending& pending) const {
    return pending.partial ? options_.min_rest_time
                           : options_.min_greeting_time;
  }

  // Who makes room for a newcomer: who has begun to greet and not gone on, else
  // who has been silent for longest.
  std::deque<Pending>::const_iterator FirstToGo() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const absl::Duration now = clock_.Monotonic();
    auto silent = pending_.end();
    // In order of arrival.
    for (auto it = pending_.begin(); it != pending_.end(); ++it) {
      if (it->greeted || now - it->since < PatienceWith(*it)) continue;
      if (it->partial) return it;
      if (silent == pending_.end()) silent = it;
    }
    return silent;
  }

  void AcceptSome() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (const int listener : sockets_.descriptors()) {
      for (int i = 0; i < kAtOnce && CanAccept(); ++i) {
        if (!AcceptOne(listener)) break;
      }
    }
    LookAtPending();
  }

  // False if there was nobody.
  bool AcceptOne(int listener) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const int fd =
        accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return false;
      // Of that connection, not of ours.
      if (errno == ECONNABORTED || errno == EINTR || errno == EPROTO ||
          errno == EPERM || errno == ENETDOWN || errno == EHOSTUNREACH) {
        return true;
      }
      ++counts_.failed;
      failed_.Warning(absl::StrCat("cannot accept ", options_.name, ": ",
                                   strerror(errno), "; trying again"));
      accept_again_ = clock_.Monotonic() + kBackOff;
      return false;
    }
    if (static_cast<int>(pending_.size()) >= options_.limits.max_pending) {
      const auto first = FirstToGo();
      CloseSilent(*first);
      pending_.erase(first);
    }
    // Most have said something already.
    pending_.push_back({.descriptor = fd,
                        .peer = PeerOf(fd),
                        .since = clock_.Monotonic(),
                        .spoke = true});
    return true;
  }

  void CloseSilent(const Pending& pending)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    close(pending.descriptor);
    ++counts_.silent;
    silent_.Warning(absl::StrCat("closed a connection of ", options_.name,
                                 " that did not finish the HTTP/2 greeting",
                                 pending.peer.empty() ? "" : ", from ",
                                 pending.peer));
  }

  void Refuse(const Pending& pending, absl::string_view why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    SendGoAway(pending.descriptor, why);
    close(pending.descriptor);
    ++counts_.refused;
    refused_.Warning(absl::StrCat("refused a connection of ", options_.name,
                                  pending.peer.empty() ? "" : " from ",
                                  pending.peer, ": ", why));
  }

  // Only at connections of which something may have changed: looking at
  // hundreds of silent ones for each newcomer would take a whole core.
  void LookAtPending() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const absl::Duration now = clock_.Monotonic();
    std::deque<Pending> left;
    for (Pending& pending : pending_) {
      const bool look = std::exchange(pending.spoke, false) ||
                        pending.greeted || pending.partial ||
                        now - pending.since >= options_.greeting_time;
      if (!look || !Dispose(pending, now)) left.push_back(std::move(pending));
    }
    pending_ = std::move(left);
  }

  // True once the connection is handed over or closed.
  bool Dispose(Pending& pending, absl::Duration now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    switch (PeekGreeting(pending.descriptor)) {
      case Greeting::kClosed:
        close(pending.descriptor);
        return true;
      case Greeting::kForeign:
        // Our own look at whether somebody accepts ends here, too.
        close(pending.descriptor);
        ++counts_.silent;
        return true;
      case Greeting::kNone:
        if (now - pending.since >= options_.greeting_time) {
          CloseSilent(pending);
          return true;
        }
        pending.again = pending.partial;
        pending.partial = Readable(pending.descriptor);
        return false;
      case Greeting::kHttp2:
        pending.greeted = true;
        break;
    }
    if (!HasRoom(pending.peer) && pruned_at_ != now) {
      if (now - pruned_at_ < kPruneEvery) return false;
      connections_.Prune();
      pruned_at_ = now;
    }
    const ConnectionLimits& limits = options_.limits;
    if (TooManyOf(pending.peer)) {
      if (MayGetRoom(pending, now, pending.peer)) return false;
      Refuse(pending, absl::StrCat("more than ", limits.max_per_peer,
                                   " connections from one address"));
      return true;
    }
    if (connections_.size() >= limits.max_connections) {
      MayGetRoom(pending, now, /*peer=*/"");
      if (now - pending.since < options_.greeting_time) return false;
      Refuse(pending, absl::StrCat("all ", limits.max_connections,
                                   " connections are taken"));
      return true;
    }
    connections_.Add(pending.descriptor, pending.peer);
    ++counts_.accepted;
    take_(pending.descriptor);
    return true;
  }

  bool TooManyOf(const std::string& peer) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !peer.empty() &&
           connections_.Of(peer) >= options_.limits.max_per_peer;
  }

  // As of the last Prune().
  bool HasRoom(const std::string& peer) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !TooManyOf(peer) &&
           connections_.size() < options_.limits.max_connections;
  }

  // Whether so many are connected, as of the last Prune(), that those who come
  // next would have to wait until one of them is silent for long enough.
  bool Crowded() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return connections_.size() > options_.limits.max_per_peer / 2;
  }

  // Ends connections without a call before somebody needs their places.
  void MakeRoom() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const absl::Duration now = clock_.Monotonic();
    if (now - made_room_at_ < kLookEvery) return;
    connections_.Prune();
    made_room_at_ = now;
    const int free = options_.limits.max_per_peer / 2;
    for (int left = connections_.size(); left > free; --left) {
      if (!connections_.EndSilent(/*peer=*/"")) return;
    }
  }

  // Whoever has connected and made no call gives way, of `peer` if not empty.
  // False if there is nobody, or `pending` has waited long enough.
  bool MayGetRoom(const Pending& pending, absl::Duration now,
                  const std::string& peer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return now - pending.since < options_.greeting_time &&
           connections_.EndSilent(peer);
  }

  static bool Readable(int fd) {
    char byte = 0;
    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
  }

  const AcceptOptions options_;
  const std::function<void(int)> take_;
  Clock& clock_;
  Logger& log_;
  LogLimit failed_;
  LogLimit refused_;
  LogLimit silent_;
  const int wake_;
  Mutex mutex_;
  ListenSockets sockets_ ABSL_GUARDED_BY(mutex_);
  std::deque<Pending> pending_ ABSL_GUARDED_BY(mutex_);  // In order of arrival.
  Connections connections_ ABSL_GUARDED_BY(mutex_);
  // For those that wait.
  absl::Duration pruned_at_ ABSL_GUARDED_BY(mutex_) = -absl::InfiniteDuration();
  absl::Duration made_room_at_ ABSL_GUARDED_BY(mutex_) =
      -absl::InfiniteDuration();
  AcceptCounts counts_ ABSL_GUARDED_BY(mutex_);
  absl::Duration accept_again_ ABSL_GUARDED_BY(mutex_) =
      -absl::InfiniteDuration();
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<AcceptLoop> StartAcceptLoop(AcceptOptions options,
                                            ListenSockets sockets,
                                            std::function<void(int)> take,
                                            Clock& clock, Logger& log) {
  return std::make_unique<AcceptLoopImpl>(
      std::move(options), std::move(sockets), std::move(take), clock, log);
}

}  // namespace edgekiln::server
