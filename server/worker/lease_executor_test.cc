#include "server/worker/lease_executor.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "gtest/gtest.h"
#include "proto/convert.h"
#include "server/worker/blob_cache.h"
#include "server/worker/cpu_priority.h"
#include "server/worker/scratch_folder.h"
#include "server/worker/testing/fake_compiler.h"
#include "server/worker/testing/test_child.h"
#include "server/worker_limits.h"

namespace edgekiln::server {
namespace {

// A daemon's store in memory.
class FakeBlobs : public BlobClient {
 public:
  absl::StatusOr<std::vector<SharedBytes>> Get(
      const std::vector<Digest>& digests) override {
    MutexLock lock(mutex_);
    std::vector<SharedBytes> out;
    for (const Digest& digest : digests) {
      if (blobs_.count(digest) == 0) return absl::NotFoundError("no blob");
      out.push_back(blobs_[digest]);
    }
    return out;
  }
  absl::Status Put(const std::vector<Digest>& digests,
                   const std::vector<SharedBytes>& blobs) override {
    MutexLock lock(mutex_);
    for (size_t i = 0; i < digests.size(); ++i) blobs_[digests[i]] = blobs[i];
    ++puts_;
    return put_status_;
  }
  void Keep(const std::vector<Digest>& digests,
            const std::vector<SharedBytes>& blobs) override {
    MutexLock lock(mutex_);
    for (size_t i = 0; i < digests.size(); ++i) blobs_[digests[i]] = blobs[i];
  }
  int puts() {
    MutexLock lock(mutex_);
    return puts_;
  }
  Digest Add(const std::string& bytes) {
    MutexLock lock(mutex_);
    blobs_[DigestOf(bytes)] = std::make_shared<const std::string>(bytes);
    return DigestOf(bytes);
  }
  void FailPuts(const absl::Status& status) {
    MutexLock lock(mutex_);
    put_status_ = status;
  }

 private:
  Mutex mutex_;
  std::map<Digest, SharedBytes> blobs_ ABSL_GUARDED_BY(mutex_);
  absl::Status put_status_ ABSL_GUARDED_BY(mutex_);
  int puts_ ABSL_GUARDED_BY(mutex_) = 0;
};

class FakeSink : public MessageSink {
 public:
  void Send(const v1::WorkerMessage& message) override {
    MutexLock lock(mutex_);
    if (message.has_result()) {
      EXPECT_TRUE(
          results_.emplace(message.result().lease_id(), message.result())
              .second)
          << "two results of lease " << message.result().lease_id();
    } else if (message.has_hello()) {
      hello_ = message.hello();
    } else {
      progress_.insert(message.progress().lease_id());
    }
    changed_.NotifyAll();
  }
  v1::WorkerMessage::Result Await(uint64_t lease) {
    MutexLock lock(mutex_);
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (results_.count(lease) == 0 && changed_.WaitUntil(lock, end)) {
    }
    EXPECT_GT(results_.count(lease), 0u) << "no result of lease " << lease;
    return results_[lease];
  }
  // The last one.
  v1::WorkerMessage::Hello hello() {
    MutexLock lock(mutex_);
    return hello_;
  }
  std::set<uint64_t> progress() {
    MutexLock lock(mutex_);
    return progress_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::map<uint64_t, v1::WorkerMessage::Result> results_
      ABSL_GUARDED_BY(mutex_);
  std::set<uint64_t> progress_ ABSL_GUARDED_BY(mutex_);
  v1::WorkerMessage::Hello hello_ ABSL_GUARDED_BY(mutex_);
};

class LeaseExecutorTest : public testing::Test {
 protected:
  v1::DaemonMessage::Lease Lease(uint64_t id) {
    v1::DaemonMessage::Lease lease;
    lease.set_lease_id(id);
    lease.set_fencing_token(id + 100);
    return lease;
  }
  v1::DaemonMessage::Lease Import(uint64_t id, const Digest& model) {
    v1::DaemonMessage::Lease lease = Lease(id);
    lease.mutable_options()->mutable_import();
    v1::BlobRef& input = *lease.add_inputs();
    input.set_role("model");
    *input.mutable_digest() = ToProto(model);
    return lease;
  }
  v1::DaemonMessage::Lease Forever(uint64_t id) {
    v1::DaemonMessage::Lease lease = Lease(id);
    lease.mutable_options()->mutable_partition();
    return lease;
  }

