#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "gtest/gtest.h"
#include "server/daemon/farm/dispatcher.h"

namespace edgekiln::server {
namespace {

class FakeLink : public WorkerLink {
 public:
  void Send(const v1::DaemonMessage& message) override {
    if (!message.has_lease()) return;
    ++leases;
    lease = message.lease();
  }
  void Close(const absl::Status&) override {}

  int leases = 0;
  v1::DaemonMessage::Lease lease;  // The last one.
};

v1::Compiler Gcc(const std::string& digest) {
  v1::Compiler compiler;
  compiler.set_family(v1::GCC);
  compiler.set_program("riscv-gcc");
  compiler.set_digest(digest);
  return compiler;
}

class DispatcherCompilersTest : public testing::Test {
 protected:
  DispatcherCompilersTest() {
    DispatcherOptions options;
    options.build_digest = "build";
    dispatcher_ = std::make_unique<Dispatcher>(options, clock_, *log_);
  }
  ~DispatcherCompilersTest() override { dispatcher_->Shutdown(); }

  uint64_t Connect(FakeLink& link, const std::vector<v1::Compiler>& compilers) {
    v1::WorkerMessage::Hello hello;
    hello.set_build_digest("build");
    hello.set_name("w");
    hello.add_roles(v1::COMPILE_ROLE);
    hello.set_slots(1);
    for (const v1::Compiler& each : compilers) *hello.add_compilers() = each;
    const auto worker = dispatcher_->Connect(hello, &link);
    EXPECT_TRUE(worker.ok()) << worker.status();
    return worker.value_or(0);
  }

  void Submit(const v1::Compiler& compiler) {
    LeaseRequest request;
    request.stage = "build_firmware";
    *request.options.mutable_build_firmware()->mutable_compiler() = compiler;
    LeaseCallbacks callbacks;
    callbacks.done = [&](absl::StatusOr<LeaseOutcome> done) {
      done_ = std::move(done);
    };
    dispatcher_->Submit(std::move(request), std::move(callbacks));
  }

  // The worker finds that its compiler is another one by now.
  void Change(uint64_t worker, const FakeLink& link,
              const std::vector<v1::Compiler>& compilers) {
    v1::WorkerMessage message;
    message.mutable_hello();
    for (const v1::Compiler& each : compilers) {
      *message.mutable_hello()->add_compilers() = each;
    }
    dispatcher_->Receive(worker, message);
    v1::WorkerMessage::Result& result = *message.mutable_result();
    result.set_lease_id(link.lease.lease_id());
    result.set_fencing_token(link.lease.fencing_token());
    result.mutable_infra_error()->set_code(14);
    result.mutable_infra_error()->set_reason("COMPILER_CHANGED");
    dispatcher_->Receive(worker, message);
  }

  // Why the lease was given up.
  ErrorDetail Missing() {
    if (!done_.has_value()) {
      ADD_FAILURE() << "still waits";
      return {};
    }
    const auto detail = GetErrorDetail(done_->status());
    EXPECT_TRUE(detail.has_value()) << done_->status();
    if (!detail.has_value()) return {};
    EXPECT_EQ(detail->reason, "COMPILER_MISSING");
    EXPECT_EQ(detail->fault, Fault::kInfra);
    return *detail;
  }

  std::string DigestFound() {
    const auto found = dispatcher_->FindCompiler(v1::GCC, "riscv-gcc");
    return found.has_value() ? found->digest() : "none";
  }

