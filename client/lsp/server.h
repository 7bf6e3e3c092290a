#ifndef EK_CLIENT_LSP_SERVER_H_
#define EK_CLIENT_LSP_SERVER_H_

// The language server as a state machine: messages and answers of the daemon
// in, messages out. No threads, no files, no waiting.

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/lsp/daemon.h"
#include "client/lsp/file_finder.h"
#include "client/lsp/framing.h"
#include "client/lsp/messages.h"
#include "client/lsp/open_file.h"

namespace edgekiln::client::lsp {

inline constexpr size_t kMaxOpenFiles = 256;

struct ServerOptions {
  std::string version;  // Told to editors.
  // Gets the body of each message.
  std::function<void(const std::string& body)> send;
  // Looks for files and returns at once; its answer is handed to HandleFiles().
  std::function<void(FilesRequest)> find_files;
};

// Not thread-safe.
class Server {
 public:
  // `daemon` must outlive the server. Its answers are handed to Handle(), not
  // from within its own functions.
  Server(ServerOptions options, Daemon& daemon);

  // All messages that have come so far. A request that a later one cancels is
  // not begun; of several edits of a file only the last text is checked, and
  // those before a request for quick fixes.
  void Handle(const std::vector<Frame>& frames);
  void Handle(DaemonAnswer answer);
  void HandleFiles(FilesAnswer answer);

  // `exit` has come: what to leave the program with is exit_code().
  bool done() const { return done_; }
  int exit_code() const { return stopped_ ? 0 : 1; }

 private:
  void HandleMessage(const Json& message, const std::vector<Json>& cancelled);
  void HandleRequest(const Json& id, const std::string& method,
                     const Json& params);
  void HandleNotification(const std::string& method, const Json& params);
  void HandleSkipped(const Frame& frame);
  Json Answer(const std::string& method, OpenFile& file, const Json& params);

  Json Initialize(const Json& params);
  void Open(const Json& params);
  void Change(const Json& params);
  void Close(const Json& params);
  void Configure(const Json& settings);

  // Checks every file that changed since the last call.
  void Flush();
  void Check(OpenFile& file);
  void LookUpBase(OpenFile& file);
  // Shows which files that it names are missing, as known, and looks for those
  // that were not looked for yet; if `again`, for all.
  void LookForFiles(OpenFile& file, bool again);
  // Asks the editor to tell of files that come and go, and of models that
  // change.
  void WatchFiles();
  // Profiles texts again whose model is among the files that changed.
  void RunChangedModels(const Json& params);
  void StartRun(OpenFile& file);
  // Absolute; empty: no model is set.
  std::string ModelFor(OpenFile& file) const;

  void On(CheckAnswer answer);
  void On(RunAnswer answer);
  void On(ListAnswer answer);
  void On(TargetAnswer answer);
  void On(ReachAnswer answer);

  // Publishes what is known of the file.
  void Publish(OpenFile& file);
  void TellFigures(OpenFile& file);
  // The file is closed: nothing is left of what was shown.
  void DropFigures(OpenFile& file);
  // The present text is not profiled, or no longer. `stale`: the figures of the
  // file are of an older one.
  void SetStale(OpenFile& file, bool stale);
  void Send(const Json& message);
  // A request of ours, whose answer nothing depends on.
  void Ask(const std::string& method, Json params);
  void Log(LogLevel level, const std::string& text);
  OpenFile* FileOf(const Json& params);

  const ServerOptions options_;
  Daemon& daemon_;
  const Schema schema_;
  KnownTargets known_;
  std::map<std::string, std::unique_ptr<OpenFile>> files_;  // By URI.
  Encoding encoding_ = Encoding::kUtf16;
  bool snippets_ = false;
  bool refreshes_lenses_ = false;
  bool watches_files_ = false;
  bool initialized_ = false;
  bool stopped_ = false;  // `shutdown` has come.
  bool done_ = false;
  std::string root_;   // Folder of the workspace; empty: none.
  std::string model_;  // As configured.
  bool reached_ = true;
  v1::ErrorDetail unreached_;  // Unless reached_.
  int64_t next_id_ = 0;        // Of our own requests.
};

}  // namespace edgekiln::client::lsp

#endif  // EK_CLIENT_LSP_SERVER_H_
