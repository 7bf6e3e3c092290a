#include "server/sweep/quantized_models.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "server/import_call.h"
#include "server/later.h"
#include "server/sweep/cells.h"
#include "server/sweep/meaning.h"

namespace edgekiln::server {
namespace {

constexpr size_t kMaxInFlight = 16;

std::vector<const v1::SweepModel*> ModelsToAskAbout(
    const v1::SweepRequest& request) {
  std::vector<const v1::SweepModel*> models;
  for (const v1::SweepGroup& group : request.groups()) {
    const auto& vary = group.vary();
    for (const v1::SweepModel& model : group.models()) {
      const bool depends =
          std::any_of(vary.begin(), vary.end(), [&](const v1::SweepVary& one) {
            return DependsOnImport(one.key(), model, group.goal());
          });
      if (depends) models.push_back(&model);
    }
  }
  return models;
}

struct Importing {
  const v1::SweepModel* model;
  std::shared_ptr<PendingStage> stage;
};

// Stages must not be handed what is not there: it would look like a failure of
// the workers.
Task<absl::StatusOr<bool>> AreThere(const std::vector<v1::BlobRef>& files,
                                    SweepBlobs& blobs) {
  for (const v1::BlobRef& file : files) {
    Later<bool> asked([&](const std::function<void(bool)>& told) {
      blobs.AskHas(file.digest(), told);
    });
    const bool is_there = co_await asked;
    if (!is_there) co_return false;
  }
  co_return true;
}

}  // namespace

Task<absl::StatusOr<v1::SweepGroup>> QuantizedModels(
    const v1::SweepRequest& request, SweepBlobs& blobs, JobContext& stages) {
  const std::vector<const v1::SweepModel*> models = ModelsToAskAbout(request);
  std::deque<Importing> in_flight;
  v1::SweepGroup quantized;
  size_t next = 0;
  while (next < models.size() || !in_flight.empty()) {
    if (next < models.size() && in_flight.size() < kMaxInFlight) {
      const v1::SweepModel* const model = models[next++];
      StageCall call = ImportCall(ModelRequest(*model));
      EK_CO_ASSIGN_OR_RETURN(const bool there,
                             co_await AreThere(call.inputs, blobs));
      if (there) in_flight.push_back({model, stages.Start(std::move(call))});
      continue;
    }
    const Importing first = std::move(in_flight.front());
    in_flight.pop_front();
    const auto& imported = co_await ResultOf(first.stage);
    if (imported.ok() && imported->summary().import().quantized()) {
      *quantized.add_models() = *first.model;
    }
  }
  co_return quantized;
}

}  // namespace edgekiln::server
