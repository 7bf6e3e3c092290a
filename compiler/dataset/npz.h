#ifndef EK_COMPILER_DATASET_NPZ_H_
#define EK_COMPILER_DATASET_NPZ_H_

// Named arrays in one archive.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compiler/dataset/npy.h"
#include "compiler/dataset/sample_reader.h"
#include "compiler/dataset/zip.h"

namespace edgekiln::compiler {

// Reads arrays when asked for them, so that an archive may hold others that we
// do not understand (class names). Immutable.
class NpzFile {
 public:
  // `archive` must outlive the object. Errors: as ReadZipDirectory().
  static absl::StatusOr<NpzFile> Open(absl::string_view archive);

  // Array names, without ".npy", in the archive's order.
  std::vector<std::string> names() const;
  bool Has(absl::string_view name) const;
  // What the array is, without unpacking its values. Errors: as Read().
  absl::StatusOr<NpyInfo> Inspect(absl::string_view name) const;
  // Its samples, to be unpacked one after the other; no more than the first
  // `wanted` are of use. The archive must outlive them. Errors: as Read().
  absl::StatusOr<std::unique_ptr<SampleReader>> Samples(absl::string_view name,
                                                        int64_t wanted) const;
  // The whole array. Errors: NOT_FOUND, and as ReadZipMember() and ParseNpy().
  absl::StatusOr<NpyArray> Read(absl::string_view name) const;

 private:
  NpzFile(absl::string_view archive, std::vector<ZipMember> members)
      : archive_(archive), members_(std::move(members)) {}
  const ZipMember* Find(absl::string_view name) const;

  absl::string_view archive_;
  std::vector<ZipMember> members_;  // Names without ".npy".
};

// Whether the bytes look like an .npz (or any ZIP) archive.
bool IsNpz(absl::string_view bytes);

// Deterministic: same arrays in the same order, same bytes.
absl::StatusOr<std::string> WriteNpz(
    absl::Span<const std::pair<std::string, NpyArray>> arrays);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_DATASET_NPZ_H_
