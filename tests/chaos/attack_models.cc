// Point 6: models that end badly on our side: out of time, out of memory, out
// of stack. Each is sent twice alike, as somebody would who tries again.

#include <string>
#include <thread>

#include "tests/chaos/attack_calls.h"
#include "tests/chaos/attacker.h"
#include "tests/chaos/hostile_models.h"

namespace edgekiln::chaos {
namespace {

// Longer than the lease of the farm under attack, so that retries show.
constexpr absl::Duration kLimit = absl::Seconds(12);
constexpr absl::Duration kBetween = absl::Seconds(1);

// Ends by itself, if in nothing good.
std::string QuickModel(int kind, uint64_t seed) {
  switch (kind % 4) {
    case 0:
      return NestedModel(90, seed);
    case 1:
      return HugeInputModel(seed);
    case 2:
      return DoublingModel(seed);
    default:
      return NestedModel(1000, seed);
  }
}

v1::CreateJobRequest Profile(const Digest& model) {
  v1::CreateJobRequest request;
  request.set_model_name("hostile");
  request.mutable_model()->set_hash(model.hash);
  request.mutable_model()->set_size_bytes(model.size_bytes);
  request.add_goals(v1::PROFILE);
  request.mutable_options()->set_limit(4);
  const Digest chip = DigestOf(ChipText(1));
  v1::TargetRef& target = *request.add_targets();
  target.set_name("chip");
  target.mutable_digest()->set_hash(chip.hash);
  target.mutable_digest()->set_size_bytes(chip.size_bytes);
  return request;
}

void SendTwice(Attack& attack, const std::string& bytes) {
  const auto channel = OwnChannel(attack.target().address);
  attack.Count(PutBlobs(channel, {ChipText(1)}));
  const auto model = PutBlob(channel, bytes);
  attack.Count(model.status());
  for (int i = 0; model.ok() && i < 2; ++i) {
    attack.Count(RunJob(channel, Profile(*model), kLimit).status());
  }
  Attack::Pause(kBetween);
}

}  // namespace

void AttackModels(Attack& attack) {
  const uint64_t seed = attack.rng().Next();
  std::thread slow([&attack, seed] {
    Rng rng(seed);
    // One at a time: it is the slots that are taken, not the processor.
    while (true) SendTwice(attack, SlowModel(rng.Next()));
  });
  for (int kind = 0;; ++kind) {
    SendTwice(attack, QuickModel(kind, attack.rng().Next()));
  }
  slow.join();
}

}  // namespace edgekiln::chaos
