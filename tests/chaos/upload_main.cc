// Uploads a blob through a network that breaks, and sees that only little is
// sent twice.
//
//   chaos_upload --bin FOLDER [--megabytes N] [--cuts N] [--seed S]

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/rng.h"
#include "base/status_macros.h"
#include "client/local_blob.h"
#include "tests/chaos/cut_proxy.h"
#include "tests/chaos/farm.h"
#include "tests/chaos/requests.h"
#include "tests/chaos/verify.h"
#include "tests/chaos/watched_job.h"

namespace edgekiln::chaos {
namespace {

constexpr int64_t kMaxResentBytes = int64_t{4} << 20;  // Per cut.
// No cut so close to either end: it might miss the stream.
constexpr int64_t kMarginBytes = 1'000'000;

struct Flags {
  std::string bin;
  int64_t megabytes = 200;
  int cuts = 20;
  uint64_t seed = 1;
};

// What the upload told of itself.
struct Resent {
  int64_t chunk_bytes = client::TransferOptions().chunk_bytes;
  int64_t last = 0;
  int64_t worst = 0;
  int64_t sum = 0;
  int resumes = 0;

  // `done` of `total` bytes were handed to the network, the last chunk just
  // now; it is shorter only at the end.
  void OnProgress(int64_t done, int64_t total) {
    const int64_t from = std::max<int64_t>(0, done - chunk_bytes);
    if (done > 0 && done < total && from < last) {
      const int64_t again = last - from;
      worst = std::max(worst, again);
      sum += again;
      ++resumes;
    }
    last = done;
  }
};

std::vector<int64_t> RandomCuts(const Flags& flags, int64_t size, Rng& rng) {
  std::vector<int64_t> cuts;
  cuts.reserve(static_cast<size_t>(flags.cuts));
  for (int i = 0; i < flags.cuts; ++i) {
    cuts.push_back(rng.InRange(kMarginBytes, size - kMarginBytes));
  }
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

absl::Status Judge(const Flags& flags, const CutProxy& proxy,
                   const Resent& resent) {
  if (proxy.cuts_made() != flags.cuts) {
    return absl::InternalError("the upload ended before all cuts were made");
  }
  if (resent.worst > kMaxResentBytes) {
    return absl::InternalError(absl::StrCat(
        resent.worst, " bytes were sent again after one cut; the limit is ",
        kMaxResentBytes));
  }
  return absl::OkStatus();
}

absl::Status Run(const Flags& flags) {
  const std::unique_ptr<FileSystem> files = NewPosixFileSystem();
  const std::unique_ptr<Clock> clock = NewRealClock();
  const Scratch scratch;
  Rng rng(flags.seed);
  const int64_t size = flags.megabytes * 1'000'000;
  const std::string path = scratch.At("blob");
  EK_RETURN_IF_ERROR(WriteAtomically(*files, path, RandomBytes(size, rng)));
  EK_ASSIGN_OR_RETURN(const client::LocalBlob blob,
                      client::OpenLocalBlob(*files, path, "blob"));

  EK_ASSIGN_OR_RETURN(
      const std::unique_ptr<Farm> farm,
      Farm::Start({.bin = flags.bin, .listening = Listening::kTcp}, scratch));
  const std::string& address = farm->address();
  int port = 0;
  if (!absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port)) {
    return absl::InternalError(absl::StrCat("no port in ", address));
  }
  EK_ASSIGN_OR_RETURN(const std::unique_ptr<CutProxy> proxy,
                      CutProxy::Start(port, RandomCuts(flags, size, rng)));
  Resent resent;
  {
    const auto connection =
        Connect(absl::StrCat("127.0.0.1:", proxy->port()), *files, *clock);
    const absl::Duration start = clock->Monotonic();
    EK_RETURN_IF_ERROR(connection->Upload(
        {blob},
        [&](int64_t done, int64_t total) { resent.OnProgress(done, total); }));
    std::cout << absl::StrCat(
        size, " bytes, ", proxy->cuts_made(), " cuts, ", resent.resumes,
        " resumes; sent again ", resent.sum, " bytes, at most ", resent.worst,
        " after one cut; ", proxy->client_bytes(), " bytes on the wire in ",
        absl::FormatDuration(clock->Monotonic() - start), "\n");
  }
  EK_RETURN_IF_ERROR(Judge(flags, *proxy, resent));

  // Not through the proxy; the client checks the digest.
  EK_RETURN_IF_ERROR(
      Connect(address, *files, *clock)
          ->Download(blob.digest,
                     [](absl::string_view) { return absl::OkStatus(); }),
      "reading it back");
  EK_RETURN_IF_ERROR(farm->Stop());
  EK_ASSIGN_OR_RETURN(const BlobCount count, VerifyBlobs(farm->blobs_folder()));
  if (count.bytes < size) return absl::DataLossError("the blob is not stored");
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("Uploads through a network that breaks.", "chaos_upload");
  app.add_option("--bin", flags.bin, "Folder of the programs")->required();
  app.add_option("--megabytes", flags.megabytes)
      ->check(CLI::Range(4, 10'000))
      ->capture_default_str();
  app.add_option("--cuts", flags.cuts)
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  app.add_option("--seed", flags.seed)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  std::cout << "seed " << flags.seed << std::endl;
  const absl::Status status = Run(flags);
  if (status.ok()) return 0;
  std::cerr << "chaos_upload: " << status.message() << "\n";
  return 1;
}

}  // namespace
}  // namespace edgekiln::chaos

int main(int argc, char** argv) { return edgekiln::chaos::Main(argc, argv); }
