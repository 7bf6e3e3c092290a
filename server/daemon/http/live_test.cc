#include "server/daemon/http/live.h"

#include <grpcpp/client_context.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "gtest/gtest.h"

namespace edgekiln::server {
namespace {

// Its call lasts until End().
class EndlessStream final : public EventStream {
 public:
  explicit EndlessStream(Live& live) : live_(live) {}

  std::string Take(size_t) override { return ""; }
  bool Over() override { return false; }
  void Await() override {}
  void Ping() override {}
  void End() override { live_.StreamEnded(); }
  void Close() override {}

 private:
  Live& live_;
};

void AwaitEnding(Live& live) {
  while (!live.ending()) std::this_thread::yield();
}

TEST(LiveTest, NothingBeginsAfterTheEnd) {
  Live live;
  live.End();
  grpc::ClientContext call;
  EXPECT_FALSE(live.Add(&call));
  EXPECT_FALSE(live.StreamBegins());
  EXPECT_EQ(live.count(), 0u);
}

TEST(LiveTest, AStreamThatIsAddedWhileAllEndIsEnded) {
  Live live;
  ASSERT_TRUE(live.StreamBegins());
  ASSERT_TRUE(live.StreamBegins());
  live.Add(std::make_shared<EndlessStream>(live));
  std::thread ends([&live] { live.End(); });
  AwaitEnding(live);
  live.Add(std::make_shared<EndlessStream>(live));
  ends.join();
  EXPECT_EQ(live.count(), 0u);
}

// What follows the removal of a call may ask for anything else.
TEST(LiveTest, TheEndWaitsForWhatFollowsACall) {
  Live live;
  grpc::ClientContext call;
  ASSERT_TRUE(live.Add(&call));
  std::thread ends([&live] { live.End(); });
  AwaitEnding(live);
  bool followed = false;
  live.Remove(&call, [&] {
    EXPECT_EQ(live.count(), 0u);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    followed = true;
  });
  ends.join();
  EXPECT_TRUE(followed);
}

}  // namespace
}  // namespace edgekiln::server
