#include "server/daemon/stage_group.h"

#include <algorithm>
#include <utility>

namespace edgekiln::server {

std::shared_ptr<PendingStage> StageGroup::Start(StageCall call) {
  StageEvents events;
  if (hooks_.started) {
    events.started = [hook = hooks_.started, name = call.name,
                      target = call.target] { hook(name, target); };
  }
  if (hooks_.progress) {
    events.progress = [hook = hooks_.progress,
                       name = call.name](const v1::StageProgress& progress) {
      hook(name, progress);
    };
  }
  if (hooks_.waiting) {
    events.waiting = [hook = hooks_.waiting, name = call.name](
                         const v1::JobEvent::Waiting& why) { hook(name, why); };
  }
  events.finished = hooks_.finished;
  std::shared_ptr<StageTicket> ticket =
      runner_.Start(std::move(call), std::move(events));
  absl::Status cancelled;
  {
    std::lock_guard lock(mutex_);
    cancelled = cancelled_;
    if (tickets_.size() >= sweep_at_) {
      tickets_.erase(std::remove_if(tickets_.begin(), tickets_.end(),
                                    [](const auto& t) { return t.expired(); }),
                     tickets_.end());
      sweep_at_ = std::max<size_t>(64, 2 * tickets_.size());
    }
    tickets_.push_back(ticket);
  }
  if (!cancelled.ok()) ticket->Cancel(cancelled);
  return ticket;
}

void StageGroup::OnSamples(const v1::JobEvent::Samples& samples) {
  if (hooks_.samples) hooks_.samples(samples);
}

void StageGroup::Cancel(const absl::Status& why) {
  std::vector<std::shared_ptr<StageTicket>> live;
  {
    std::lock_guard lock(mutex_);
    if (!cancelled_.ok()) return;
    cancelled_ = why;
    for (const auto& weak : tickets_) {
      if (auto ticket = weak.lock()) live.push_back(std::move(ticket));
    }
  }
  for (const auto& ticket : live) ticket->Cancel(why);
}

}  // namespace edgekiln::server
