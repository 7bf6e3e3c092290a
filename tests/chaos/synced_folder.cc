#include "tests/chaos/synced_folder.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace edgekiln::chaos {
namespace {

namespace fs = std::filesystem;

std::string BytesOf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Everything below `root` by its path from there; true: a file.
std::map<std::string, bool> NamesBelow(const fs::path& root) {
  std::map<std::string, bool> names;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    names[fs::relative(entry.path(), root).string()] = entry.is_regular_file();
  }
  return names;
}

absl::Status Rebuild(const fs::path& shadow, const std::string& id,
                     const fs::path& to) {
  fs::create_directory(to);
  std::ifstream list(shadow / "folders" / id);
  std::string kind;
  std::string child;
  std::string name;
  while (list >> kind >> child && list.ignore() && std::getline(list, name)) {
    if (kind == "d") {
      EK_RETURN_IF_ERROR(Rebuild(shadow, child, to / name));
    } else if (fs::exists(shadow / "files" / child)) {
      // Not a copy: two names of one file stay two names of one file.
      fs::create_hard_link(shadow / "files" / child, to / name);
    } else if (std::ofstream file(to / name); !file) {
      return absl::InternalError(absl::StrCat("cannot write ", name));
    }
  }
  return absl::OkStatus();
}

Dropped Compare(const fs::path& before, const fs::path& after) {
  const std::map<std::string, bool> old_names = NamesBelow(before);
  const std::map<std::string, bool> new_names = NamesBelow(after);
  Dropped dropped;
  for (const auto& [name, is_file] : old_names) {
    const auto found = new_names.find(name);
    if (found == new_names.end()) {
      ++dropped.names;
    } else if (is_file && !fs::equivalent(before / name, after / name) &&
               BytesOf(before / name) != BytesOf(after / name)) {
      ++dropped.contents;
    }
  }
  for (const auto& [name, is_file] : new_names) {
    dropped.revived += old_names.count(name) == 0 ? 1 : 0;
  }
  return dropped;
}

absl::StatusOr<Dropped> Drop(const fs::path& scratch) {
  const fs::path watched = scratch / kWatchedFolder;
  const fs::path shadow = scratch / kShadowFolder;
  if (!fs::exists(shadow)) {
    return absl::FailedPreconditionError(
        absl::StrCat("nothing watches ", watched.string()));
  }
  const fs::path rebuilt = scratch / "rebuilt";
  EK_RETURN_IF_ERROR(Rebuild(shadow, "0", rebuilt));
  const Dropped dropped = Compare(watched, rebuilt);
  fs::remove_all(watched);
  fs::rename(rebuilt, watched);
  fs::remove_all(shadow);
  return dropped;
}

}  // namespace

absl::StatusOr<Dropped> DropUnsynced(const std::string& scratch) {
  try {
    return Drop(scratch);
  } catch (const fs::filesystem_error& error) {
    return absl::InternalError(error.what());
  }
}

}  // namespace edgekiln::chaos
