#include "compiler/dataset/zip.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/dataset/inflate.h"
#include "compiler/dataset/little_endian.h"

namespace edgekiln::compiler {
namespace {

constexpr uint32_t kLocalMagic = 0x04034b50;
constexpr uint32_t kCentralMagic = 0x02014b50;
constexpr uint32_t kEndMagic = 0x06054b50;
constexpr size_t kLocalBytes = 30;
constexpr size_t kCentralBytes = 46;
constexpr size_t kEndBytes = 22;
constexpr size_t kMaxComment = 0xffff;
constexpr size_t kMaxMembers = 4096;
constexpr uint16_t kStored = 0;
constexpr uint16_t kDeflated = 8;
constexpr uint16_t kEncrypted = 1;
constexpr uint16_t kUtf8Name = 1 << 11;
constexpr uint16_t kZip64Tag = 1;
constexpr uint16_t kVersion = 20;   // Of the format: deflate.
constexpr uint16_t kDate = 0x0021;  // 1980-01-01, the earliest there is.
constexpr uint32_t kSeeZip64 = 0xffffffff;

uint16_t U16(absl::string_view s, size_t at) {
  return LoadAs<uint16_t>(s.data() + at);
}
uint32_t U32(absl::string_view s, size_t at) {
  return LoadAs<uint32_t>(s.data() + at);
}

absl::Status BadZip(absl::string_view what, absl::string_view where) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.reason = "DATA_CORRUPT",
                    .what = absl::StrCat("not a usable .npz archive: ", what),
                    .where = std::string(where),
                    .fix = "write the file again with numpy.savez_compressed"});
}

absl::Status Unsupported(absl::string_view what, absl::string_view where) {
  return MakeError(
      absl::StatusCode::kUnimplemented,
      {.reason = "DATA_UNSUPPORTED",
       .what = std::string(what),
       .where = std::string(where),
       .limit = "stored and deflated members, unencrypted, below 4 GiB",
       .fix = "write the file again with numpy.savez_compressed"});
}

// The end record is the last thing but for a comment of unknown length.
absl::StatusOr<size_t> FindEnd(absl::string_view archive) {
  if (archive.size() < kEndBytes) return BadZip("too short", "");
  const size_t last = archive.size() - kEndBytes;
  const size_t first = last > kMaxComment ? last - kMaxComment : 0;
  for (size_t at = last + 1; at-- > first;) {
    if (U32(archive, at) == kEndMagic &&
        at + kEndBytes + U16(archive, at + 20) == archive.size()) {
      return at;
    }
  }
  return BadZip("no end of central directory", "");
}

// Sizes above 4 GiB or forced to 64 bits live in an extra field, in the order
// inflated, stored, offset, each only if its 32-bit field says so.
absl::Status ApplyZip64(absl::string_view extra, ZipMember& member) {
  while (extra.size() >= 4) {
    const uint16_t tag = U16(extra, 0);
    const size_t size = U16(extra, 2);
    extra.remove_prefix(4);
    if (size > extra.size()) break;
    absl::string_view field = extra.substr(0, size);
    extra.remove_prefix(size);
    if (tag != kZip64Tag) continue;
    for (int64_t* value : {&member.inflated_bytes, &member.stored_bytes,
                           &member.header_offset}) {
      if (*value != kSeeZip64) continue;
      if (field.size() < 8) return BadZip("short ZIP64 field", member.name);
      const uint64_t wide = LoadAs<uint64_t>(field.data());
      if (wide > uint64_t{kMaxDataSetBytes}) {
        return Unsupported("member is larger than 4 GiB", member.name);
      }
      *value = static_cast<int64_t>(wide);
      field.remove_prefix(8);
    }
  }
  return absl::OkStatus();
}

