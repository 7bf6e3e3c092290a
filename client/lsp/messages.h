#ifndef EK_CLIENT_LSP_MESSAGES_H_
#define EK_CLIENT_LSP_MESSAGES_H_

// Messages of the protocol, and answers to requests about one file.

#include <string>
#include <vector>

#include "client/lsp/json_text.h"
#include "client/lsp/open_file.h"
#include "client/lsp/target_facts.h"

namespace edgekiln::client::lsp {

// Of JSON-RPC and the protocol.
enum class RpcError {
  kParse = -32700,
  kInvalidRequest = -32600,
  kMethodNotFound = -32601,
  kInvalidParams = -32602,
  kNotInitialized = -32002,
  kRequestCancelled = -32800,
};

enum class LogLevel { kError = 1, kWarning = 2, kInfo = 3, kLog = 4 };

Json Response(const Json& id, Json result);
Json ErrorResponse(const Json& id, RpcError code, const std::string& message);
Json Notification(const std::string& method, Json params);
Json LogMessage(LogLevel level, const std::string& text);
Json Diagnostics(const OpenFile& file, Encoding encoding);
// Result of `initialize`.
Json InitializeResult(Encoding encoding, const std::string& version);

// What every answer needs.
struct AnswerContext {
  Encoding encoding = Encoding::kUtf16;
  bool snippets = false;
  const Schema& schema;
  const KnownTargets& known;
};

// Results of textDocument/completion, hover, codeAction, documentSymbol and
// codeLens; null where the params are not as the protocol says.
Json Completions(OpenFile& file, const Json& params,
                 const AnswerContext& context);
Json Hover(OpenFile& file, const Json& params, const AnswerContext& context);
Json CodeActions(OpenFile& file, const Json& params,
                 const AnswerContext& context);
Json DocumentSymbols(OpenFile& file, const AnswerContext& context);
Json CodeLenses(OpenFile& file, const AnswerContext& context);

}  // namespace edgekiln::client::lsp

#endif  // EK_CLIENT_LSP_MESSAGES_H_
