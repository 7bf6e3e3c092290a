#include "compiler/dataset/npz.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace edgekiln::compiler {

absl::StatusOr<NpzFile> NpzFile::Open(absl::string_view archive) {
  EK_ASSIGN_OR_RETURN(std::vector<ZipMember> members, ReadZipDirectory(archive),
                      "opening data set");
  std::vector<ZipMember> arrays;
  for (ZipMember& member : members) {
    if (!absl::EndsWith(member.name, ".npy")) continue;
    member.name.resize(member.name.size() - 4);
    arrays.push_back(std::move(member));
  }
  return NpzFile(archive, std::move(arrays));
}

std::vector<std::string> NpzFile::names() const {
  std::vector<std::string> names;
  for (const ZipMember& member : members_) names.push_back(member.name);
  return names;
}

const ZipMember* NpzFile::Find(absl::string_view name) const {
  for (const ZipMember& member : members_) {
    if (member.name == name) return &member;
  }
  return nullptr;
}

bool NpzFile::Has(absl::string_view name) const {
  return Find(name) != nullptr;
}

absl::StatusOr<NpyInfo> NpzFile::Inspect(absl::string_view name) const {
  const ZipMember* member = Find(name);
  if (member == nullptr) {
    return absl::NotFoundError(absl::StrCat("no array ", name));
  }
  EK_ASSIGN_OR_RETURN(
      const std::string start,
      ReadZipMemberPrefix(archive_, *member, kMaxNpyHeaderBytes),
      absl::StrCat("array ", name));
  return ParseNpyStart(start, member->inflated_bytes, name);
}

absl::StatusOr<std::unique_ptr<SampleReader>> NpzFile::Samples(
    absl::string_view name, int64_t wanted) const {
  EK_ASSIGN_OR_RETURN(const NpyInfo info, Inspect(name));
  const ZipMember* member = Find(name);
  EK_ASSIGN_OR_RETURN(ByteStream stream, OpenZipMember(archive_, *member),
                      absl::StrCat("array ", name));
  EK_RETURN_IF_ERROR(stream.Skip(info.header_bytes),
                     absl::StrCat("array ", name));
  return NewSampleReader(std::move(stream), info, wanted, member->crc, name);
}

absl::StatusOr<NpyArray> NpzFile::Read(absl::string_view name) const {
  const ZipMember* member = Find(name);
  if (member == nullptr) {
    return absl::NotFoundError(absl::StrCat("no array ", name));
  }
  EK_ASSIGN_OR_RETURN(const std::string bytes, ReadZipMember(archive_, *member),
                      absl::StrCat("array ", name));
  return ParseNpy(bytes, name);
}

bool IsNpz(absl::string_view bytes) {
  // The second form is an archive without members.
  return absl::StartsWith(bytes, "PK\x03\x04") ||
         absl::StartsWith(bytes, "PK\x05\x06");
}

absl::StatusOr<std::string> WriteNpz(
    absl::Span<const std::pair<std::string, NpyArray>> arrays) {
  std::vector<ZipContent> members;
  for (const auto& [name, array] : arrays) {
    members.push_back({absl::StrCat(name, ".npy"), EncodeNpy(array)});
  }
  return WriteZip(members);
}

}  // namespace edgekiln::compiler
