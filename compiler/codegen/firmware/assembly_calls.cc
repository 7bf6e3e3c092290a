#include "compiler/codegen/firmware/assembly_calls.h"

#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/codegen/firmware/stack_frames.h"

namespace edgekiln::compiler {
namespace {

constexpr int kReturnAddressBytes = 8;

// Up to a comment and without space around it.
absl::string_view Code(absl::string_view line) {
  return absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
}

// call, callq, jmp, jmpq, and jumps on conditions.
bool IsJump(absl::string_view mnemonic) {
  return absl::StartsWith(mnemonic, "call") || absl::StartsWith(mnemonic, "j");
}

// Labels of the same function.
bool IsLocalLabel(absl::string_view name) {
  return absl::StartsWith(name, ".L");
}

struct Assembly {
  std::set<std::string, std::less<>> functions;  // That it defines.
  std::set<std::string, std::less<>> globals;
  std::vector<CallEdge> calls;  // By their own names.
};

absl::StatusOr<Assembly> Read(absl::string_view text) {
  Assembly assembly;
  std::string current;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const absl::string_view code = Code(line);
    if (code.empty()) continue;
    const std::vector<absl::string_view> words =
        absl::StrSplit(code, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    if (words[0] == ".globl" && words.size() > 1) {
      assembly.globals.emplace(words[1]);
    } else if (words[0] == ".type" && absl::EndsWith(code, ",@function")) {
      const absl::string_view names = words[1];
      assembly.functions.emplace(names.substr(0, names.find(',')));
    } else if (absl::EndsWith(code, ":")) {
      const absl::string_view label = absl::StripSuffix(code, ":");
      if (assembly.functions.contains(label)) current = std::string(label);
    } else if (IsJump(words[0])) {
      if (current.empty() || words.size() < 2) {
        return MakeError(absl::StatusCode::kInvalidArgument,
                         {.reason = "ASSEMBLY_MALFORMED",
                          .what = "a jump of no function, or to nothing",
                          .where = absl::StrCat("line '", line, "'")});
      }
      if (IsLocalLabel(words[1])) continue;
      assembly.calls.push_back(
          {current, absl::StartsWith(words[1], "*")
                        ? kByPointer
                        : std::string(absl::StripSuffix(words[1], "@PLT"))});
    }
  }
  return assembly;
}

}  // namespace

absl::StatusOr<std::string> AssemblyCallGraph(absl::string_view assembly,
                                              absl::string_view stack_usage) {
  EK_ASSIGN_OR_RETURN(const StackFrames frames, ReadStackFrames(stack_usage));
  EK_ASSIGN_OR_RETURN(Assembly read, Read(assembly));
  const auto title = [&](const std::string& name) {
    const bool is_static =
        read.functions.contains(name) && !read.globals.contains(name);
    return is_static ? absl::StrCat(frames.file, ":", name) : name;
  };
  FramesByTitle functions;
  for (const std::string& name : read.functions) {
    functions[title(name)] = frames.Find(name);
  }
  for (CallEdge& call : read.calls) {
    call = {title(call.from), title(call.to)};
  }
  return CallGraphText(functions, read.calls, kReturnAddressBytes);
}

}  // namespace edgekiln::compiler