// Parses the record at the front of `rest` and moves past it.
absl::StatusOr<ZipMember> NextMember(absl::string_view& rest) {
  if (rest.size() < kCentralBytes || U32(rest, 0) != kCentralMagic) {
    return BadZip("damaged central directory", "");
  }
  const size_t name_bytes = U16(rest, 28);
  const size_t extra_bytes = U16(rest, 30);
  const size_t comment_bytes = U16(rest, 32);
  const size_t record =
      kCentralBytes + name_bytes + extra_bytes + comment_bytes;
  if (rest.size() < record) return BadZip("damaged central directory", "");
  ZipMember member;
  member.name = std::string(rest.substr(kCentralBytes, name_bytes));
  const uint16_t flags = U16(rest, 8);
  const uint16_t method = U16(rest, 10);
  member.deflated = method == kDeflated;
  member.crc = U32(rest, 16);
  member.stored_bytes = U32(rest, 20);
  member.inflated_bytes = U32(rest, 24);
  member.header_offset = U32(rest, 42);
  if (flags & kEncrypted)
    return Unsupported("member is encrypted", member.name);
  if (method != kStored && method != kDeflated) {
    return Unsupported(absl::StrCat("compression method ", method),
                       member.name);
  }
  EK_RETURN_IF_ERROR(
      ApplyZip64(rest.substr(kCentralBytes + name_bytes, extra_bytes), member),
      "reading .npz");
  rest.remove_prefix(record);
  return member;
}

