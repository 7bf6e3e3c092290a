// What an answer costs that is already there: the warm identical `profile`, its
// single calls, the command line, and gRPC with nothing behind it.
//
//   bench_lookup --bin FOLDER --models FOLDER
//   bench_lookup --serve-bare FILE      (the other end; started by the bench)

#include <unistd.h>

#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "client/connection.h"
#include "edgekiln/v1/jobs.pb.h"
#include "tests/bench/bare_rpc.h"
#include "tests/bench/bare_server.h"
#include "tests/bench/measure.h"
#include "tests/bench/networks.h"
#include "tests/bench/program.h"
#include "tests/bench/results.h"

namespace edgekiln::bench {
namespace {

constexpr int kInFlight = 32;

struct Flags {
  std::string bin;
  std::string models;
  std::string network = "resnet8_int8.tflite";
  std::string target = "dla-64-o-512k";
  int rounds = 15;
  int calls = 200;  // Per method and round; five times as many in flight.
};

// Follows a job to its end and shows nothing.
class Ignore final : public client::WatchSink {
 public:
  void OnEvent(const v1::JobEvent&) override {}
  void OnReconnecting(bool) override {}
  absl::Status OnTick() override { return absl::OkStatus(); }
};

// What the command line does once it is connected.
class Profiler {
 public:
  explicit Profiler(const std::string& address)
      : files_(NewPosixFileSystem()),
        clock_(NewRealClock()),
        connection_(client::NewConnection({.grpc_target = address,
                                           .shown = address,
                                           .fix = "",
                                           .revive = nullptr},
                                          *files_, *clock_)) {}

  // Debian's gRPC looks at errno after calls that may have changed it since
  // connect(): now and then a connection that a new thread makes has failed by
  // that alone. Tries until there is one; what that takes is not measured.
  absl::Status Connect() {
    absl::Status status;
    for (int attempt = 0; attempt < 10; ++attempt) {
      status = connection_->ListJobs(v1::ListJobsRequest()).status();
      if (!absl::IsUnavailable(status)) break;
      absl::SleepFor(absl::Milliseconds(200));
    }
    return status;
  }

  absl::Status Run(v1::CreateJobRequest request) {
    request.set_request_id(absl::StrCat("bench-", getpid(), "-",
                                        reinterpret_cast<uintptr_t>(this), "-",
                                        next_++));
    const double start = WallSeconds();
    EK_ASSIGN_OR_RETURN(const v1::Job created, connection_->CreateJob(request));
    const double made = WallSeconds();
    Ignore sink;
    EK_RETURN_IF_ERROR(connection_->Watch(created.id(), 0, sink));
    const double ended = WallSeconds();
    create_.push_back(made - start);
    watch_.push_back(ended - made);
    EK_ASSIGN_OR_RETURN(const v1::Job job, connection_->GetJob(created.id()));
    if (job.state() != v1::SUCCEEDED) {
      return absl::InternalError(
          absl::StrCat("the job ended as ", v1::JobState_Name(job.state())));
    }
    last_id_ = job.id();
    return connection_->GetReport(job.id(), 0).status();
  }

  // The newest job's request: that of the command that warmed the caches.
  absl::StatusOr<v1::CreateJobRequest> NewestRequest() {
    EK_ASSIGN_OR_RETURN(const v1::ListJobsResponse list,
                        connection_->ListJobs(v1::ListJobsRequest()));
    if (list.jobs().empty()) return absl::InternalError("no job");
    EK_ASSIGN_OR_RETURN(const v1::Job job,
                        connection_->GetJob(list.jobs(0).id()));
    return job.request();
  }

  const std::string& last_id() const { return last_id_; }
  // Wall-clock seconds of the parts of each Run(); the rest is single calls.
  const std::vector<double>& create() const { return create_; }
  const std::vector<double>& watch() const { return watch_; }

