#include "server/worker/child_reply.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/status_macros.h"

namespace edgekiln::server {
namespace {

constexpr int64_t kMaxOutputBytes = int64_t{2} << 30;

}  // namespace

absl::Status SendReply(v1::ChildReply& reply, MessageChannel& channel,
                       const MessageChannel::Limits& limits) {
  std::vector<std::string> outputs;
  if (reply.has_result()) {
    for (v1::ChildBlob& blob : *reply.mutable_result()->mutable_outputs()) {
      outputs.push_back(std::exchange(*blob.mutable_data(), {}));
    }
  }
  const std::vector<absl::string_view> blobs(outputs.begin(), outputs.end());
  EK_RETURN_IF_ERROR(channel.Send(reply, limits, blobs));
  for (size_t i = 0; i < outputs.size(); ++i) {
    reply.mutable_result()
        ->mutable_outputs(static_cast<int>(i))
        ->set_data(std::move(outputs[i]));
  }
  return absl::OkStatus();
}

absl::Status ReceiveReply(v1::ChildReply& reply, MessageChannel& channel,
                          const MessageChannel::Limits& limits) {
  MessageChannel::Limits bounded = limits;
  bounded.max_message_bytes = kMaxReplyBytes;
  EK_RETURN_IF_ERROR(channel.Receive(reply, bounded));
  if (!reply.has_result()) return absl::OkStatus();
  int64_t left = kMaxOutputBytes;
  for (v1::ChildBlob& blob : *reply.mutable_result()->mutable_outputs()) {
    std::string& bytes = *blob.mutable_data();
    EK_RETURN_IF_ERROR(channel.ReceiveUnknown(bytes, left, limits));
    left -= static_cast<int64_t>(bytes.size());
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::server
