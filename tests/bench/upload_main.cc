// How fast a blob gets into the daemon, which hashes and keeps it, against a
// stream whose other end drops what arrives; and what a network that breaks
// costs.
//
//   bench_upload --bin FOLDER [--megabytes N]

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/status_macros.h"
#include "client/connection.h"
#include "tests/bench/bare_rpc.h"
#include "tests/bench/bare_server.h"
#include "tests/bench/measure.h"
#include "tests/bench/networks.h"
#include "tests/bench/program.h"
#include "tests/bench/results.h"
#include "tests/bench/write_stream.h"
#include "tests/chaos/cut_upload.h"

namespace edgekiln::bench {
namespace {

struct Flags {
  std::string bin;
  int64_t megabytes = 200;
  int rounds = 5;
};

// As the client's; see client/upload.h.
constexpr int64_t kMessageBytes = int64_t{512} << 10;
constexpr int kCuts = 20;
constexpr int64_t kLeastCutMegabytes = 20;  // Room for all cuts.

// Throughput per way of doing it, in MB/s.
struct Rates {
  std::vector<double> client, stream, sink, bare_hash, hash, disk;
};

class UploadBench {
 public:
  UploadBench(const Flags& flags, Results& results)
      : flags_(flags), results_(results) {}

  absl::Status Run() {
    EK_ASSIGN_OR_RETURN(daemon_, Daemon::Start(flags_.bin, scratch_, 0));
    EK_ASSIGN_OR_RETURN(bare_, BareServer::Start(scratch_));
    const std::unique_ptr<Clock> clock = NewRealClock();
    const std::unique_ptr<client::Connection> connection =
        client::NewConnection({.grpc_target = daemon_->address(),
                               .shown = daemon_->address(),
                               .fix = "",
                               .revive = nullptr},
                              *files_, *clock);
    bytes_.resize(static_cast<size_t>(flags_.megabytes * 1'000'000));
    Rng rng(1);
    for (size_t i = 0; i + 8 <= bytes_.size(); i += 8) {
      const uint64_t word = rng.Next();
      bytes_.replace(i, 8, reinterpret_cast<const char*>(&word), 8);
    }
    for (int round = 0; round < flags_.rounds; ++round) {
      EK_RETURN_IF_ERROR(Round(*connection, 2 * round));
    }
    Report();
    return Cut();
  }

 private:
  // Megabytes per second of what `work` does to all bytes once.
  template <typename Work>
  absl::Status Time(std::vector<double>& rates, Work work) {
    const double start = WallSeconds();
    EK_RETURN_IF_ERROR(work());
    rates.push_back(static_cast<double>(bytes_.size()) * 1e-6 /
                    (WallSeconds() - start));
    return absl::OkStatus();
  }

  // Another content each time: the daemon takes nothing twice.
  Digest Change(int number) {
    const std::string mark = absl::StrCat(number, " of ", getpid(), ".");
    bytes_.replace(0, mark.size(), mark);
    return DigestOf(bytes_);
  }

  absl::Status Round(client::Connection& connection, int number) {
    EK_RETURN_IF_ERROR(Time(rates_.hash, [&] {
      DigestOf(bytes_);
      return absl::OkStatus();
    }));
    EK_RETURN_IF_ERROR(Time(rates_.disk, [&] { return WriteAndSync(); }));
    EK_RETURN_IF_ERROR(Time(rates_.sink, [&] { return Bare(kSinkMethod); }));
    EK_RETURN_IF_ERROR(
        Time(rates_.bare_hash, [&] { return Bare(kHashMethod); }));
    Digest digest = Change(number);
    double cpu = daemon_->program().CpuSeconds();
    EK_RETURN_IF_ERROR(Time(rates_.stream, [&] {
      return WriteBlob(daemon_->address(), digest, bytes_, kMessageBytes);
    }));
    daemon_cpu_.push_back(daemon_->program().CpuSeconds() - cpu);
    digest = Change(number + 1);
    const std::string path = scratch_.At("upload");
    std::ofstream(path, std::ios::binary) << bytes_;
    const std::vector<client::LocalBlob> blobs = {{path, digest}};
    return Time(rates_.client,
                [&] { return connection.Upload(blobs, nullptr); });
  }

  absl::Status Bare(const std::string& method) {
    return StreamBytes(bare_->address(), method, bytes_, kMessageBytes)
        .status();
  }

