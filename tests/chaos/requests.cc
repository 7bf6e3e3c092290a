#include "tests/chaos/requests.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "client/local_blob.h"
#include "proto/convert.h"

namespace edgekiln::chaos {
namespace {

// Chips of this many sizes, then the next number of elements.
constexpr int kSizes = 64;
constexpr int kSmallestKib = 256;
constexpr int kStepKib = 16;

}  // namespace

std::vector<Work> AllWork(const std::string& source,
                          const std::string& shared) {
  std::vector<Work> all;
  if (!shared.empty()) {
    all.push_back({.name = "dscnn_int8",
                   .model = shared + "/models/dscnn_int8.tflite",
                   .data = shared + "/data/kws_500.npz",
                   .calibration = "",
                   .limit = 0});
  }
  all.push_back({.name = "digits",
                 .model = source + "/docs/example/digits.onnx",
                 .data = source + "/docs/example/digits_test.npz",
                 .calibration = source + "/docs/example/digits_calibration.npz",
                 .limit = 0});
  return all;
}

std::string RandomBytes(int64_t count, Rng& rng) {
  std::string bytes(static_cast<size_t>(count), '\0');
  for (size_t i = 0; i + 8 <= bytes.size(); i += 8) {
    const uint64_t word = rng.Next();
    bytes.replace(i, 8, reinterpret_cast<const char*>(&word), 8);
  }
  return bytes;
}

absl::Status WriteChip(FileSystem& files, int number, const std::string& path) {
  const int64_t sram_bytes =
      int64_t{1024} * (kSmallestKib + kStepKib * (number % kSizes));
  const int elements = 32 + 16 * (number / kSizes);
  return WriteAtomically(
      files, path,
      absl::StrCat("extends: \"dla\"\nset { name: \"pes\" value: ", elements,
                   " }\nset { name: \"sram_bytes\" value: ", sram_bytes,
                   " }\n"));
}

absl::StatusOr<v1::CreateJobRequest> Prepare(const Work& work,
                                             const std::string& target,
                                             const std::string& request_id,
                                             FileSystem& files,
                                             client::Connection& connection) {
  v1::CreateJobRequest request;
  request.set_request_id(request_id);
  request.set_model_name(work.name);
  request.add_goals(v1::VALIDATE);
  if (work.limit > 0) request.mutable_options()->set_limit(work.limit);
  std::vector<client::LocalBlob> blobs;
  const auto add = [&](const std::string& path,
                       v1::Digest& digest) -> absl::Status {
    EK_ASSIGN_OR_RETURN(const client::LocalBlob blob,
                        client::OpenLocalBlob(files, path, "file"));
    digest = ToProto(blob.digest);
    blobs.push_back(blob);
    return absl::OkStatus();
  };
  EK_RETURN_IF_ERROR(add(work.model, *request.mutable_model()));
  EK_RETURN_IF_ERROR(add(work.data, *request.mutable_data()->add_files()));
  if (!work.calibration.empty()) {
    EK_RETURN_IF_ERROR(
        add(work.calibration, *request.mutable_calibration()->add_files()));
  }
  v1::TargetRef& chip = *request.add_targets();
  chip.set_name("chip");
  EK_RETURN_IF_ERROR(add(target, *chip.mutable_digest()));
  EK_RETURN_IF_ERROR(connection.Upload(blobs, nullptr));
  return request;
}

}  // namespace edgekiln::chaos
