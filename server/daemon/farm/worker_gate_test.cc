#include "server/daemon/farm/worker_gate.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "base/error.h"
#include "gtest/gtest.h"
#include "server/worker_secret.h"

namespace edgekiln::server {
namespace {

class WorkerGateTest : public testing::Test {
 protected:
  WorkerGateTest()
      : gate_({.secret = "secret", .max_strangers = 3}, clock_, *log_) {}

  std::unique_ptr<WorkerGate::Visitor> Admit() {
    ended_.push_back(std::make_unique<int>(0));
    auto visitor = gate_.Admit([ended = ended_.back().get()] { ++*ended; });
    EXPECT_TRUE(visitor.ok());
    return *std::move(visitor);
  }
  v1::WorkerMessage::Hello Hello(const WorkerGate::Visitor& visitor,
                                 const std::string& secret) {
    v1::WorkerMessage::Hello hello;
    hello.set_nonce(std::string(kNonceBytes, 'n'));
    hello.set_proof(Proof(Side::kWorker, secret,
                          visitor.challenge().challenge().nonce(),
                          hello.nonce()));
    return hello;
  }

  FakeClock clock_;
  const std::unique_ptr<Logger> log_ = NewNullLogger();
  WorkerGate gate_;
  std::vector<std::unique_ptr<int>> ended_;
};

TEST_F(WorkerGateTest, WhoKnowsTheSecretGetsASessionThatEndsWithTheStream) {
  auto visitor = Admit();
  const std::string nonce = visitor->challenge().challenge().nonce();
  EXPECT_EQ(nonce.size(), kNonceBytes);
  const auto welcome = visitor->Enter(Hello(*visitor, "secret"), "peer");
  ASSERT_TRUE(welcome.ok()) << welcome.status();
  EXPECT_TRUE(IsProof(welcome->proof(), Side::kDaemon, "secret", nonce,
                      std::string(kNonceBytes, 'n')));
  EXPECT_TRUE(gate_.CheckSession(welcome->session()).ok());
  auto other = Admit();
  EXPECT_NE(other->challenge().challenge().nonce(), nonce);
  visitor.reset();
  EXPECT_TRUE(absl::IsUnauthenticated(gate_.CheckSession(welcome->session())));
  EXPECT_TRUE(absl::IsUnauthenticated(gate_.CheckSession("")));
}

TEST_F(WorkerGateTest, WhoDoesNotIsToldNothingButWhatToDo) {
  auto visitor = Admit();
  for (v1::WorkerMessage::Hello hello :
       {v1::WorkerMessage::Hello(), Hello(*visitor, "guess")}) {
    hello.set_build_digest("other");
    const absl::Status refused = visitor->Enter(hello, "peer").status();
    EXPECT_TRUE(absl::IsUnauthenticated(refused));
    EXPECT_TRUE(absl::StrContains(refused.message(), "--secret-file"));
    EXPECT_FALSE(absl::StrContains(refused.message(), "build"));
  }
  // The answer to another challenge is none to this one.
  auto other = Admit();
  EXPECT_FALSE(other->Enter(Hello(*visitor, "secret"), "peer").ok());
}

TEST_F(WorkerGateTest, SilentStreamsEndAndKeepNobodyOut) {
  std::vector<std::unique_ptr<WorkerGate::Visitor>> mute;
  for (int i = 0; i < 5; ++i) mute.push_back(Admit());
  EXPECT_EQ(*ended_[0], 1);
  EXPECT_EQ(*ended_[1], 1);
  EXPECT_EQ(*ended_[2], 0);
  const auto taken = mute[4]->Enter(Hello(*mute[4], "secret"), "peer");
  EXPECT_TRUE(taken.ok());
  mute[3].reset();
  clock_.Advance(absl::Seconds(9));
  gate_.Tick();
  EXPECT_EQ(*ended_[2], 0);
  clock_.Advance(absl::Seconds(2));
  gate_.Tick();
  EXPECT_EQ(*ended_[2], 1);
  EXPECT_EQ(*ended_[3], 0);  // Gone by itself.
  EXPECT_EQ(*ended_[4], 0);  // Taken.
}

}  // namespace
}  // namespace edgekiln::server
