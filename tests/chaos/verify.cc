#include "tests/chaos/verify.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "google/protobuf/util/message_differencer.h"

namespace edgekiln::chaos {

absl::Status SameReport(const v1::Report& expected, const v1::Report& actual) {
  v1::Report left = expected;
  v1::Report right = actual;
  for (v1::Report* report : {&left, &right}) {
    report->clear_job_id();
    report->clear_stages();
  }
  google::protobuf::util::MessageDifferencer differencer;
  std::string differences;
  differencer.ReportDifferencesToString(&differences);
  if (differencer.Compare(left, right)) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("the reports differ: ", differences.substr(0, 2000)));
}

absl::StatusOr<BlobCount> VerifyBlobs(const std::string& folder) {
  BlobCount count;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const std::string name = entry.path().filename().string();
    // What a kill left of a blob on its way is no blob.
    if (entry.path().parent_path().filename() == "tmp") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    const Digest digest = DigestOf(bytes);
    if (!absl::EndsWith(name, absl::StrCat("-", digest.size_bytes))) {
      ++count.torn;
      continue;
    }
    if (name != absl::StrCat(digest.hash, "-", digest.size_bytes)) {
      return absl::DataLossError(absl::StrCat(
          "blob ", name, " holds the bytes of ", digest.ToString()));
    }
    ++count.blobs;
    count.bytes += digest.size_bytes;
  }
  return count;
}

}  // namespace edgekiln::chaos
