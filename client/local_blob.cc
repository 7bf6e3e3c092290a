#include "client/local_blob.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "client/exit_code.h"
#include "client/unreadable_file.h"

namespace edgekiln::client {
namespace {

constexpr int64_t kReadBytes = int64_t{1} << 20;

bool Exists(FileSystem& files, const std::string& path) {
  return files.Stat(path).ok();
}

// IDX files begin with two zero bytes, gzip with 1f 8b; a .npz begins "PK".
// Whether the contents are sound is for the worker to find out.
bool LooksLikeIdx(absl::string_view start) {
  return absl::StartsWith(start, absl::string_view("\0\0", 2)) ||
         absl::StartsWith(start, "\x1f\x8b");
}

// Where the labels of `images` would be, most probable first.
std::vector<std::string> LabelPaths(const std::string& images) {
  const size_t slash = images.rfind('/');
  const size_t name_at = slash == std::string::npos ? 0 : slash + 1;
  const std::string folder = images.substr(0, name_at);
  const std::string name = images.substr(name_at);
  const std::string labels =
      absl::StrReplaceAll(name, {{"images", "labels"}, {"idx3", "idx1"}});
  if (labels == name) return {};
  const std::string bare(absl::StripSuffix(labels, ".gz"));
  std::vector<std::string> paths = {absl::StrCat(folder, labels)};
  const std::string other = labels == bare ? bare + ".gz" : bare;
  paths.push_back(absl::StrCat(folder, other));
  return paths;
}

absl::StatusOr<std::vector<LocalBlob>> OpenPair(FileSystem& files,
                                                const std::string& images,
                                                const std::string& labels,
                                                absl::string_view option) {
  std::vector<LocalBlob> blobs(2);
  EK_ASSIGN_OR_RETURN(blobs[0], OpenLocalBlob(files, images, option));
  EK_ASSIGN_OR_RETURN(blobs[1], OpenLocalBlob(files, labels, option));
  return blobs;
}

}  // namespace

absl::StatusOr<LocalBlob> OpenLocalBlob(FileSystem& files,
                                        const std::string& path,
                                        absl::string_view option) {
  const absl::StatusOr<FileInfo> info = files.Stat(path);
  if (!info.ok()) return UnreadableError(path, option, info.status());
  Sha256 hash;
  while (true) {
    const absl::StatusOr<std::string> bytes =
        files.ReadRange(path, hash.size_bytes(), kReadBytes);
    if (!bytes.ok()) return UnreadableError(path, option, bytes.status());
    if (bytes->empty()) break;
    hash.Update(*bytes);
    // A full stop for what never ends (/dev/zero): files have the size they
    // say.
    if (hash.size_bytes() > info->size_bytes) {
      return UsageError(
          absl::StrCat("'", path, "' is not a regular file, or is growing"),
          option, "a file at rest", "copy it first");
    }
  }
  return LocalBlob{.path = path, .digest = hash.Finish()};
}

absl::StatusOr<LocalBlob> OpenModel(FileSystem& files, const std::string& path,
                                    absl::string_view option) {
  constexpr int64_t kMaxBytes = (int64_t{1} << 31) - 1;
  const absl::StatusOr<FileInfo> info = files.Stat(path);
  if (!info.ok() || info->size_bytes <= kMaxBytes) {
    return OpenLocalBlob(files, path, option);
  }
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      {.fault = Fault::kUser,
       .reason = kReasonUsage,
       .what = absl::StrCat("'", path, "' is larger than a model file can be"),
       .where = std::string(option),
       .limit =
           absl::StrCat(kMaxBytes, " bytes, of ONNX and TensorFlow Lite files"),
       .need = absl::StrCat(info->size_bytes, " bytes"),
       .fix = "keep the weights of an ONNX model in files of their own "
              "(onnx.save(..., save_as_external_data=True)) and give them with "
              "--external-data"});
}

absl::StatusOr<std::vector<LocalBlob>> OpenDataSet(FileSystem& files,
                                                   const std::string& argument,
                                                   absl::string_view option,
                                                   bool labels_needed) {
  const size_t comma = argument.find(',');
  if (comma != std::string::npos && !Exists(files, argument)) {
    return OpenPair(files, argument.substr(0, comma),
                    argument.substr(comma + 1), option);
  }
  std::vector<LocalBlob> blobs(1);
  EK_ASSIGN_OR_RETURN(blobs[0], OpenLocalBlob(files, argument, option));
  EK_ASSIGN_OR_RETURN(const std::string start, files.ReadRange(argument, 0, 2));
  if (!LooksLikeIdx(start)) return blobs;
  const std::vector<std::string> candidates = LabelPaths(argument);
  for (const std::string& labels : candidates) {
    if (Exists(files, labels)) return OpenPair(files, argument, labels, option);
  }
  if (!labels_needed) return blobs;
  const std::string looked =
      candidates.empty()
          ? std::string("the name holds no \"images\" to look for labels by")
          : absl::StrCat("looked for ", absl::StrJoin(candidates, " and "));
  return UsageError(
      absl::StrCat("no labels for the IDX images '", argument, "'"), option,
      looked, absl::StrCat("name both: ", option, " ", argument, ",LABELS"));
}

}  // namespace edgekiln::client
