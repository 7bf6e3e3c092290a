#include "server/daemon/stages/stage_chains.h"

#include <algorithm>
#include <utility>

#include "base/digest.h"

namespace edgekiln::server {

void UnclaimedStages::Add(const std::string& key, Cost cost) {
  const auto [stage, is_new] = stages_.try_emplace(key);
  stage->second.cost = cost;
  if (!is_new) return;
  stage->second.place = keys_.insert(keys_.end(), key);
  if (keys_.size() > limit_) {
    stages_.erase(keys_.front());
    keys_.pop_front();
  }
}

std::optional<UnclaimedStages::Cost> UnclaimedStages::Take(
    const std::string& key) {
  const auto found = stages_.find(key);
  if (found == stages_.end()) return std::nullopt;
  const Cost cost = found->second.cost;
  keys_.erase(found->second.place);
  stages_.erase(found);
  return cost;
}

void KnownWork::Note(const std::string& work, double cpu_seconds) {
  seconds_.Erase(work);
  seconds_.Put(work, std::make_shared<const double>(cpu_seconds), /*bytes=*/1);
}

bool KnownWork::IsShort(const std::string& work) {
  const std::shared_ptr<const double> seconds = seconds_.Get(work);
  return seconds != nullptr && *seconds <= kShortCpuSeconds;
}

bool HasAllInputs(const StageCall& call) {
  return std::all_of(
      call.inputs.begin(), call.inputs.end(),
      [](const v1::BlobRef& input) { return input.has_digest(); });
}

bool ChainedOnce::TryAdd(const StageCall& call) {
  std::string text = call.options.SerializeAsString();
  for (const v1::BlobRef& input : call.inputs) {
    text += '\n';
    text += input.SerializeAsString();
  }
  std::string name = DigestOf(text).hash;
  if (!seen_.insert(name).second) return false;
  oldest_.push_back(std::move(name));
  if (oldest_.size() > limit_) {
    seen_.erase(oldest_.front());
    oldest_.pop_front();
  }
  return true;
}

}  // namespace edgekiln::server
