#ifndef EK_CLIENT_LSP_TESTING_SERVER_FIXTURE_H_
#define EK_CLIENT_LSP_TESTING_SERVER_FIXTURE_H_

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/lsp/server.h"

namespace edgekiln::client::lsp {

inline constexpr char kUri[] = "file:///home/ann/chip.txtpb";

// Keeps what it is asked.
class FakeDaemon final : public Daemon {
 public:
  void Check(const std::string& uri, int64_t version,
             const std::string& text) override {
    checks.push_back(absl::StrCat(uri, "@", version));
    checked_text = text;
  }
  void Run(RunRequest request) override { runs.push_back(std::move(request)); }
  void Forget(const std::string& uri) override { forgotten.push_back(uri); }
  void List() override { ++lists; }
  void LookUp(const std::string& target) override {
    look_ups.push_back(target);
  }

  std::vector<std::string> checks;
  std::string checked_text;
  std::vector<RunRequest> runs;
  std::vector<std::string> forgotten;
  std::vector<std::string> look_ups;
  int lists = 0;
};

class ServerTest : public testing::Test {
 protected:
  void Send(const std::vector<Json>& messages) {
    std::vector<Frame> frames;
    for (const Json& message : messages) {
      frames.push_back({.body = JsonText(message)});
    }
    server_.Handle(frames);
  }
  void SendText(const std::string& body) { server_.Handle({{.body = body}}); }

  static Json Request(int id, const std::string& method, Json params) {
    return {{"jsonrpc", "2.0"},
            {"id", id},
            {"method", method},
            {"params", std::move(params)}};
  }

  void Start(Json options = nullptr) {
    Send(
        {Request(1, "initialize",
                 {{"rootUri", "file:///home/ann"},
                  {"capabilities",
                   {{"workspace", {{"codeLens", {{"refreshSupport", true}}}}}}},
                  {"initializationOptions", std::move(options)}})});
    Send({Notification("initialized", Json::object())});
    sent_.clear();
  }
  void Open(const std::string& text, const std::string& uri = kUri) {
    Send({Notification(
        "textDocument/didOpen",
        {{"textDocument", {{"uri", uri}, {"version", 1}, {"text", text}}}})});
  }
  static Json Whole(const std::string& text, int version) {
    return Notification(
        "textDocument/didChange",
        {{"textDocument", {{"uri", kUri}, {"version", version}}},
         {"contentChanges", Json::array({{{"text", text}}})}});
  }

  // The messages since the last call.
  std::vector<Json> Taken() { return std::exchange(sent_, {}); }
  // Of the last diagnostics that were published.
  std::vector<std::string> Published() {
    std::vector<std::string> messages;
    for (const Json& message : Taken()) {
      if (StringAt(message, "method") != "textDocument/publishDiagnostics") {
        continue;
      }
      messages.clear();
      for (const Json& one : message["params"]["diagnostics"]) {
        messages.push_back(StringAt(one, "message"));
      }
    }
    return messages;
  }
  Json Ask(const std::string& method, Json params) {
    params["textDocument"] = {{"uri", kUri}};
    Send({Request(++id_, method, std::move(params))});
    for (const Json& message : Taken()) {
      if (NumberAt(message, "id") == id_) return message;
    }
    return nullptr;
  }

  FakeDaemon daemon_;
  std::vector<FilesRequest> finds_;
  std::vector<Json> sent_;
  Server server_{{.version = "test",
                  .send =
                      [this](const std::string& body) {
                        sent_.push_back(*ParseJson(body));
                      },
                  .find_files =
                      [this](FilesRequest request) {
                        finds_.push_back(std::move(request));
                      }},
                 daemon_};
  int id_ = 100;
};

}  // namespace edgekiln::client::lsp

#endif  // EK_CLIENT_LSP_TESTING_SERVER_FIXTURE_H_