 private:
  std::unique_ptr<FileSystem> files_;
  std::unique_ptr<Clock> clock_;
  std::unique_ptr<client::Connection> connection_;
  std::string last_id_;
  std::vector<double> create_, watch_;
  int64_t next_ = 0;
};

Row SecondsRow(const std::string& subject, const std::string& measure,
               const std::vector<double>& seconds, double share) {
  Row row = MillisecondRow(subject, measure, Summarise(seconds));
  row.value = Quantile(seconds, share) * 1e3;
  return row;
}

// A method of the daemon, and how long the bare server takes for as many bytes.
struct Method {
  std::string name;
  std::string path;
  std::string request;
  std::string bare_path;  // Set by Prepare().
  std::vector<double> seconds, bare_seconds;
  std::vector<double> rates, bare_rates;  // Calls per second at 32 in flight.
  double cpu = 0, bare_cpu = 0;           // Of the servers, per call of Flood.
};

class LookupBench {
 public:
  LookupBench(const Flags& flags, Results& results)
      : flags_(flags), results_(results) {}

  absl::Status Run() {
    EK_ASSIGN_OR_RETURN(daemon_, Daemon::Start(flags_.bin, scratch_, 1));
    EK_ASSIGN_OR_RETURN(bare_, BareServer::Start(scratch_));
    command_ = {flags_.bin + "/edgekiln",
                "profile",
                flags_.models + "/" + flags_.network,
                "--target",
                flags_.target,
                "--server",
                daemon_->address(),
                "--quiet"};
    EK_RETURN_IF_ERROR(RunProgram(command_).status(), "first profile");
    EK_RETURN_IF_ERROR(Profiles());
    EK_RETURN_IF_ERROR(Commands());
    return Calls();
  }

 private:
  // Whole profiles over an open connection, in turns with bare calls.
  absl::Status Profiles() {
    Profiler profiler(daemon_->address());
    EK_RETURN_IF_ERROR(profiler.Connect());
    EK_ASSIGN_OR_RETURN(request_, profiler.NewestRequest());
    UnaryClient bare(bare_->address());
    std::vector<double> profiles;
    std::vector<double> echoes;
    std::vector<double> syncs;
    const double cpu = daemon_->program().CpuSeconds();
    for (int round = 0; round < flags_.rounds; ++round) {
      for (int i = 0; i < 20; ++i) {
        const double start = WallSeconds();
        EK_RETURN_IF_ERROR(profiler.Run(request_), "warm profile");
        profiles.push_back(WallSeconds() - start);
        EK_ASSIGN_OR_RETURN(const double sync, SyncSeconds());
        syncs.push_back(sync);
      }
      EK_ASSIGN_OR_RETURN(const std::vector<double> some,
                          bare.Latencies(ReplyMethod(64), "hello", 20));
      echoes.insert(echoes.end(), some.begin(), some.end());
    }
    job_ = profiler.last_id();
    const double each = (daemon_->program().CpuSeconds() - cpu) /
                        static_cast<double>(profiles.size());
    const Reference echo{"4 bare calls", Quantile(echoes, 0.5) * 4e3,
                         Origin::kSameRun};
    Row p50 = SecondsRow("profile", "open connection, p50", profiles, 0.5);
    p50.reference = echo;
    p50.goal = "<= 10 ms";
    results_.Add(p50);
    results_.Add(SecondsRow("profile", "open connection, p99", profiles, 0.99));
    results_.Add(
        SecondsRow("profile", "of it CreateJob, p50", profiler.create(), 0.5));
    results_.Add(
        SecondsRow("profile", "of it WatchJob, p50", profiler.watch(), 0.5));
    results_.Add(SecondsRow("profile", "CPU of the daemon", {each}, 0.5));
    results_.Add(SecondsRow("disk", "append 4 KiB and sync, p50", syncs, 0.5));
    return ProfilesInFlight();
  }

  // What it costs to make one record durable on the disk of the daemon.
  absl::StatusOr<double> SyncSeconds() {
    const std::string record(4096, 'x');
    EK_ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file,
                        files_->Open(scratch_.At("record"), OpenMode::kAppend));
    const double start = WallSeconds();
    EK_RETURN_IF_ERROR(file->Append(record));
    EK_RETURN_IF_ERROR(file->Sync());
    return WallSeconds() - start;
  }

