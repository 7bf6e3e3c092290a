// The language server on arbitrary bytes: as the stream that it reads, and as
// the text of a file that it checks, completes and explains.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "client/lsp/server.h"

namespace {

using namespace edgekiln::client::lsp;  // NOLINT

class NoDaemon final : public Daemon {
 public:
  void Check(const std::string&, int64_t, const std::string&) override {}
  void Run(RunRequest) override {}
  void Forget(const std::string&) override {}
  void List() override {}
  void LookUp(const std::string&) override {}
};

constexpr char kUri[] = "file:///a.txtpb";

Json Request(const char* method, Json params) {
  params["textDocument"] = {{"uri", kUri}};
  return {{"id", 1}, {"method", method}, {"params", std::move(params)}};
}

void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  static NoDaemon daemon;
  static Server& server =
      *new Server({.version = "fuzz",
                   .send =
                       [](const std::string& body) {
                         Require(ParseJson(body).has_value());
                       },
                   .find_files = [](const FilesRequest&) {}},
                  daemon);
  static bool started = false;
  if (!started) {
    server.Handle({{.body = R"({"id":0,"method":"initialize"})"}});
    started = true;
  }
  FrameReader reader;
  reader.Append(text);
  const auto frame = reader.Next();
  // An `exit` would end what the next input needs.
  if (frame.ok() && frame->has_value() &&
      (*frame)->body.find("exit") == std::string::npos &&
      (*frame)->body.find("shutdown") == std::string::npos) {
    server.Handle({**frame});
  }
  const Json open = Notification(
      "textDocument/didOpen",
      {{"textDocument", {{"uri", kUri}, {"version", 1}, {"text", text}}}});
  const Position place{static_cast<int>(size % 7), static_cast<int>(size % 31)};
  server.Handle(
      {{.body = JsonText(open)},
       {.body = JsonText(
            Request("textDocument/completion", {{"position", ToJson(place)}}))},
       {.body = JsonText(
            Request("textDocument/hover", {{"position", ToJson(place)}}))},
       {.body =
            JsonText(Request("textDocument/documentSymbol", Json::object()))},
       {.body = JsonText(Request("textDocument/codeAction",
                                 {{"range", ToJson(Range{{}, place})}}))}});
  return 0;
}
