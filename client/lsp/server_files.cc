// Files beside the texts: whether those exist that a sweep or project names,
// and models that change.

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <utility>

#include "client/lsp/file_paths.h"
#include "client/lsp/server.h"

namespace edgekiln::client::lsp {
namespace {

// Without "." and "..", as editors name files.
std::string Normal(const std::string& path) {
  return std::filesystem::path(path).lexically_normal().string();
}

}  // namespace

void Server::LookForFiles(OpenFile& file, bool again) {
  if (file.kind() == nullptr || file.is_target()) return;
  const std::string folder =
      file.path().empty() ? root_ : ParentPath(file.path());
  if (folder.empty()) return;
  const std::vector<FilePath> found =
      FilePathsIn(file.text(), file.syntax(), *file.kind());
  std::vector<std::string> paths;
  for (const FilePath& path : found) paths.push_back(path.path);
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  file.checked = MissingProblems(found, file.missing);
  if (!again && paths == file.looked_for) return;
  file.looked_for = paths;
  if (paths.empty()) return;
  options_.find_files({file.uri(), folder, std::move(paths)});
}

void Server::HandleFiles(FilesAnswer answer) {
  const auto found = files_.find(answer.uri);
  if (found == files_.end()) return;
  OpenFile& file = *found->second;
  // Asked again meanwhile.
  if (answer.paths != file.looked_for || file.missing == answer.missing) return;
  file.missing = std::move(answer.missing);
  LookForFiles(file, /*again=*/false);
  Publish(file);
}

void Server::WatchFiles() {
  if (!watches_files_) return;
  Ask("client/registerCapability",
      {{"registrations",
        Json::array(
            {{{"id", "edgekiln-files"},
              {"method", "workspace/didChangeWatchedFiles"},
              {"registerOptions",
               {{"watchers", Json::array({{{"globPattern", "**/*"},
                                           // Created, deleted.
                                           {"kind", 5}},
                                          {{"globPattern",
                                            "**/*.{onnx,tflite}"}}})}}}}})}});
}

void Server::RunChangedModels(const Json& params) {
  const Json* const changes = Find(params, "changes");
  if (changes == nullptr || !changes->is_array()) return;
  std::set<std::string> paths;
  for (const Json& change : *changes) {
    paths.insert(Normal(PathOf(StringAt(change, "uri"))));
  }
  for (auto& [uri, file] : files_) {
    // A newer text is run once it is checked.
    if (file->run_version == file->version() &&
        paths.count(Normal(file->model)) > 0) {
      StartRun(*file);
    }
  }
}

}  // namespace edgekiln::client::lsp