absl::Status CheckSizes(const ZipMember& member, int64_t& total) {
  if (!member.deflated && member.stored_bytes != member.inflated_bytes) {
    return BadZip("sizes of a stored member differ", member.name);
  }
  // Also bounds what decompression may allocate by the size of the upload.
  if (member.inflated_bytes / kMaxDeflateRatio > member.stored_bytes) {
    return BadZip("member claims an impossible compression", member.name);
  }
  total +=
      member.inflated_bytes;  // Each is at most 4 GiB, at most 4096 of them.
  if (total > kMaxDataSetBytes) {
    return MakeError(
        absl::StatusCode::kInvalidArgument,
        {.reason = "DATA_TOO_LARGE",
         .what = "data set is too large",
         .where = member.name,
         .limit = absl::StrCat(kMaxDataSetBytes, " bytes unpacked"),
         .fix = "use fewer samples"});
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<ZipMember>> ReadZipDirectory(
    absl::string_view archive) {
  EK_ASSIGN_OR_RETURN(const size_t end, FindEnd(archive), "reading .npz");
  const size_t count = U16(archive, end + 10);
  const size_t size = U32(archive, end + 12);
  const size_t offset = U32(archive, end + 16);
  if (count == 0xffff || size == kSeeZip64 || offset == kSeeZip64) {
    return Unsupported("ZIP64 directory", "");
  }
  if (count > kMaxMembers) {
    return Unsupported(absl::StrCat("archive of ", count, " members; at most ",
                                    kMaxMembers, " are read"),
                       "");
  }
  if (offset > end || size != end - offset) {
    return BadZip("central directory is not where it should be", "");
  }
  absl::string_view rest = archive.substr(offset, size);
  std::vector<ZipMember> members;
  std::set<std::string> names;
  int64_t total = 0;
  for (size_t i = 0; i < count; ++i) {
    EK_ASSIGN_OR_RETURN(ZipMember member, NextMember(rest),
                        absl::StrCat("member ", i));
    EK_RETURN_IF_ERROR(CheckSizes(member, total), absl::StrCat("member ", i));
    if (!names.insert(member.name).second) {
      return BadZip("two members of one name", member.name);
    }
    members.push_back(std::move(member));
  }
  if (!rest.empty()) return BadZip("central directory is too long", "");
  return members;
}

namespace {

// What the archive holds of a member, compressed or not.
absl::StatusOr<absl::string_view> RawMember(absl::string_view archive,
                                            const ZipMember& member) {
  const size_t offset = static_cast<size_t>(member.header_offset);
  if (offset > archive.size() || archive.size() - offset < kLocalBytes ||
      U32(archive, offset) != kLocalMagic) {
    return BadZip("member is not where it should be", member.name);
  }
  // The local copy of the sizes is ignored: streaming writers leave it empty.
  const size_t skip =
      kLocalBytes + U16(archive, offset + 26) + U16(archive, offset + 28);
  const size_t left = archive.size() - offset;
  const size_t stored = static_cast<size_t>(member.stored_bytes);
  if (skip > left || stored > left - skip) {
    return BadZip("member is cut off", member.name);
  }
  return archive.substr(offset + skip, stored);
}

}  // namespace

absl::StatusOr<ByteStream> OpenZipMember(absl::string_view archive,
                                         const ZipMember& member) {
  EK_ASSIGN_OR_RETURN(const absl::string_view raw, RawMember(archive, member),
                      "reading .npz");
  return ByteStream(raw, member.deflated ? Packing::kDeflate : Packing::kNone,
                    member.name);
}

absl::StatusOr<std::string> ReadZipMember(absl::string_view archive,
                                          const ZipMember& member) {
  EK_ASSIGN_OR_RETURN(ByteStream stream, OpenZipMember(archive, member));
  std::string bytes;
  EK_RETURN_IF_ERROR(stream.Read(member.inflated_bytes, bytes), "reading .npz");
  EK_RETURN_IF_ERROR(stream.ExpectEnd(), "reading .npz");
  if (stream.crc() != member.crc) {
    return BadZip("checksum does not match", member.name);
  }
  return bytes;
}

absl::StatusOr<std::string> ReadZipMemberPrefix(absl::string_view archive,
                                                const ZipMember& member,
                                                int64_t bytes) {
  EK_ASSIGN_OR_RETURN(const absl::string_view raw, RawMember(archive, member),
                      "reading .npz");
  if (!member.deflated) {
    return std::string(raw.substr(0, static_cast<size_t>(bytes)));
  }
  return InflateRawPrefix(raw, bytes, member.name);
}

absl::StatusOr<std::string> WriteZip(absl::Span<const ZipContent> members) {
  std::string archive;
  std::string directory;
  for (const ZipContent& member : members) {
    const std::string deflated = DeflateRaw(member.bytes);
    const size_t total = archive.size() + deflated.size() + member.bytes.size();
    if (total >= std::numeric_limits<uint32_t>::max() ||
        member.name.size() > 0xffff || members.size() > kMaxMembers) {
      return MakeError(absl::StatusCode::kOutOfRange,
                       {.reason = "DATA_TOO_LARGE",
                        .what = "output archive is too large",
                        .where = member.name,
                        .limit = "4 GiB, 4096 arrays",
                        .fix = "use --limit"});
    }
    const uint32_t offset = static_cast<uint32_t>(archive.size());
    std::string common;  // What local and central header share.
    AppendAs<uint16_t>(kVersion, common);
    AppendAs<uint16_t>(kUtf8Name, common);
    AppendAs<uint16_t>(kDeflated, common);
    AppendAs<uint16_t>(0, common);  // Time.
    AppendAs<uint16_t>(kDate, common);
    AppendAs<uint32_t>(Crc32(member.bytes), common);
    AppendAs<uint32_t>(static_cast<uint32_t>(deflated.size()), common);
    AppendAs<uint32_t>(static_cast<uint32_t>(member.bytes.size()), common);
    AppendAs<uint16_t>(static_cast<uint16_t>(member.name.size()), common);
    AppendAs<uint16_t>(0, common);  // Extra field.
    AppendAs<uint32_t>(kLocalMagic, archive);
    absl::StrAppend(&archive, common, member.name, deflated);
    AppendAs<uint32_t>(kCentralMagic, directory);
    AppendAs<uint16_t>(kVersion, directory);
    directory += common;
    directory.append(6, '\0');         // Comment, disk, internal attributes.
    AppendAs<uint32_t>(0, directory);  // External attributes.
    AppendAs<uint32_t>(offset, directory);
    directory += member.name;
  }
  const uint32_t offset = static_cast<uint32_t>(archive.size());
  archive += directory;
  AppendAs<uint32_t>(kEndMagic, archive);
  archive.append(4, '\0');  // Disk numbers.
  AppendAs<uint16_t>(static_cast<uint16_t>(members.size()), archive);
  AppendAs<uint16_t>(static_cast<uint16_t>(members.size()), archive);
  AppendAs<uint32_t>(static_cast<uint32_t>(directory.size()), archive);
  AppendAs<uint32_t>(offset, archive);
  AppendAs<uint16_t>(0, archive);  // Comment.
  return archive;
}

}  // namespace edgekiln::compiler
