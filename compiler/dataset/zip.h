#ifndef EK_COMPILER_DATASET_ZIP_H_
#define EK_COMPILER_DATASET_ZIP_H_

// The part of ZIP that .npz files use: stored and deflated members, one disk,
// no encryption. Every byte read is treated as hostile.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compiler/dataset/byte_stream.h"

namespace edgekiln::compiler {

struct ZipMember {
  std::string name;
  bool deflated = false;
  uint32_t crc = 0;
  int64_t stored_bytes = 0;    // In the archive.
  int64_t inflated_bytes = 0;  // After decompression.
  int64_t header_offset = 0;   // Of the local header.
};

// Reads the central directory. At most 4096 members with different names that
// together inflate to at most kMaxDataSetBytes. Errors: INVALID_ARGUMENT,
// UNIMPLEMENTED (encrypted, other compression methods, ZIP64 directories).
absl::StatusOr<std::vector<ZipMember>> ReadZipDirectory(
    absl::string_view archive);

// Content of one member of this very archive, checksum verified. Errors:
// INVALID_ARGUMENT.
absl::StatusOr<std::string> ReadZipMember(absl::string_view archive,
                                          const ZipMember& member);

// The same as it is unpacked. The archive must outlive it.
absl::StatusOr<ByteStream> OpenZipMember(absl::string_view archive,
                                         const ZipMember& member);

// The first `bytes` of it, or all if it is shorter; without the checksum.
absl::StatusOr<std::string> ReadZipMemberPrefix(absl::string_view archive,
                                                const ZipMember& member,
                                                int64_t bytes);

struct ZipContent {
  std::string name;
  std::string bytes;
};

// An archive of deflated members in the given order, with a fixed date: same
// contents, same bytes. The whole must stay below 4 GiB; OUT_OF_RANGE if not.
absl::StatusOr<std::string> WriteZip(absl::Span<const ZipContent> members);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_DATASET_ZIP_H_