  // What keeping it costs at least.
  absl::Status WriteAndSync() {
    EK_ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file,
                        files_->Open(scratch_.At("disk"), OpenMode::kTruncate));
    EK_RETURN_IF_ERROR(file->Append(bytes_));
    EK_RETURN_IF_ERROR(file->Sync());
    return file->Close();
  }

  void Add(const std::string& measure, const std::vector<double>& rates,
           const std::string& goal) {
    const Timing timing = Summarise(rates);
    Row row{.subject = absl::StrCat(flags_.megabytes, " MB"),
            .measure = measure,
            .unit = "MB/s",
            .value = timing.median,
            .low = timing.low,
            .high = timing.high,
            .samples = timing.samples,
            .reference = Reference{"bare stream", Quantile(rates_.sink, 0.5),
                                   Origin::kSameRun},
            .goal = goal};
    if (&rates == &rates_.sink) row.reference.reset();
    // What is to be reached is stated of a stream that hashes, too.
    if (!goal.empty()) {
      row.reference =
          Reference{"bare stream, hashing", Quantile(rates_.bare_hash, 0.5),
                    Origin::kSameRun};
    }
    results_.Add(row);
  }

  void Report() {
    Add("bare stream", rates_.sink, "");
    Add("bare stream, hashing", rates_.bare_hash, "");
    Add("ByteStream.Write", rates_.stream, ">= 0.5x");
    Add("as the command line does", rates_.client, ">= 0.5x");
    Add("SHA-256 alone", rates_.hash, "");
    Add("write and sync alone", rates_.disk, "");
    Row cpu = MillisecondRow(absl::StrCat(flags_.megabytes, " MB"),
                             "CPU of the daemon", Summarise(daemon_cpu_));
    results_.Add(cpu);
  }

  // Through a network that breaks: one upload, or its ratios to the limits.
  absl::Status Cut() {
    EK_ASSIGN_OR_RETURN(
        const chaos::CutUpload upload,
        chaos::RunCutUpload({.bin = flags_.bin,
                             .megabytes = std::max<int64_t>(flags_.megabytes,
                                                            kLeastCutMegabytes),
                             .cuts = kCuts}));
    const std::string subject =
        absl::StrCat(upload.bytes / 1'000'000, " MB, cut ", kCuts, " times");
    const auto add = [&](const std::string& measure, const std::string& unit,
                         double value, const std::string& goal) {
      results_.Add({.subject = subject,
                    .measure = measure,
                    .unit = unit,
                    .value = value,
                    .low = value,
                    .high = value,
                    .samples = 1,
                    .goal = goal});
    };
    constexpr double kMebibyte = 1 << 20;
    add("sent again after one cut, at most", "MiB",
        static_cast<double>(upload.worst_resent_bytes) / kMebibyte, "<= 4");
    add("sent again in all", "MiB",
        static_cast<double>(upload.resent_bytes) / kMebibyte, "");
    add("as the command line does", "MB/s",
        static_cast<double>(upload.bytes) * 1e-6 /
            absl::ToDoubleSeconds(upload.took),
        "");
    return absl::OkStatus();
  }

  const Flags& flags_;
  Results& results_;
  ScratchFolder scratch_;
  const std::unique_ptr<FileSystem> files_ = NewPosixFileSystem();
  std::unique_ptr<Daemon> daemon_;
  std::unique_ptr<BareServer> bare_;
  std::string bytes_;
  Rates rates_;
  std::vector<double> daemon_cpu_;  // Seconds per ByteStream.Write.
};

int Main(int argc, char** argv) {
  CLI::App app("How fast a blob gets into the daemon");
  Flags flags;
  app.add_option("--bin", flags.bin, "Folder of the programs")->required();
  app.add_option("--megabytes", flags.megabytes, "Of one upload")
      ->check(CLI::Range(1, 2000))
      ->capture_default_str();
  app.add_option("--rounds", flags.rounds, "Uploads of each kind")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  Results results("upload");
  results.Note("Wall-clock time; loopback TCP; the daemon writes and syncs.");
  OrDie(UploadBench(flags, results).Run());
  std::cout << results.Json();
  return 0;
}

}  // namespace
}  // namespace edgekiln::bench

int main(int argc, char** argv) {
  using edgekiln::bench::BareServer;
  edgekiln::KeepFreedMemory();  // As our programs do, at either end.
  if (BareServer::IsWanted(argc, argv)) return BareServer::Serve(argv);
  return edgekiln::bench::Main(argc, argv);
}
