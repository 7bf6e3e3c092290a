#ifndef EK_SERVER_WORKER_CHILD_REPLY_H_
#define EK_SERVER_WORKER_CHILD_REPLY_H_

// Replies of a child process on their way to the worker. What a stage made
// follows the message as plain bytes: within the message, both ends would hold
// all of it twice.

#include <cstdint>

#include "absl/status/status.h"
#include "edgekiln/v1/worker_child.pb.h"
#include "server/worker/message_channel.h"

namespace edgekiln::server {

// `reply` is the same afterwards, unless it could not be sent. Errors as of
// MessageChannel::Send().
absl::Status SendReply(v1::ChildReply& reply, MessageChannel& channel,
                       const MessageChannel::Limits& limits);

// Of a reply without its outputs: several times what is kept of a result.
inline constexpr int64_t kMaxReplyBytes = int64_t{256} << 20;

// What SendReply() sent. INTERNAL if the outputs exceed 2 GiB together, or the
// rest kMaxReplyBytes.
absl::Status ReceiveReply(v1::ChildReply& reply, MessageChannel& channel,
                          const MessageChannel::Limits& limits);

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_CHILD_REPLY_H_
