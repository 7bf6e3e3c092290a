#include "client/lsp/messages.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/lsp/completion.h"
#include "client/lsp/hover.h"

namespace edgekiln::client::lsp {
namespace {

constexpr char kSource[] = "edgekiln";
constexpr int kSnippet = 2;
constexpr int kSymbolModule = 2;  // SymbolKind.
constexpr int kSymbolObject = 19;
constexpr int kMaxSymbols = 5000;

Json Markdown(const std::string& text) {
  return {{"kind", "markdown"}, {"value", text}};
}

Json TextEdit(const OpenFile& file, Span span, const std::string& text,
              Encoding encoding) {
  return {{"range", ToJson(file.RangeOf(span, encoding))}, {"newText", text}};
}

Json DiagnosticOf(const OpenFile& file, const Problem& problem,
                  Encoding encoding) {
  return {{"range", ToJson(file.RangeOf(problem.span, encoding))},
          {"severity", static_cast<int>(problem.severity)},
          {"code", problem.reason},
          {"source", kSource},
          {"message", problem.message}};
}

// Whether they touch: an empty range is a cursor.
bool Meet(Span a, Span b) { return a.begin <= b.end && b.begin <= a.end; }

std::optional<size_t> OffsetAt(const OpenFile& file, const Json& params,
                               const AnswerContext& context) {
  const std::optional<Position> position = PositionAt(params, "position");
  if (!position.has_value()) return std::nullopt;
  return file.document().lines().OffsetOf(file.text(), *position,
                                          context.encoding);
}

Json SymbolJson(const OpenFile& file, const Symbol& symbol, Encoding encoding,
                int& left) {
  Json children = Json::array();
  for (const Symbol& child : symbol.children) {
    if (--left < 0) break;
    children.push_back(SymbolJson(file, child, encoding, left));
  }
  return {{"name", symbol.name},
          {"detail", symbol.detail},
          {"kind", symbol.children.empty() ? kSymbolObject : kSymbolModule},
          {"range", ToJson(file.RangeOf(symbol.whole, encoding))},
          {"selectionRange", ToJson(file.RangeOf(symbol.name_span, encoding))},
          {"children", std::move(children)}};
}

}  // namespace

Json Response(const Json& id, Json result) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

Json ErrorResponse(const Json& id, RpcError code, const std::string& message) {
  return {{"jsonrpc", "2.0"},
          {"id", id},
          {"error", {{"code", static_cast<int>(code)}, {"message", message}}}};
}

Json Notification(const std::string& method, Json params) {
  return {
      {"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
}

Json LogMessage(LogLevel level, const std::string& text) {
  return Notification("window/logMessage",
                      {{"type", static_cast<int>(level)}, {"message", text}});
}

Json Diagnostics(const OpenFile& file, Encoding encoding) {
  Json list = Json::array();
  for (const Problem& problem : ProblemsOf(file)) {
    list.push_back(DiagnosticOf(file, problem, encoding));
  }
  return Notification("textDocument/publishDiagnostics",
                      {{"uri", file.uri()},
                       {"version", file.version()},
                       {"diagnostics", std::move(list)}});
}

Json InitializeResult(Encoding encoding, const std::string& version) {
  const Json capabilities = {
      {"positionEncoding", encoding == Encoding::kUtf8 ? "utf-8" : "utf-16"},
      {"textDocumentSync",
       {{"openClose", true}, {"change", 2}, {"save", true}}},
      {"completionProvider",
       {{"triggerCharacters", {"\"", ":", "{"}}, {"resolveProvider", false}}},
      {"hoverProvider", true},
      {"documentSymbolProvider", true},
      {"codeActionProvider", {{"codeActionKinds", {"quickfix"}}}},
      {"codeLensProvider", {{"resolveProvider", false}}}};
  return {{"capabilities", capabilities},
          {"serverInfo", {{"name", "edgekiln"}, {"version", version}}}};
}

Json Completions(OpenFile& file, const Json& params,
                 const AnswerContext& context) {
  const std::optional<size_t> offset = OffsetAt(file, params, context);
  if (!offset.has_value() || file.kind() == nullptr) return nullptr;
  const std::vector<CompletionItem> items =
      CompleteAt(file.text(), file.syntax(), *offset, *file.kind(),
                 context.schema, context.known, context.snippets);
  Json list = Json::array();
  Range range;  // That of all items, as a rule.
  Span span{1, 0};
  for (size_t i = 0; i < items.size(); ++i) {
    const CompletionItem& item = items[i];
    if (item.span != span) {
      span = item.span;
      range = file.RangeOf(span, context.encoding);
    }
    Json json = {
        {"label", item.label},
        {"kind", static_cast<int>(item.kind)},
        {"sortText", absl::StrFormat("%04d", i)},
        {"filterText", item.label},
        {"textEdit", {{"range", ToJson(range)}, {"newText", item.text}}}};
    if (!item.detail.empty()) json["detail"] = item.detail;
    if (!item.doc.empty()) json["documentation"] = Markdown(item.doc);
    if (item.snippet) json["insertTextFormat"] = kSnippet;
    list.push_back(std::move(json));
  }
  // Names of targets may be on their way.
  return {{"isIncomplete", context.known.list.empty()},
          {"items", std::move(list)}};
}

Json Hover(OpenFile& file, const Json& params, const AnswerContext& context) {
  const std::optional<size_t> offset = OffsetAt(file, params, context);
  if (!offset.has_value() || file.kind() == nullptr) return nullptr;
  const std::optional<HoverText> hover =
      HoverAt(file.text(), file.syntax(), *offset, *file.kind(), context.schema,
              context.known);
  if (!hover.has_value()) return nullptr;
  return {{"contents", Markdown(hover->markdown)},
          {"range", ToJson(file.RangeOf(hover->span, context.encoding))}};
}

Json CodeActions(OpenFile& file, const Json& params,
                 const AnswerContext& context) {
  Json actions = Json::array();
  const std::optional<Range> range = RangeAt(params, "range");
  if (!range.has_value()) return actions;
  const LineIndex& lines = file.document().lines();
  const Span asked{lines.OffsetOf(file.text(), range->start, context.encoding),
                   lines.OffsetOf(file.text(), range->end, context.encoding)};
  for (const Problem& problem : ProblemsOf(file)) {
    if (!Meet(problem.span, asked)) continue;
    for (const QuickFix& fix : problem.fixes) {
      const Json edit = TextEdit(file, fix.span, fix.text, context.encoding);
      actions.push_back(
          {{"title", fix.title},
           {"kind", "quickfix"},
           {"isPreferred", problem.fixes.size() == 1},
           {"diagnostics",
            Json::array({DiagnosticOf(file, problem, context.encoding)})},
           {"edit", {{"changes", {{file.uri(), Json::array({edit})}}}}}});
    }
  }
  return actions;
}

Json DocumentSymbols(OpenFile& file, const AnswerContext& context) {
  Json list = Json::array();
  if (file.kind() == nullptr) return list;
  int left = kMaxSymbols;
  for (const Symbol& symbol : SymbolsOf(file.text(), file.syntax())) {
    if (--left < 0) break;
    list.push_back(SymbolJson(file, symbol, context.encoding, left));
  }
  return list;
}

Json CodeLenses(OpenFile& file, const AnswerContext& context) {
  Json lenses = Json::array();
  const std::string title = FiguresText(file);
  if (title.empty() || !file.is_target()) return lenses;
  lenses.push_back(
      {{"range", ToJson(file.RangeOf(HeadOf(file), context.encoding))},
       {"command", {{"title", title}, {"command", ""}}}});
  return lenses;
}

}  // namespace edgekiln::client::lsp
