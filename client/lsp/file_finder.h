#ifndef EK_CLIENT_LSP_FILE_FINDER_H_
#define EK_CLIENT_LSP_FILE_FINDER_H_

// Looks for the files that an open file names. A file system may be slow or
// hang, so that a thread of its own does it.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"

namespace edgekiln::client::lsp {

struct MissingFile {
  bool is_folder = false;
  std::string suggestion{};  // A path that exists; empty: none is near.

  friend bool operator==(const MissingFile&, const MissingFile&) = default;
};

// By the path as it was asked for.
using MissingFiles = std::map<std::string, MissingFile>;

struct FilesRequest {
  std::string uri;
  std::string folder;              // What relative paths are relative to.
  std::vector<std::string> paths;  // Each once.
};

struct FilesAnswer {
  std::string uri;
  std::vector<std::string> paths;  // Of the request.
  MissingFiles missing;
};

// A path of which nothing can be known, such as in a folder that may not be
// read, is not missing.
MissingFiles FindMissing(const FilesRequest& request, FileSystem& files);

// Thread-safe.
class FileFinder {
 public:
  // Waits for the file system, if a request is in flight.
  virtual ~FileFinder() = default;
  // Never waits. Of several requests for one URI the newest is answered.
  virtual void Find(FilesRequest request) = 0;
};

// `files` must outlive the result; `tell` is called by its thread.
std::unique_ptr<FileFinder> NewFileFinder(
    FileSystem& files, std::function<void(FilesAnswer)> tell);

}  // namespace edgekiln::client::lsp

#endif  // EK_CLIENT_LSP_FILE_FINDER_H_
