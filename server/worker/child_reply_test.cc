#include "server/worker/child_reply.h"

#include <sys/resource.h>
#include <sys/socket.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "gtest/gtest.h"

namespace edgekiln::server {
namespace {

class ChildReplyTest : public testing::Test {
 protected:
  ChildReplyTest() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    child_fd_ = ends[0];
    child_ = std::make_unique<MessageChannel>(ends[0]);
    worker_ = std::make_unique<MessageChannel>(ends[1]);
  }
  int child_fd_ = -1;  // Of child_.
  std::unique_ptr<MessageChannel> child_;
  std::unique_ptr<MessageChannel> worker_;
};

// Larger than what a socket buffers, empty, and of bytes that are no text.
TEST_F(ChildReplyTest, OutputsArriveWithTheirResult) {
  const std::string outputs[] = {
      std::string(5'000'000, 'x'), "", {"\0\xff", 2}};
  v1::ChildReply sent;
  v1::ChildReply::Result& result = *sent.mutable_result();
  result.set_cpu_seconds(1.5);
  for (const std::string& output : outputs) {
    v1::ChildBlob& blob = *result.add_outputs();
    blob.set_role("role");
    blob.set_data(output);
  }
  std::thread sender([&] {
    EXPECT_TRUE(SendReply(sent, *child_, {}).ok());
    v1::ChildReply progress;
    progress.mutable_progress()->set_done(7);
    EXPECT_TRUE(SendReply(progress, *child_, {}).ok());
  });
  v1::ChildReply got;
  ASSERT_TRUE(ReceiveReply(got, *worker_, {}).ok());
  ASSERT_EQ(got.result().outputs_size(), 3);
  EXPECT_EQ(got.result().cpu_seconds(), 1.5);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(got.result().outputs(i).role(), "role");
    EXPECT_TRUE(got.result().outputs(i).data() == outputs[i]) << i;
  }
  ASSERT_TRUE(ReceiveReply(got, *worker_, {}).ok());
  EXPECT_EQ(got.progress().done(), 7);
  sender.join();
}

// However many messages wait to be read.
TEST_F(ChildReplyTest, APeerWithoutEndMeetsTheDeadline) {
  std::thread sender([&] {
    v1::ChildReply progress;
    progress.mutable_progress()->set_done(1);
    while (SendReply(progress, *child_, {}).ok()) {
    }
  });
  const MessageChannel::Limits limits = {.deadline = MessageChannel::Now() +
                                                     absl::Milliseconds(50)};
  absl::Status status;
  v1::ChildReply got;
  while (status.ok()) status = ReceiveReply(got, *worker_, limits);
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  worker_.reset();
  sender.join();
}

// What was read ahead belongs to who asks next, of whatever kind it is.
TEST_F(ChildReplyTest, MessagesAndBytesKeepTheirOrder) {
  const std::string large(100'000, 'x');
  std::thread sender([&] {
    v1::ChildReply progress;
    for (int i = 0; i < 100; ++i) {
      progress.mutable_progress()->set_done(i);
      EXPECT_TRUE(child_->Send(progress, {}).ok());
      EXPECT_TRUE(child_->SendBytes({"a", large, ""}, {}).ok());
    }
  });
  for (int i = 0; i < 100; ++i) {
    v1::ChildReply got;
    ASSERT_TRUE(worker_->Receive(got, {}).ok());
    EXPECT_EQ(got.progress().done(), i);
    for (const std::string& sent : {std::string("a"), large, std::string()}) {
      std::string bytes;
      const auto size = static_cast<int64_t>(sent.size());
      ASSERT_TRUE(worker_->ReceiveBytes(bytes, size, {}).ok());
      EXPECT_TRUE(bytes == sent);
    }
  }
  sender.join();
}

// A child that was taken over names any length it likes.
TEST_F(ChildReplyTest, ImpossibleLengthsAreRefused) {
  v1::ChildReply sent;
  sent.mutable_result()->add_outputs();
  ASSERT_TRUE(child_->Send(sent, {}).ok());
  const uint64_t length = (uint64_t{2} << 30) + 1;
  ASSERT_EQ(send(child_fd_, &length, sizeof(length), 0),
            static_cast<ssize_t>(sizeof(length)));
  v1::ChildReply got;
  EXPECT_EQ(ReceiveReply(got, *worker_, {}).code(),
            absl::StatusCode::kInternal);
}

TEST_F(ChildReplyTest, AMessageOfAnyLengthIsNotTaken) {
  const uint64_t length = kMaxReplyBytes + 1;
  ASSERT_EQ(send(child_fd_, &length, sizeof(length), 0),
            static_cast<ssize_t>(sizeof(length)));
  v1::ChildReply got;
  EXPECT_EQ(ReceiveReply(got, *worker_, {}).code(),
            absl::StatusCode::kInternal);
}

// Memory is taken as bytes come, not as they are announced.
TEST_F(ChildReplyTest, AnAnnouncementTakesNoMemory) {
  const uint64_t length = kMaxReplyBytes;
  ASSERT_EQ(send(child_fd_, &length, sizeof(length), 0),
            static_cast<ssize_t>(sizeof(length)));
  child_.reset();
  std::ofstream("/proc/self/clear_refs") << 5;  // The peak so far.
  const auto peak_bytes = [] {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    return int64_t{usage.ru_maxrss} << 10;
  };
  const int64_t before = peak_bytes();
  v1::ChildReply got;
  EXPECT_EQ(ReceiveReply(got, *worker_, {}).code(),
            absl::StatusCode::kUnavailable);
  EXPECT_LT(peak_bytes() - before, kMaxReplyBytes / 4);
}

}  // namespace
}  // namespace edgekiln::server
