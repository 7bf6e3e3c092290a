#include "server/daemon/jobs/watched_job.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "edgekiln/v1/jobs.pb.h"

namespace edgekiln::server {
namespace {

std::shared_ptr<const WatchedJob::Event> Serialize(const v1::JobEvent& event) {
  auto made = std::make_shared<WatchedJob::Event>();
  made->sequence = event.sequence();
  made->is_end = event.event_case() == v1::JobEvent::kState &&
                 event.state() >= v1::SUCCEEDED;
  const grpc::Slice slice(event.SerializeAsString());
  made->bytes = grpc::ByteBuffer(&slice, 1);
  return made;
}

}  // namespace

absl::StatusOr<WatchedJob::Events> WatchedJob::After(int64_t after,
                                                     size_t limit) {
  Events events = Kept(after, limit);
  if (!events.empty()) return events;
  EK_ASSIGN_OR_RETURN(const std::vector<v1::JobEvent> stored,
                      store_.Events(id_, after, static_cast<int>(limit)));
  for (const v1::JobEvent& event : stored) events.push_back(Serialize(event));
  Keep(events);
  return events;
}

WatchedJob::Events WatchedJob::Kept(int64_t after, size_t limit) {
  Events events;
  MutexLock lock(mutex_);
  if (kept_.empty() || after >= kept_.back()->sequence ||
      after + 1 < kept_.front()->sequence) {
    return events;
  }
  const auto skipped = static_cast<size_t>(after + 1 - kept_.front()->sequence);
  const size_t end = std::min(kept_.size(), skipped + limit);
  for (size_t i = skipped; i < end; ++i) events.push_back(kept_[i]);
  return events;
}

void WatchedJob::Keep(const Events& read) {
  MutexLock lock(mutex_);
  for (const std::shared_ptr<const Event>& event : read) {
    if (!kept_.empty()) {
      const int64_t last = kept_.back()->sequence;
      // Kept already: another watcher read it at the same time.
      if (event->sequence <= last) continue;
      if (event->sequence > last + 1) {
        kept_.clear();
        kept_bytes_ = 0;
      }
    }
    kept_.push_back(event);
    kept_bytes_ += event->bytes.Length();
  }
  while (kept_bytes_ > kKeptBytes) {
    kept_bytes_ -= kept_.front()->bytes.Length();
    kept_.pop_front();
  }
}

}  // namespace edgekiln::server
