#include "compiler/codegen/firmware/stack_bound.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/codegen/firmware/stack_frames.h"

namespace edgekiln::compiler {
namespace {

// Of one frame; more is no stack.
constexpr int64_t kMaxFrameBytes = int64_t{1} << 32;

struct Function {
  std::optional<int64_t> frame_bytes;
  std::set<std::string> callees;
};
// By gcc's titles: "name", of static functions "file:name".
using Functions = std::map<std::string, Function, std::less<>>;

absl::Status Malformed(absl::string_view line) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.reason = "CALL_GRAPH_MALFORMED",
                    .what = "malformed call graph",
                    .where = absl::StrCat("line '", line, "'")});
}

// What stands in quotes after `key`.
std::optional<absl::string_view> Quoted(absl::string_view line,
                                        absl::string_view key) {
  const std::string begin = absl::StrCat(key, ": \"");
  const size_t at = line.find(begin);
  if (at == absl::string_view::npos) return std::nullopt;
  const absl::string_view rest = line.substr(at + begin.size());
  const size_t end = rest.find('"');
  if (end == absl::string_view::npos) return std::nullopt;
  return rest.substr(0, end);
}

// The label of a function that was compiled has a part "16 bytes (static)".
std::optional<int64_t> FrameBytes(absl::string_view label) {
  for (const absl::string_view part : absl::StrSplit(label, "\\n")) {
    const size_t at = part.find(" bytes (");
    if (at == absl::string_view::npos) continue;
    const absl::string_view kind = part.substr(at);
    int64_t bytes = 0;
    const bool bounded =
        kind == " bytes (static)" || kind == " bytes (dynamic,bounded)";
    if (!bounded || !absl::SimpleAtoi(part.substr(0, at), &bytes) ||
        bytes < 0 || bytes > kMaxFrameBytes) {
      return std::nullopt;
    }
    return bytes;
  }
  return std::nullopt;
}

absl::Status ReadCallGraph(absl::string_view text, Functions& functions) {
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::StartsWith(line, "node: {")) {
      const auto title = Quoted(line, "title");
      const auto label = Quoted(line, "label");
      if (!title || !label) return Malformed(line);
      Function& function = functions[std::string(*title)];
      if (const auto bytes = FrameBytes(*label)) {
        function.frame_bytes =
            std::max(*bytes, function.frame_bytes.value_or(0));
      }
    } else if (absl::StartsWith(line, "edge: {")) {
      const auto from = Quoted(line, "sourcename");
      const auto to = Quoted(line, "targetname");
      if (!from || !to) return Malformed(line);
      functions[std::string(*from)].callees.emplace(*to);
      functions[std::string(*to)];
    } else if (!line.empty() && line != "}" &&
               !absl::StartsWith(line, "graph: {")) {
      return Malformed(line);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Functions> ReadAll(const std::vector<std::string>& graphs) {
  Functions functions;
  for (const std::string& text : graphs) {
    EK_RETURN_IF_ERROR(ReadCallGraph(text, functions));
  }
  return functions;
}

// The titles of functions of that C name.
std::vector<std::string> TitlesOf(absl::string_view name,
                                  const Functions& functions) {
  std::vector<std::string> titles;
  for (const auto& [title, function] : functions) {
    if (absl::string_view(title).substr(title.rfind(':') + 1) == name) {
      titles.push_back(title);
    }
  }
  // Nobody knows its size.
  if (titles.empty()) titles.emplace_back(name);
  return titles;
}

// Callees in place of the pointers of those whose callees are known.
void Resolve(const std::vector<PointerCall>& calls, Functions& functions) {
  std::map<absl::string_view, std::vector<std::string>> titles;
  const auto titles_of =
      [&](const std::string& name) -> const std::vector<std::string>& {
    const auto [found, is_new] = titles.try_emplace(name);
    if (is_new) found->second = TitlesOf(name, functions);
    return found->second;
  };
  std::set<std::string> resolved;
  std::vector<std::pair<std::string, std::string>> edges;
  for (const PointerCall& call : calls) {
    for (const std::string& caller : titles_of(call.caller)) {
      const auto function = functions.find(caller);
      if (function == functions.end() ||
          !function->second.callees.contains(kByPointer)) {
        continue;
      }
      resolved.insert(caller);
      for (const std::string& callee : titles_of(call.callee)) {
        edges.emplace_back(caller, callee);
      }
    }
  }
  for (const std::string& caller : resolved) {
    functions[caller].callees.erase(kByPointer);
  }
  for (const auto& [caller, callee] : edges) {
    functions[caller].callees.insert(callee);
    functions[callee];
  }
  const bool used =
      std::any_of(functions.begin(), functions.end(), [](const auto& function) {
        return function.second.callees.contains(kByPointer);
      });
  if (!used) functions.erase(kByPointer);
}

// Adds what is called of the library, and what that calls.
void AddCalled(const Functions& library, Functions& functions) {
  std::vector<std::string> open;
  for (const auto& [name, function] : functions) {
    if (!function.frame_bytes) open.push_back(name);
  }
  while (!open.empty()) {
    const std::string name = std::move(open.back());
    open.pop_back();
    const auto found = library.find(name);
    if (found == library.end()) continue;
    functions[name] = found->second;
    for (const std::string& callee : found->second.callees) {
      if (functions.try_emplace(callee).second) open.push_back(callee);
    }
  }
}

}  // namespace

std::string PointerCallsText(const std::vector<PointerCall>& calls) {
  std::string text;
  for (const PointerCall& call : calls) {
    absl::StrAppend(&text, call.caller, " ", call.callee, "\n");
  }
  return text;
}

absl::StatusOr<std::vector<PointerCall>> ParsePointerCalls(
    absl::string_view text) {
  std::vector<PointerCall> calls;
  for (const absl::string_view line :
       absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> names = absl::StrSplit(line, ' ');
    if (names.size() != 2 || names[0].empty() || names[1].empty()) {
      return Malformed(line);
    }
    calls.push_back({names[0], names[1]});
  }
  return calls;
}

absl::StatusOr<int64_t> BoundStack(
    const std::vector<std::string>& call_graphs,
    const std::vector<std::string>& libraries,
    const std::vector<PointerCall>& pointer_calls) {
  EK_ASSIGN_OR_RETURN(Functions functions, ReadAll(call_graphs));
  EK_ASSIGN_OR_RETURN(const Functions library, ReadAll(libraries));
  Resolve(pointer_calls, functions);
  AddCalled(library, functions);
  // From the callees to the callers, without recursing: a function is ready
  // once all it calls are. In a circle none ever is.
  std::map<absl::string_view, size_t> open_callees;
  std::map<absl::string_view, std::vector<absl::string_view>> callers;
  std::vector<absl::string_view> ready;
  for (const auto& [name, function] : functions) {
    if (!function.frame_bytes) return 0;
    open_callees[name] = function.callees.size();
    for (const std::string& callee : function.callees) {
      callers[callee].push_back(name);
    }
    if (function.callees.empty()) ready.emplace_back(name);
  }
  std::map<absl::string_view, int64_t> below;  // Of the callees.
  int64_t most = 0;
  size_t done = 0;
  for (; done < ready.size(); ++done) {
    const absl::string_view name = ready[done];
    const int64_t bytes =
        below[name] + *functions.find(name)->second.frame_bytes;
    most = std::max(most, bytes);
    for (const absl::string_view caller : callers[name]) {
      below[caller] = std::max(below[caller], bytes);
      if (--open_callees[caller] == 0) ready.push_back(caller);
    }
  }
  return done == functions.size() ? most : 0;
}

}  // namespace edgekiln::compiler
