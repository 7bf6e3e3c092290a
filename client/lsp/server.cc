#include "client/lsp/server.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/file.h"

namespace edgekiln::client::lsp {
namespace {

constexpr int kMaxLoggedBytes = 500;

bool IsId(const Json* id) {
  return id != nullptr && (id->is_string() || id->is_number_integer());
}

// Ids of requests that a notification among `messages` cancels.
std::vector<Json> CancelledIn(const std::vector<Json>& messages) {
  std::vector<Json> ids;
  for (const Json& message : messages) {
    if (StringAt(message, "method") != "$/cancelRequest") continue;
    const Json* const id = Find(message, "params/id");
    if (IsId(id)) ids.push_back(*id);
  }
  return ids;
}

bool Offers(const Json& params, absl::string_view encoding) {
  const Json* const list =
      Find(params, "capabilities/general/positionEncodings");
  return list != nullptr && list->is_array() &&
         std::find(list->begin(), list->end(), Json(std::string(encoding))) !=
             list->end();
}

// The file that the beginning of a `didOpen` or `didChange` is about; empty for
// other messages, or if that comes later.
std::string UriOfTextIn(absl::string_view beginning) {
  constexpr absl::string_view kKey = "\"uri\"";
  if (!absl::StrContains(beginning, "textDocument/didOpen") &&
      !absl::StrContains(beginning, "textDocument/didChange")) {
    return "";
  }
  const size_t key = beginning.find(kKey.data());
  if (key == absl::string_view::npos) return "";
  const size_t begin = beginning.find('"', key + kKey.size());
  if (begin == absl::string_view::npos) return "";
  const size_t end = beginning.find('"', begin + 1);
  if (end == absl::string_view::npos) return "";
  return std::string(beginning.substr(begin + 1, end - begin - 1));
}

// The folder of the workspace, the first of several.
std::string RootOf(const Json& params) {
  const Json* const folders = Find(params, "workspaceFolders");
  if (folders != nullptr && folders->is_array() && !folders->empty()) {
    return PathOf(StringAt(folders->front(), "uri"));
  }
  const std::string root = PathOf(StringAt(params, "rootUri"));
  return root.empty() ? StringAt(params, "rootPath") : root;
}

}  // namespace

Server::Server(ServerOptions options, Daemon& daemon)
    : options_(std::move(options)), daemon_(daemon) {}

void Server::Handle(const std::vector<Frame>& frames) {
  std::vector<Json> messages;
  for (const Frame& frame : frames) {
    if (frame.skipped) {
      HandleSkipped(frame);
      continue;
    }
    std::optional<Json> message = ParseJson(frame.body);
    if (!message.has_value()) {
      Send(ErrorResponse(nullptr, RpcError::kParse,
                         "the message is not JSON, or nested too deeply"));
      continue;
    }
    messages.push_back(std::move(*message));
  }
  const std::vector<Json> cancelled = CancelledIn(messages);
  for (const Json& message : messages) {
    HandleMessage(message, cancelled);
    if (done_) return;
  }
  Flush();
}

void Server::HandleMessage(const Json& message,
                           const std::vector<Json>& cancelled) {
  const Json* const id = Find(message, "id");
  const Json* const method = Find(message, "method");
  if (method == nullptr && message.is_object() && id != nullptr) {
    return;  // An answer to a request of ours: nothing depends on it.
  }
  if (method == nullptr || !method->is_string() ||
      (id != nullptr && !IsId(id))) {
    Send(ErrorResponse(IsId(id) ? *id : Json(), RpcError::kInvalidRequest,
                       "not a request: it needs a method, and a string or an "
                       "integer as id"));
    return;
  }
  static const Json& none = *new Json(Json::object());
  const Json* params = Find(message, "params");
  if (params == nullptr) params = &none;
  if (id == nullptr) {
    HandleNotification(method->get<std::string>(), *params);
  } else if (std::find(cancelled.begin(), cancelled.end(), *id) !=
             cancelled.end()) {
    Send(ErrorResponse(*id, RpcError::kRequestCancelled, "cancelled"));
  } else {
    HandleRequest(*id, method->get<std::string>(), *params);
  }
}

void Server::HandleRequest(const Json& id, const std::string& method,
                           const Json& params) {
  if (stopped_) {
    Send(ErrorResponse(id, RpcError::kInvalidRequest,
                       "the server was shut down"));
    return;
  }
  if (method == "initialize") {
    if (initialized_) {
      Send(ErrorResponse(id, RpcError::kInvalidRequest,
                         "the server is initialized already"));
    } else {
      Send(Response(id, Initialize(params)));
    }
    return;
  }
  if (!initialized_) {
    Send(ErrorResponse(id, RpcError::kNotInitialized,
                       "send `initialize` first"));
    return;
  }
  if (method == "shutdown") {
    stopped_ = true;
    for (const auto& [uri, file] : files_) daemon_.Forget(uri);
    Send(Response(id, nullptr));
    return;
  }
  static constexpr absl::string_view kKnown[] = {
      "textDocument/completion", "textDocument/hover",
      "textDocument/codeAction", "textDocument/documentSymbol",
      "textDocument/codeLens"};
  if (std::find(std::begin(kKnown), std::end(kKnown), method) ==
      std::end(kKnown)) {
    Send(ErrorResponse(
        id, RpcError::kMethodNotFound,
        absl::StrCat("no method ", SanitizeText(method, kMaxLoggedBytes))));
    return;
  }
  OpenFile* const file = FileOf(params);
  if (file == nullptr) {
    Send(ErrorResponse(id, RpcError::kInvalidParams,
                       "textDocument is not an open file"));
    return;
  }
  Send(Response(id, Answer(method, *file, params)));
}

Json Server::Answer(const std::string& method, OpenFile& file,
                    const Json& params) {
  const AnswerContext context{encoding_, snippets_, schema_, known_};
  if (method == "textDocument/completion") {
    return Completions(file, params, context);
  }
  if (method == "textDocument/hover") return Hover(file, params, context);
  if (method == "textDocument/codeAction") {
    // A change of the same batch: the problems are of the text before it.
    if (file.TakeChanged()) Check(file);
    return CodeActions(file, params, context);
  }
  if (method == "textDocument/codeLens") return CodeLenses(file, context);
  return DocumentSymbols(file, context);
}

void Server::HandleNotification(const std::string& method, const Json& params) {
  if (method == "exit") {
    done_ = true;
    return;
  }
  if (!initialized_ || stopped_) return;
  if (method == "initialized") {
    daemon_.List();
    WatchFiles();
  } else if (method == "textDocument/didOpen") {
    Open(params);
  } else if (method == "textDocument/didChange") {
    Change(params);
  } else if (method == "textDocument/didClose") {
    Close(params);
  } else if (method == "textDocument/didSave" ||
             method == "workspace/didChangeWatchedFiles") {
    for (auto& [uri, file] : files_) LookForFiles(*file, /*again=*/true);
    RunChangedModels(params);
  } else if (method == "workspace/didChangeConfiguration") {
    const Json* const settings = Find(params, "settings");
    if (settings != nullptr) Configure(*settings);
    for (auto& [uri, file] : files_) StartRun(*file);
  }
}

// Whose text is unknown from here on: too large to be read.
void Server::HandleSkipped(const Frame& frame) {
  Log(LogLevel::kError,
      absl::StrCat("a message of more than ", kMaxMessageBytes >> 20,
                   " MiB was skipped: ",
                   SanitizeText(frame.body.substr(0, kMaxLoggedBytes),
                                kMaxLoggedBytes)));
  const std::string uri = UriOfTextIn(frame.body);
  if (uri.empty() || !initialized_) return;
  Json params;
  params["textDocument"] = {{"uri", uri},
                            {"version", 0},
                            {"text", std::string(kMaxKeptBytes + 1, ' ')}};
  Open(params);
}

Json Server::Initialize(const Json& params) {
  initialized_ = true;
  if (Offers(params, "utf-8")) encoding_ = Encoding::kUtf8;
  snippets_ = TrueAt(params,
                     "capabilities/textDocument/completion/completionItem/"
                     "snippetSupport");
  refreshes_lenses_ =
      TrueAt(params, "capabilities/workspace/codeLens/refreshSupport");
  watches_files_ = TrueAt(params,
                          "capabilities/workspace/didChangeWatchedFiles/"
                          "dynamicRegistration");
  root_ = RootOf(params);
  const Json* const options = Find(params, "initializationOptions");
  if (options != nullptr) Configure(*options);
  return InitializeResult(encoding_, options_.version);
}

// {"edgekiln": {"model": ..}}, {"edgekiln.model": ..} or {"model": ..}.
void Server::Configure(const Json& settings) {
  for (const char* path : {"edgekiln/model", "edgekiln.model", "model"}) {
    const Json* const model = Find(settings, path);
    if (model == nullptr || !model->is_string()) continue;
    model_ = model->get<std::string>();
    return;
  }
}

void Server::Open(const Json& params) {
  const std::string uri = StringAt(params, "textDocument/uri");
  if (uri.empty()) return;
  if (files_.size() >= kMaxOpenFiles && files_.count(uri) == 0) {
    Log(LogLevel::kWarning,
        absl::StrCat("more than ", kMaxOpenFiles,
                     " files are open; further ones are not checked"));
    return;
  }
  if (OpenFile* const old = FileOf(params)) DropFigures(*old);
  files_[uri] = std::make_unique<OpenFile>(
      uri, StringAt(params, "textDocument/text"),
      NumberAt(params, "textDocument/version").value_or(0), schema_);
}

void Server::Change(const Json& params) {
  OpenFile* const file = FileOf(params);
  const Json* const changes = Find(params, "contentChanges");
  if (file == nullptr || changes == nullptr || !changes->is_array()) return;
  const int64_t version =
      NumberAt(params, "textDocument/version").value_or(file->version() + 1);
  for (const Json& change : *changes) {
    const Json* const text = Find(change, "text");
    if (text == nullptr || !text->is_string()) continue;
    const Json* const range = Find(change, "range");
    Edit edit{.range = RangeAt(change, "range"),
              .text = text->get<std::string>()};
    // A range that is not one does not mean the whole text.
    if (range != nullptr && !range->is_null() && !edit.range.has_value()) {
      continue;
    }
    file->Apply(edit, version, encoding_);
  }
}

void Server::Close(const Json& params) {
  OpenFile* const file = FileOf(params);
  if (file == nullptr) return;
  const std::string uri = file->uri();
  daemon_.Forget(uri);
  DropFigures(*file);
  files_.erase(uri);
  Send(Notification("textDocument/publishDiagnostics",
                    {{"uri", uri}, {"diagnostics", Json::array()}}));
}

OpenFile* Server::FileOf(const Json& params) {
  const auto found = files_.find(StringAt(params, "textDocument/uri"));
  return found == files_.end() ? nullptr : found->second.get();
}

void Server::Send(const Json& message) { options_.send(JsonText(message)); }

void Server::Ask(const std::string& method, Json params) {
  Json request = {{"jsonrpc", "2.0"},
                  {"id", absl::StrCat("edgekiln-", next_id_++)},
                  {"method", method}};
  if (!params.is_null()) request["params"] = std::move(params);
  Send(request);
}

void Server::Log(LogLevel level, const std::string& text) {
  Send(LogMessage(level, absl::StrCat("edgekiln: ", text)));
}

}  // namespace edgekiln::client::lsp
