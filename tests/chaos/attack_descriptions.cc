// Point 2: models whose descriptions are larger than a message, one after the
// other.

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/chaos/attack_calls.h"
#include "tests/chaos/attacker.h"
#include "tests/chaos/hostile_models.h"

namespace edgekiln::chaos {
namespace {

constexpr int kLayers = 5000;
constexpr int kNameBytes = 3600;  // 18 MB of names.
constexpr absl::Duration kLimit = absl::Seconds(10);
constexpr absl::Duration kBetween = absl::Seconds(2);

}  // namespace

void AttackDescriptions(Attack& attack) {
  while (true) {
    const auto channel = OwnChannel(attack.target().address);
    const auto model = PutBlob(
        channel, LongNamesModel(kLayers, kNameBytes, attack.rng().Next()));
    attack.Count(model.status());
    if (model.ok()) {
      v1::CreateJobRequest request;
      request.set_model_name("long names");
      request.mutable_model()->set_hash(model->hash);
      request.mutable_model()->set_size_bytes(model->size_bytes);
      request.add_goals(v1::INSPECT);
      attack.Count(RunJob(channel, request, kLimit).status());
    }
    Attack::Pause(kBetween);
  }
}

}  // namespace edgekiln::chaos