  FakeBlobs blobs_;
  std::shared_ptr<FakeSink> sink_ = std::make_shared<FakeSink>();
};

// As import() of the child gives it for a model that long.
std::string LargeModel() { return std::string(kMaxSentOutputBytes, 'm'); }

TEST_F(LeaseExecutorTest, SmallOutputsComeWithTheAnswer) {
  LeaseExecutor executor(1, TestChild(), blobs_);
  executor.Add(Import(1, blobs_.Add("m")), sink_);
  const auto result = sink_->Await(1);
  ASSERT_EQ(result.result().outputs_size(), 1);
  ASSERT_EQ(result.outputs_size(), 1);
  EXPECT_EQ(result.outputs(0), "graph of m");
  EXPECT_EQ(result.result().outputs(0).digest().hash(),
            DigestOf("graph of m").hash);
  EXPECT_EQ(blobs_.puts(), 0);
  // The next stage finds them here.
  EXPECT_TRUE(blobs_.Get({DigestOf("graph of m")}).ok());
}

TEST_F(LeaseExecutorTest, StoresOutputsBeforeItAnswers) {
  LeaseExecutor executor(1, TestChild(), blobs_);
  executor.Add(Import(1, blobs_.Add(LargeModel())), sink_);
  const auto result = sink_->Await(1);
  EXPECT_EQ(result.outputs_size(), 0);
  EXPECT_EQ(result.fencing_token(), 101u);
  ASSERT_EQ(result.result().outputs_size(), 1);
  const auto digest = FromProto(result.result().outputs(0).digest());
  ASSERT_TRUE(digest.ok());
  const auto stored = blobs_.Get({*digest});
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_EQ(*stored->front(), "graph of " + LargeModel());
}

TEST_F(LeaseExecutorTest, MoreLeasesThanSlots) {
  LeaseExecutor executor(2, TestChild(), blobs_);
  const Digest model = blobs_.Add("m");
  for (uint64_t id = 1; id <= 20; ++id) executor.Add(Import(id, model), sink_);
  for (uint64_t id = 1; id <= 20; ++id) {
    EXPECT_FALSE(sink_->Await(id).has_infra_error());
  }
}

// Those that the daemon lends (server/long_lease.h).
TEST_F(LeaseExecutorTest, OneLeaseMoreThanASlotExecutes) {
  LeaseExecutor executor(1, TestChild(), blobs_);
  executor.Add(Forever(1), sink_);
  const Digest model = blobs_.Add("m");
  for (uint64_t id = 2; id <= 4; ++id) {
    executor.Add(Import(id, model), sink_);
    EXPECT_FALSE(sink_->Await(id).has_infra_error());
  }
  executor.Cancel(1);
  EXPECT_EQ(sink_->Await(1).infra_error().reason(), "STAGE_CANCELLED");
}

// It is nowhere else.
TEST_F(LeaseExecutorTest, AnInputMayComeWithTheLease) {
  LeaseExecutor executor(1, TestChild(), blobs_);
  v1::DaemonMessage::Lease lease = Import(1, DigestOf("m"));
  lease.add_carried("other");
  lease.add_carried("m");
  executor.Add(lease, sink_);
  const auto result = sink_->Await(1);
  ASSERT_EQ(result.outputs_size(), 1);
  EXPECT_EQ(result.outputs(0), "graph of m");
}

TEST_F(LeaseExecutorTest, MissingInputIsOurFault) {
  LeaseExecutor executor(1, TestChild(), blobs_);
  executor.Add(Import(1, DigestOf("never stored")), sink_);
  const auto result = sink_->Await(1);
  EXPECT_EQ(result.infra_error().fault(), v1::ErrorDetail::INFRA);
  EXPECT_EQ(result.infra_error().where(), "stage import");
  EXPECT_FALSE(result.has_result());
}

TEST_F(LeaseExecutorTest, UnstoredOutputIsOurFault) {
  LeaseExecutor executor(1, TestChild(), blobs_);
  const Digest model = blobs_.Add(LargeModel());
  blobs_.FailPuts(absl::ResourceExhaustedError("disk full"));
  executor.Add(Import(1, model), sink_);
  const auto result = sink_->Await(1);
  EXPECT_TRUE(result.has_infra_error());
  EXPECT_FALSE(result.has_result());
}

TEST_F(LeaseExecutorTest, ACrashIsOneFailedLease) {
  LeaseExecutor executor(1, TestChild(), blobs_);
  v1::DaemonMessage::Lease crash = Lease(1);
  crash.mutable_options()->mutable_describe();
  executor.Add(crash, sink_);
  executor.Add(Import(2, blobs_.Add("m")), sink_);
  EXPECT_EQ(sink_->Await(1).infra_error().reason(), "STAGE_CRASHED");
  EXPECT_FALSE(sink_->Await(2).has_infra_error());
}

TEST_F(LeaseExecutorTest, ALargeResultTravelsAsABlob) {
  LeaseExecutor executor(1, TestChild(), blobs_);
  v1::DaemonMessage::Lease lease = Lease(1);
  lease.mutable_options()->mutable_check_fit();
  executor.Add(lease, sink_);
  const auto result = sink_->Await(1);
  EXPECT_FALSE(result.has_infra_error()) << result.infra_error().what();
  EXPECT_FALSE(result.has_result());
  const auto digest = FromProto(result.stored_result());
  ASSERT_TRUE(digest.ok());
  const auto bytes = blobs_.Get({*digest});
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  v1::StageResult stored;
  ASSERT_TRUE(stored.ParseFromString(*bytes->front()));
  EXPECT_EQ(stored.warnings(0).size(), size_t{1} << 20);
  EXPECT_LT(result.ByteSizeLong(), 1000u);
}

TEST_F(LeaseExecutorTest, AResultThatNothingKeepsIsAnErrorOfQuota) {
  LeaseExecutor executor(1, TestChild(), blobs_);
  v1::DaemonMessage::Lease lease = Lease(1);
  lease.mutable_options()->mutable_set_io();
  executor.Add(lease, sink_);
  const auto result = sink_->Await(1);
  ASSERT_TRUE(result.has_result());
  EXPECT_EQ(result.result().error().reason(), "RESULT_TOO_LARGE");
  EXPECT_EQ(result.result().error().fault(), v1::ErrorDetail::QUOTA);
  EXPECT_EQ(result.result().error().limit(), "64 MiB");
}

TEST_F(LeaseExecutorTest, CancelEndsRunningAndWaitingLeases) {
  LeaseExecutor executor(1, TestChild(), blobs_);
  executor.Add(Forever(1), sink_);
  executor.Add(Forever(2), sink_);
  executor.SendProgress();
  EXPECT_EQ(sink_->progress(), (std::set<uint64_t>{1, 2}));
  executor.Cancel(2);
  executor.Cancel(1);
  executor.Cancel(77);  // Unknown.
  for (const uint64_t id : {1, 2}) {
    EXPECT_EQ(sink_->Await(id).infra_error().reason(), "STAGE_CANCELLED");
  }
}

TEST_F(LeaseExecutorTest, DestructionKills) {
  { LeaseExecutor(1, TestChild(), blobs_).Add(Forever(1), sink_); }
  EXPECT_TRUE(sink_->Await(1).has_infra_error());
}

TEST_F(LeaseExecutorTest, TimeoutOfTheLease) {
  LeaseExecutor executor(1, TestChild(), blobs_);
  v1::DaemonMessage::Lease lease = Forever(1);
  lease.set_timeout_ms(200);
  executor.Add(lease, sink_);
  const std::string reason = sink_->Await(1).infra_error().reason();
  // The latter on a machine that has much to do.
  EXPECT_TRUE(reason == "STAGE_TIMEOUT" || reason == "STAGE_STARVED") << reason;
}

// Priorities (nice) of the living children of this process, the highest first.
std::multiset<int> NicesOfChildren() {
  std::multiset<int> nices;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string text;
    std::getline(file, text);
    const size_t end = text.rfind(')');
    if (end == std::string::npos) continue;
    std::istringstream words(text.substr(end + 1));
    std::string state;
    pid_t parent = 0;
    words >> state >> parent;
    if (parent != getpid() || state == "Z" || state == "X") continue;
    std::string word;
    for (int i = 5; i < 19; ++i) words >> word;  // `nice` is the 19th.
    int nice = 0;
    words >> nice;
    nices.insert(nice);
  }
  return nices;
}

// One that computes for long, the same of BATCH, and one that does not compute.
// Where priorities cannot be raised again, none is lowered.
TEST_F(LeaseExecutorTest, LongStagesGiveWay) {
  LeaseExecutor executor(3, TestChild(), blobs_);
  v1::DaemonMessage::Lease burns = Lease(1);
  burns.mutable_options()->mutable_convert_data()->set_limit(
      static_cast<int64_t>(Attempt::kBurn));
  executor.Add(burns, sink_);
  burns.set_lease_id(2);
  burns.set_background(true);
  executor.Add(burns, sink_);
  executor.Add(Forever(3), sink_);
  const int own = getpriority(PRIO_PROCESS, 0);
  std::multiset<int> expected;
  const bool may = MayRaisePriority();
  for (const int nice :
       {may ? kShortStageNice : kStageNice, may ? kLongStageNice : kStageNice,
        may ? kBackgroundNice : kStageNice}) {
    expected.insert(std::max(nice, own));
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  std::multiset<int> nices;
  while (nices != expected && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    nices = NicesOfChildren();
  }
  EXPECT_EQ(nices, expected);
  executor.CancelAll();
  for (const uint64_t id : {1, 2, 3}) sink_->Await(id);
}

v1::DaemonMessage::Lease BuildLease(v1::DaemonMessage::Lease lease) {
  lease.mutable_options()->mutable_build_firmware();
  return lease;
}

// In a child of its own, whose folder is gone when the answer is sent. Where
// memory is for one child alone, the slot's other one makes room.
TEST_F(LeaseExecutorTest, BuildersBuildFirmware) {
  const Digest model = blobs_.Add("m");
  for (const int64_t budget : {int64_t{0}, int64_t{1} << 30}) {
    LeaseExecutor executor(1, TestChild(), blobs_, budget);
    executor.Add(Import(1, model), sink_);
    executor.Add(BuildLease(Lease(2)), sink_);
    executor.Add(Import(3, model), sink_);
    for (const uint64_t id : {1, 2, 3}) {
      const auto result = sink_->Await(id);
      ASSERT_EQ(result.result().outputs_size(), 1) << result.DebugString();
    }
    const auto digest = FromProto(sink_->Await(2).result().outputs(0).digest());
    const auto folder = blobs_.Get({*digest});
    ASSERT_TRUE(folder.ok());
    const std::string& path = *folder->front();
    EXPECT_EQ(path.rfind(TemporaryFolder() + "/" + kBuilderFolderPrefix, 0), 0u)
        << path;
    EXPECT_FALSE(std::filesystem::exists(path)) << path;
    sink_ = std::make_shared<FakeSink>();
  }
}

TEST_F(LeaseExecutorTest, ACompilerThatTheWorkerLacks) {
  CurrentCompilers none({});
  LeaseExecutor executor(1, TestChild(), blobs_, 0, &none);
  executor.Add(BuildLease(Lease(1)), sink_);
  const auto result = sink_->Await(1);
  EXPECT_EQ(result.fencing_token(), 101u);
  EXPECT_EQ(result.infra_error().reason(), "COMPILER_MISSING");
  EXPECT_EQ(result.infra_error().fault(), v1::ErrorDetail::INFRA);
}

// It is upgraded while the worker runs.
TEST_F(LeaseExecutorTest, ACompilerThatHasChanged) {
  const auto folder = *ScratchFolder::Make(TemporaryFolder(), "lease-test-");
  InstallFakeCompiler(folder->path(), "echo 12.2.0");
  CurrentCompilers compilers(
      [&] { return InstalledCompilers::Find(folder->path()); });
  ASSERT_EQ(compilers.Get()->list().size(), 1u);
  const v1::Compiler old = compilers.Get()->list()[0];
  LeaseExecutor executor(1, TestChild(), blobs_, 0, &compilers);
  const auto build = [&](uint64_t id, const v1::Compiler& compiler) {
    v1::DaemonMessage::Lease lease = BuildLease(Lease(id));
    *lease.mutable_options()->mutable_build_firmware()->mutable_compiler() =
        compiler;
    executor.Add(lease, sink_);
    return sink_->Await(id);
  };
  EXPECT_FALSE(build(1, old).has_infra_error());
  EXPECT_EQ(sink_->hello().compilers_size(), 0) << "nothing to tell";

  WriteScript(folder->path() + "/parts/cc1", "#!/bin/sh\n# newer\n");
  EXPECT_EQ(build(2, old).infra_error().reason(), "COMPILER_MISSING");
  ASSERT_EQ(sink_->hello().compilers_size(), 1);
  const v1::Compiler now = sink_->hello().compilers(0);
  EXPECT_NE(now.digest(), old.digest());
  EXPECT_FALSE(build(3, now).has_infra_error());

  // The same files once more.
  InstallFakeCompiler(folder->path(), "echo 12.2.0");
  EXPECT_FALSE(build(4, old).has_infra_error());
}

// A lease, and the stages that follow it.
class LeaseChainTest : public LeaseExecutorTest {
 protected:
  v1::DaemonMessage::Lease ImportAnd(
      const std::vector<v1::StageOptions>& stages) {
    v1::DaemonMessage::Lease lease = Import(1, blobs_.Add("m"));
    for (const v1::StageOptions& options : stages) {
      v1::DaemonMessage::Lease::Next& next = *lease.add_next();
      *next.mutable_options() = options;
      next.add_inputs()->set_role("graph");
    }
    return lease;
  }

  v1::WorkerMessage::Result Execute(const v1::DaemonMessage::Lease& lease) {
    executor_.Add(lease, sink_);
    return sink_->Await(lease.lease_id());
  }

  static v1::StageOptions Interpret() {
    v1::StageOptions options;
    options.mutable_interpret();
    return options;
  }

  LeaseExecutor executor_{1, TestChild(), blobs_};
};

TEST_F(LeaseChainTest, EachIsHandedWhatEarlierOnesMade) {
  const auto result = Execute(ImportAnd({Interpret(), Interpret()}));
  ASSERT_EQ(result.next_size(), 2);
  for (const v1::WorkerMessage::Result& next : result.next()) {
    ASSERT_EQ(next.outputs_size(), 1);
    EXPECT_EQ(next.outputs(0).substr(0, 16), "ready graph of m");
    EXPECT_EQ(next.result().outputs(0).digest().hash(),
              DigestOf(next.outputs(0)).hash);
    EXPECT_GT(next.seconds(), 0);
    EXPECT_EQ(next.lease_id(), 0u);
  }
  EXPECT_EQ(result.fencing_token(), 101u);
}

TEST_F(LeaseChainTest, AUsersErrorEndsIt) {
  v1::StageOptions simplify;
  simplify.mutable_simplify();
  const auto result = Execute(ImportAnd({simplify, Interpret()}));
  ASSERT_EQ(result.next_size(), 1);
  EXPECT_EQ(result.next(0).result().error().what(), "the user did it");
}

TEST_F(LeaseChainTest, WhatFailsByUsIsLeftToALeaseOfItsOwn) {
  v1::StageOptions crash;
  crash.mutable_describe();
  v1::StageOptions fail;
  fail.mutable_quantize();
  for (const v1::StageOptions& bad : {crash, fail}) {
    v1::DaemonMessage::Lease lease = ImportAnd({Interpret(), bad, Interpret()});
    lease.set_lease_id(bad.has_describe() ? 1 : 2);
    const auto result = Execute(lease);
    EXPECT_FALSE(result.has_infra_error());
    EXPECT_EQ(result.outputs_size(), 1);
    EXPECT_EQ(result.next_size(), 1);
  }
}

// Three of these take longer than what a worker may lose.
TEST_F(LeaseChainTest, ItEndsWhereMuchIsFinished) {
  v1::StageOptions burn;
  burn.mutable_score();
  const auto result =
      Execute(ImportAnd({Interpret(), burn, burn, burn, Interpret()}));
  double seconds = 0;
  for (const auto& next : result.next()) seconds += next.cpu_seconds();
  EXPECT_GT(seconds, 0.1);
  EXPECT_LT(result.next_size(), 5);
  EXPECT_GT(result.next_size(), 2);
}

TEST_F(LeaseChainTest, ItEndsWhereNoStageHasTheInput) {
  v1::DaemonMessage::Lease lease = ImportAnd({Interpret()});
  lease.mutable_next(0)->mutable_inputs(0)->set_role("statistics");
  const auto result = Execute(lease);
  EXPECT_EQ(result.next_size(), 0);
  EXPECT_EQ(result.outputs_size(), 1);
}

// All of them together would be too much for a message.
TEST_F(LeaseChainTest, LargeOutputsEndIt) {
  v1::DaemonMessage::Lease lease = ImportAnd({});
  *lease.mutable_inputs(0)->mutable_digest() =
      ToProto(blobs_.Add(std::string(200 << 10, 'm')));
  for (int i = 0; i < 8; ++i) {
    v1::DaemonMessage::Lease::Next& next = *lease.add_next();
    *next.mutable_options() = Import(1, DigestOf("")).options();
    *next.add_inputs() = lease.inputs(0);
  }
  const auto result = Execute(lease);
  EXPECT_EQ(result.next_size(), 5);
  EXPECT_LT(result.ByteSizeLong(), 2 << 20);
}

TEST(BlobCacheTest, DropsWhatWasUsedLongestAgo) {
  BlobCache cache(10);
  const auto blob = [](const std::string& bytes) {
    return std::make_shared<const std::string>(bytes);
  };
  cache.Put(DigestOf("aaaa"), blob("aaaa"));
  cache.Put(DigestOf("bbbb"), blob("bbbb"));
  EXPECT_NE(cache.Get(DigestOf("aaaa")), nullptr);
  cache.Put(DigestOf("cccc"), blob("cccc"));
  EXPECT_NE(cache.Get(DigestOf("aaaa")), nullptr);
  EXPECT_EQ(cache.Get(DigestOf("bbbb")), nullptr);
  cache.Put(DigestOf("ddddddddddd"), blob("ddddddddddd"));
  EXPECT_EQ(cache.Get(DigestOf("ddddddddddd")), nullptr);
  EXPECT_NE(cache.Get(DigestOf("cccc")), nullptr);
}

}  // namespace
}  // namespace edgekiln::server