  FakeClock clock_;
  const std::unique_ptr<Logger> log_ = NewNullLogger();
  FakeLink with_, without_;  // Outlive the dispatcher's use of them.
  std::unique_ptr<Dispatcher> dispatcher_;
  std::optional<absl::StatusOr<LeaseOutcome>> done_;
};

TEST_F(DispatcherCompilersTest, LeasesGoToWhoHasTheCompiler) {
  Connect(without_, {});
  Connect(with_, {Gcc("d1")});
  Submit(Gcc("d1"));
  EXPECT_EQ(without_.leases, 0);
  EXPECT_EQ(with_.leases, 1);
}

TEST_F(DispatcherCompilersTest, AnyDigestWillDoWhereNoneIsAskedFor) {
  Connect(with_, {Gcc("d1")});
  Submit(Gcc(""));
  EXPECT_EQ(with_.leases, 1);
}

TEST_F(DispatcherCompilersTest, WaitsForAWorkerButNotForACompiler) {
  Submit(Gcc("d1"));
  clock_.Advance(absl::Seconds(5));
  dispatcher_->Tick();
  EXPECT_FALSE(done_.has_value());

  Connect(without_, {});
  dispatcher_->Tick();
  const ErrorDetail detail = Missing();
  EXPECT_NE(detail.fix.find("--compiler none"), std::string::npos);
  EXPECT_EQ(without_.leases, 0);
}

TEST_F(DispatcherCompilersTest, AnotherCompilerIsNotTheSame) {
  Submit(Gcc("d1"));
  Connect(without_, {Gcc("d2")});
  clock_.Advance(absl::Seconds(5));
  dispatcher_->Tick();
  const ErrorDetail detail = Missing();
  EXPECT_NE(detail.limit.find("d2"), std::string::npos);
  EXPECT_EQ(detail.need, "digest d1");
  EXPECT_EQ(without_.leases, 0);
}

// A worker that restarts has a moment for it.
TEST_F(DispatcherCompilersTest, ABusyOrAbsentCompilerHasAGrace) {
  Connect(without_, {});
  Submit(Gcc("d1"));
  dispatcher_->Tick();
  EXPECT_FALSE(done_.has_value());
  Connect(with_, {Gcc("d1")});
  EXPECT_EQ(with_.leases, 1);
  Submit(Gcc("d1"));
  clock_.Advance(absl::Seconds(5));
  dispatcher_->Tick();
  EXPECT_FALSE(done_.has_value());
}

TEST_F(DispatcherCompilersTest, AnotherWorkerTakesOverFromAChangedCompiler) {
  const uint64_t first = Connect(with_, {Gcc("d1")});
  Submit(Gcc("d1"));
  ASSERT_EQ(with_.leases, 1);
  FakeLink other;
  Connect(other, {Gcc("d1")});
  Change(first, with_, {Gcc("d2")});
  EXPECT_EQ(with_.leases, 1);
  EXPECT_EQ(other.leases, 1);
  EXPECT_FALSE(done_.has_value());
  dispatcher_->Shutdown();  // Before `other` is gone.
}

// Whoever asked learns of the compiler that is there.
TEST_F(DispatcherCompilersTest, NobodyElseHasAChangedCompiler) {
  const uint64_t worker = Connect(with_, {Gcc("d1")});
  Submit(Gcc("d1"));
  Change(worker, with_, {Gcc("d2")});
  EXPECT_EQ(with_.leases, 1) << "not with the other one";
  clock_.Advance(absl::Seconds(2));
  dispatcher_->Tick();
  EXPECT_EQ(Missing().need, "digest d1");
  EXPECT_EQ(DigestFound(), "d2");
}

TEST_F(DispatcherCompilersTest, AChangedCompilerMayBeTheOneThatWasMissing) {
  Submit(Gcc("d2"));
  const uint64_t worker = Connect(with_, {Gcc("d1")});
  EXPECT_EQ(with_.leases, 0);
  v1::WorkerMessage message;
  *message.mutable_hello()->add_compilers() = Gcc("d2");
  dispatcher_->Receive(worker, message);
  EXPECT_EQ(with_.leases, 1);
}

TEST_F(DispatcherCompilersTest, RemembersWhatWorkersHad) {
  EXPECT_EQ(DigestFound(), "none");
  const uint64_t worker = Connect(with_, {Gcc("d1")});
  EXPECT_EQ(DigestFound(), "d1");
  dispatcher_->Disconnect(worker);
  EXPECT_EQ(DigestFound(), "d1");
  Connect(without_, {Gcc("d2")});
  EXPECT_EQ(DigestFound(), "d2");
}

}  // namespace
}  // namespace edgekiln::server
