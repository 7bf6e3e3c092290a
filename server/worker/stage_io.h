#ifndef EK_SERVER_WORKER_STAGE_IO_H_
#define EK_SERVER_WORKER_STAGE_IO_H_

// What goes into a stage and what comes out of it, by value.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "edgekiln/v1/stage.pb.h"

namespace edgekiln::server {

// Blobs by role, in the order of the lease. Views borrow from the owner of the
// bytes. A missing or unreadable input is a bug of ours: INTERNAL.
class StageInputs {
 public:
  void Add(std::string role, absl::string_view bytes) {
    blobs_.emplace_back(std::move(role), bytes);
  }

  // The only blob with that role.
  absl::StatusOr<absl::string_view> One(absl::string_view role) const;
  // All blobs with that role; may be empty.
  std::vector<absl::string_view> All(absl::string_view role) const;

  // The only blob with that role, as a message.
  template <typename Message>
  absl::StatusOr<Message> Parse(absl::string_view role) const {
    const absl::StatusOr<absl::string_view> bytes = One(role);
    if (!bytes.ok()) return bytes.status();
    return ParseBytes<Message>(role, *bytes);
  }
  template <typename Message>
  absl::StatusOr<std::vector<Message>> ParseAll(absl::string_view role) const {
    std::vector<Message> messages;
    for (const absl::string_view bytes : All(role)) {
      absl::StatusOr<Message> message = ParseBytes<Message>(role, bytes);
      if (!message.ok()) return message.status();
      messages.push_back(*std::move(message));
    }
    return messages;
  }

 private:
  template <typename Message>
  static absl::StatusOr<Message> ParseBytes(absl::string_view role,
                                            absl::string_view bytes) {
    Message message;
    if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      return absl::InternalError(
          absl::StrCat("stage input '", role, "' does not parse"));
    }
    return message;
  }

  std::vector<std::pair<std::string, absl::string_view>> blobs_;
};

struct StageOutput {
  std::vector<std::pair<std::string, std::string>> blobs;  // Role, bytes.
  v1::StageSummary summary;
  std::vector<std::string> warnings;

  void Add(std::string role, std::string bytes) {
    blobs.emplace_back(std::move(role), std::move(bytes));
  }
  void Add(std::string role, const google::protobuf::MessageLite& message) {
    blobs.emplace_back(std::move(role), message.SerializeAsString());
  }
};

// Called from the stage's thread, as often as the stage likes.
using ProgressSink = std::function<void(const v1::StageProgress&)>;

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_STAGE_IO_H_
