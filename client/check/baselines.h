#ifndef EK_CLIENT_CHECK_BASELINES_H_
#define EK_CLIENT_CHECK_BASELINES_H_

// Baselines as files in the user's repository: one for each cell, as `report
// baseline` writes it, and a list of those that `check` has written, which are
// the only ones that it removes.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"
#include "client/check/project.h"

namespace edgekiln::client {

// The folder as seen from the current one: what the project says, or
// "baselines" beside edgekiln.txtpb and "baselines/NAME" beside NAME.txtpb. The
// latter is "baselines" where a list of NAME lies there, as older versions
// wrote it.
std::string BaselineFolderOf(const ProjectFile& project, FileSystem& files);

// Of one project. Others may have their baselines in
// the same folder. Errors are usage errors that name the file. Not thread-safe.
class Baselines {
 public:
  // Both must outlive it.
  Baselines(const ProjectFile& project, FileSystem& files);

  const std::string& folder() const { return folder_; }
  // The path of a file that NameCells() named.
  std::string PathOf(const std::string& name) const;
  // Its bytes; nothing if there is no such file.
  absl::StatusOr<std::optional<std::string>> Read(const std::string& name);
  // Those that were written for cells which are not among `cells`, but for
  // those that another project has written, too.
  absl::StatusOr<std::vector<std::string>> Stale(
      const std::set<std::string>& cells);

  struct Changes {
    std::vector<std::string> written;  // Paths; not of files that are the same.
    std::vector<std::string> removed;
  };
  // Makes the files of `bytes`, by name, hold these bytes, and removes what is
  // stale. All new contents are on disk before the first file gets its name.
  // `cells`: all cells there are; what is not in `bytes` stays as it is. An
  // error, and nothing is written, if a baseline of another project would get
  // other bytes.
  absl::StatusOr<Changes> Update(
      const std::map<std::string, std::string>& bytes,
      const std::set<std::string>& cells);

 private:
  absl::StatusOr<std::set<std::string>> ReadList(const std::string& path);
  // What is in the lists of other projects, with the list.
  absl::StatusOr<std::map<std::string, std::string>> NamesOfOthers();
  absl::Status TakenBy(const std::string& name, const std::string& list) const;
  std::string ListText(const std::set<std::string>& names) const;

  FileSystem& files_;
  const std::string folder_;
  const std::string project_name_;  // As seen from the folder.
  const std::string list_;          // Name of the file in the folder.
};

}  // namespace edgekiln::client

#endif  // EK_CLIENT_CHECK_BASELINES_H_
