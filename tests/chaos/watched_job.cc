#include "tests/chaos/watched_job.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "google/protobuf/util/message_differencer.h"

namespace edgekiln::chaos {

std::unique_ptr<client::Connection> Connect(const std::string& address,
                                            FileSystem& files, Clock& clock) {
  client::ConnectionOptions options;
  options.grpc_target = address;
  options.shown = address;
  return client::NewConnection(std::move(options), files, clock);
}

class WatchedJob::Sink final : public client::WatchSink {
 public:
  Sink(std::vector<v1::JobEvent>& seen, const std::atomic<bool>& give_up)
      : seen_(seen), give_up_(give_up) {}
  void OnEvent(const v1::JobEvent& event) override { seen_.push_back(event); }
  void OnReconnecting(bool) override {}
  absl::Status OnTick() override {
    return give_up_ ? absl::CancelledError("no longer watched")
                    : absl::OkStatus();
  }

 private:
  std::vector<v1::JobEvent>& seen_;
  const std::atomic<bool>& give_up_;
};

WatchedJob::WatchedJob(std::string id, const std::string& address,
                       FileSystem& files, Clock& clock)
    : id_(std::move(id)), connection_(Connect(address, files, clock)) {
  thread_ = std::thread([this] {
    Sink sink(seen_, give_up_);
    status_ = connection_->Watch(id_, 0, sink);
    over_ = true;
  });
}

WatchedJob::~WatchedJob() {
  give_up_ = true;
  thread_.join();
}

absl::Status WatchedJob::Check(client::Connection& connection,
                               bool lost_power) {
  EK_RETURN_IF_ERROR(status_, "watching it through the kills");
  int64_t expected = 0;
  std::set<std::string> computed;
  for (const v1::JobEvent& event : seen_) {
    if (event.sequence() != ++expected) {
      return absl::DataLossError(
          absl::StrCat("event ", expected, " came as ", event.sequence()));
    }
    const v1::Report::Stage& stage = event.stage_finished();
    if (!lost_power && stage.cache() == v1::Report::Stage::MISS &&
        !computed.insert(stage.name()).second) {
      return absl::DataLossError(absl::StrCat(
          "stage ", stage.name(), " was computed again after it had finished"));
    }
  }
  std::vector<v1::JobEvent> stored;
  Sink sink(stored, give_up_);
  EK_RETURN_IF_ERROR(connection.Watch(id_, 0, sink), "watching it again");
  if (stored.size() != seen_.size()) {
    return absl::DataLossError(absl::StrCat(
        "saw ", seen_.size(), " events, stored are ", stored.size()));
  }
  for (size_t i = 0; i < stored.size(); ++i) {
    if (google::protobuf::util::MessageDifferencer::Equals(stored[i],
                                                           seen_[i])) {
      continue;
    }
    return absl::DataLossError(absl::StrCat(
        "event ", i + 1, " changed: seen ", seen_[i].ShortDebugString(),
        ", stored ", stored[i].ShortDebugString()));
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::chaos
