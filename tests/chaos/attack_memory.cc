// Point 7: memory of the processes that meet hostile bytes. Data that unpacks
// to a thousand times its size, and networks of very many layers.

#include <string>

#include "tests/chaos/attack_calls.h"
#include "tests/chaos/attacker.h"
#include "tests/chaos/hostile_models.h"

namespace edgekiln::chaos {
namespace {

constexpr int64_t kBombBytes = 3'700'000'000;
constexpr int kLayers = 30'000;
constexpr absl::Duration kLimit = absl::Seconds(8);
constexpr absl::Duration kBetween = absl::Seconds(2);

v1::CreateJobRequest Profile(const Digest& model) {
  v1::CreateJobRequest request;
  request.set_model_name("memory");
  request.mutable_model()->set_hash(model.hash);
  request.mutable_model()->set_size_bytes(model.size_bytes);
  request.add_goals(v1::PROFILE);
  request.mutable_options()->set_limit(4);
  const Digest chip = DigestOf(ChipText(2));
  v1::TargetRef& target = *request.add_targets();
  target.set_name("chip");
  target.mutable_digest()->set_hash(chip.hash);
  target.mutable_digest()->set_size_bytes(chip.size_bytes);
  return request;
}

}  // namespace

void AttackMemory(Attack& attack) {
  for (int round = 0;; ++round) {
    const auto channel = OwnChannel(attack.target().address);
    attack.Count(PutBlobs(channel, {ChipText(2)}));
    const bool layers = round % 2 == 1;
    const auto model =
        PutBlob(channel, ChainModel(layers ? kLayers : 4, attack.rng().Next()));
    attack.Count(model.status());
    const auto bomb =
        PutBlob(channel, NpzBomb(kBombBytes, attack.rng().Next()));
    attack.Count(bomb.status());
    if (model.ok() && bomb.ok()) {
      v1::CreateJobRequest request = Profile(*model);
      if (!layers) {
        for (v1::DataRef* data :
             {request.mutable_data(), request.mutable_calibration()}) {
          v1::Digest& file = *data->add_files();
          file.set_hash(bomb->hash);
          file.set_size_bytes(bomb->size_bytes);
        }
      }
      attack.Count(RunJob(channel, request, kLimit).status());
    }
    Attack::Pause(kBetween);
  }
}

}  // namespace edgekiln::chaos