  // 32 clients, each with a connection of its own.
  absl::Status ProfilesInFlight() {
    constexpr int kEach = 8;
    std::vector<absl::Status> statuses(kInFlight);
    std::vector<std::thread> threads;
    std::vector<std::unique_ptr<Profiler>> profilers;
    for (int i = 0; i < kInFlight; ++i) {
      profilers.push_back(std::make_unique<Profiler>(daemon_->address()));
      EK_RETURN_IF_ERROR(profilers.back()->Connect());
    }
    const double start = WallSeconds();
    for (int i = 0; i < kInFlight; ++i) {
      threads.emplace_back([&, i] {
        Profiler& profiler = *profilers[static_cast<size_t>(i)];
        for (int n = 0; n < kEach; ++n) {
          statuses[static_cast<size_t>(i)].Update(profiler.Run(request_));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    const double seconds = WallSeconds() - start;
    for (const absl::Status& status : statuses) EK_RETURN_IF_ERROR(status);
    const double rate = kInFlight * kEach / seconds;
    results_.Add({.subject = "profile",
                  .measure = "rate, 32 clients",
                  .unit = "1/s",
                  .value = rate,
                  .low = rate,
                  .high = rate,
                  .samples = 1});
    return absl::OkStatus();
  }

  // Whole processes, in turns with one that does nothing.
  absl::Status Commands() {
    std::vector<double> wall, cpu, floor_wall, floor_cpu;
    for (int round = 0; round < 2 * flags_.rounds; ++round) {
      EK_ASSIGN_OR_RETURN(const RunCost cost, RunProgram(command_));
      wall.push_back(cost.wall_seconds);
      cpu.push_back(cost.cpu_seconds);
      EK_ASSIGN_OR_RETURN(const RunCost floor,
                          RunProgram({flags_.bin + "/edgekiln", "--version"}));
      floor_wall.push_back(floor.wall_seconds);
      floor_cpu.push_back(floor.cpu_seconds);
    }
    Row row = SecondsRow("edgekiln profile", "process, wall p50", wall, 0.5);
    row.reference = {"edgekiln --version", Quantile(floor_wall, 0.5) * 1e3,
                     Origin::kSameRun};
    row.goal = "<= 60 ms";
    results_.Add(row);
    row = SecondsRow("edgekiln profile", "process, CPU", cpu, 0.5);
    row.reference = {"edgekiln --version", Quantile(floor_cpu, 0.5) * 1e3,
                     Origin::kSameRun};
    row.goal = "<= 15 ms";
    results_.Add(row);
    return absl::OkStatus();
  }

  std::vector<Method> Methods() const {
    v1::GetJobRequest job;
    job.set_id(job_);
    v1::GetReportRequest report;
    report.set_job_id(job_);
    v1::GetTargetRequest target;
    target.set_name(flags_.target);
    v1::CreateJobRequest again = request_;
    again.set_request_id("bench-again");
    const auto method = [](const char* name, const char* path,
                           const google::protobuf::Message& request) {
      Method out;
      out.name = name;
      out.path = absl::StrCat("/edgekiln.v1.", path);
      out.request = request.SerializeAsString();
      return out;
    };
    // Does nothing in the same server: the rest is the work itself.
    Method nothing;
    nothing.name = "Health.Check";
    nothing.path = "/grpc.health.v1.Health/Check";
    return {nothing, method("GetJob", "Jobs/GetJob", job),
            method("GetReport", "Reports/GetReport", report),
            method("GetTarget", "Targets/GetTarget", target),
            method("CreateJob, same id", "Jobs/CreateJob", again)};
  }

  absl::Status Calls() {
    UnaryClient client(daemon_->address());
    UnaryClient bare(bare_->address());
    std::vector<Method> methods = Methods();
    for (Method& method : methods) {
      EK_ASSIGN_OR_RETURN(const std::string reply,
                          client.Call(method.path, method.request));
      method.bare_path = ReplyMethod(static_cast<int64_t>(reply.size()));
      results_.Note(absl::StrCat(method.name, " replies with ", reply.size(),
                                 " bytes; so does its bare call"));
    }
    for (int round = 0; round < flags_.rounds; ++round) {
      for (Method& method : methods) {
        EK_RETURN_IF_ERROR(Sample(method, client, bare));
      }
    }
    for (const Method& method : methods) Report(method);
    return absl::OkStatus();
  }

  absl::Status Sample(Method& method, UnaryClient& client, UnaryClient& bare) {
    EK_ASSIGN_OR_RETURN(
        const std::vector<double> own,
        client.Latencies(method.path, method.request, flags_.calls));
    EK_ASSIGN_OR_RETURN(
        const std::vector<double> theirs,
        bare.Latencies(method.bare_path, method.request, flags_.calls));
    method.seconds.insert(method.seconds.end(), own.begin(), own.end());
    method.bare_seconds.insert(method.bare_seconds.end(), theirs.begin(),
                               theirs.end());
    const int flood = 5 * flags_.calls;
    double cpu = daemon_->program().CpuSeconds();
    EK_ASSIGN_OR_RETURN(
        const double seconds,
        client.Flood(method.path, method.request, flood, kInFlight));
    method.cpu += (daemon_->program().CpuSeconds() - cpu) / flood;
    cpu = bare_->program().CpuSeconds();
    EK_ASSIGN_OR_RETURN(
        const double bare_seconds,
        bare.Flood(method.bare_path, method.request, flood, kInFlight));
    method.bare_cpu += (bare_->program().CpuSeconds() - cpu) / flood;
    method.rates.push_back(flood / seconds);
    method.bare_rates.push_back(flood / bare_seconds);
    return absl::OkStatus();
  }

  void Report(const Method& method) {
    const auto compare = [](Row row, double value, double factor) {
      row.reference = {"bare gRPC call", value * factor, Origin::kSameRun};
      return row;
    };
    Row p50 = compare(SecondsRow(method.name, "p50", method.seconds, 0.5),
                      Quantile(method.bare_seconds, 0.5), 1e3);
    p50.goal = "<= 1.5x";
    results_.Add(p50);
    results_.Add(compare(SecondsRow(method.name, "p99", method.seconds, 0.99),
                         Quantile(method.bare_seconds, 0.99), 1e3));
    Row rate = compare(
        SecondsRow(method.name, "rate, 32 in flight", method.rates, 0.5),
        Quantile(method.bare_rates, 0.5), 1);
    // Not milliseconds.
    rate.unit = "1/s";
    rate.value /= 1e3;
    rate.low /= 1e3;
    rate.high /= 1e3;
    rate.goal = ">= 0.6x";
    results_.Add(rate);
    results_.Add(compare(SecondsRow(method.name, "CPU of the server",
                                    {method.cpu / flags_.rounds}, 0.5),
                         method.bare_cpu / flags_.rounds, 1e3));
  }

  const Flags& flags_;
  Results& results_;
  const std::unique_ptr<FileSystem> files_ = NewPosixFileSystem();
  ScratchFolder scratch_;
  std::unique_ptr<Daemon> daemon_;
  std::unique_ptr<BareServer> bare_;
  std::vector<std::string> command_;
  v1::CreateJobRequest request_;
  std::string job_;
};

int Main(int argc, char** argv) {
  CLI::App app("What an answer costs that is already there");
  Flags flags;
  app.add_option("--bin", flags.bin, "Folder of the programs")->required();
  app.add_option("--models", flags.models, "Folder of the models")->required();
  app.add_option("--network", flags.network, "File in it")
      ->capture_default_str();
  app.add_option("--calls", flags.calls, "Of each method per round")
      ->capture_default_str();
  app.add_option("--rounds", flags.rounds, "Turns of each figure")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  Results results("lookup");
  results.Note("Wall-clock time unless it says CPU; loopback TCP.");
  results.Note(
      "A bare gRPC call: the same request to another process, a server of one "
      "thread that knows no messages and answers with as many bytes, by gRPC's "
      "fastest interface (generic, completion queue)");
  OrDie(LookupBench(flags, results).Run());
  std::cout << results.Json();
  return 0;
}

}  // namespace
}  // namespace edgekiln::bench

int main(int argc, char** argv) {
  using edgekiln::bench::BareServer;
  if (BareServer::IsWanted(argc, argv)) return BareServer::Serve(argv);
  return edgekiln::bench::Main(argc, argv);
}
