#include "server/daemon/stages/recalled_stages.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/error.h"
#include "proto/convert.h"

namespace edgekiln::server {
namespace {

class RecalledStage final : public PendingStage {
 public:
  RecalledStage(cache::SharedStageResult result, v1::Report::Stage record)
      : result_(std::move(result)), record_(std::move(record)) {}

  const absl::StatusOr<v1::StageResult>* Result() override {
    return result_.get();
  }
  bool PostOnceOver(Executor::Work&, Executor&) override { return false; }
  v1::Report::Stage Record() override { return record_; }

 private:
  const cache::SharedStageResult result_;
  const v1::Report::Stage record_;
};

cache::SharedStageResult Failed(absl::Status why) {
  return std::make_shared<const absl::StatusOr<v1::StageResult>>(
      std::move(why));
}

}  // namespace

std::shared_ptr<PendingStage> RecalledStages::Start(StageCall call) {
  cache::SharedStageResult result;
  if (complete_ && records_.size() < kMaxStages) result = runner_.Recall(call);
  if (result == nullptr) {
    complete_ = false;
    return std::make_shared<RecalledStage>(
        Failed(absl::UnavailableError("the stage is not at hand")),
        v1::Report::Stage());
  }
  if ((*result)->has_error()) {
    result = Failed(Annotate(StatusFromProto((*result)->error()), call.name));
  }
  if (result->ok()) {
    for (const std::string& text : (*result)->warnings()) {
      std::optional<v1::JobEvent> line =
          warnings_.Add(call.name, call.target, text);
      if (line.has_value()) events_.push_back(*std::move(line));
    }
  }
  v1::Report::Stage record;
  record.set_name(std::move(call.name));
  record.set_cache(v1::Report::Stage::HIT);
  *events_.emplace_back().mutable_stage_finished() = record;
  records_.push_back(record);
  return std::make_shared<RecalledStage>(std::move(result), std::move(record));
}

void RecalledStages::OnSamples(const v1::JobEvent::Samples& samples) {
  *events_.emplace_back().mutable_samples() = samples;
}

void RecalledStages::OnCounted(const v1::JobEvent::Counted& counted) {
  *events_.emplace_back().mutable_counted() = counted;
}

}  // namespace edgekiln::server
