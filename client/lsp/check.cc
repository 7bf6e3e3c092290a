#include "client/lsp/check.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/error.h"
#include "client/check/project.h"
#include "client/lsp/document.h"
#include "client/option_values.h"
#include "client/sweep_file.h"
#include "client/text_message.h"
#include "google/protobuf/message.h"

namespace edgekiln::client::lsp {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;

std::string Quoted(absl::string_view text) {
  constexpr size_t kMaxShown = 80;
  return absl::StrCat("\"", SanitizeText(std::string(text), kMaxShown), "\"");
}

// What the tree shows to be wrong. Protobuf's parser stops at its first error;
// people who paste a block want all of them.
class SchemaCheck {
 public:
  SchemaCheck(absl::string_view text, std::vector<Problem>& problems)
      : text_(text), problems_(problems) {}

  void CheckFields(const std::vector<Node>& fields, const Descriptor& type) {
    std::vector<const FieldDescriptor*> seen;
    for (const Node& node : fields) {
      if (problems_.size() >= kMaxProblems) return;
      if (node.name.In(text_).front() == '[') {
        CheckAny(node, type);
        continue;
      }
      const FieldDescriptor* const field =
          FieldNamed(&type, node.name.In(text_));
      if (field == nullptr) {
        AddUnknownKey(node, type);
        continue;
      }
      if (field->is_repeated()) {
        CheckValue(node, *field);
        continue;
      }
      if (Contains(seen, field)) {
        Add(node.name, "KEY_REPEATED",
            absl::StrCat("the key ", Quoted(field->name()),
                         " is given twice; keep one of them"));
      }
      seen.push_back(field);
      CheckValue(node, *field);
    }
  }

 private:
  static bool Contains(const std::vector<const FieldDescriptor*>& fields,
                       const FieldDescriptor* field) {
    return std::find(fields.begin(), fields.end(), field) != fields.end();
  }

  Problem& Add(Span span, std::string reason, std::string message) {
    problems_.push_back({.span = span,
                         .reason = std::move(reason),
                         .message = std::move(message)});
    return problems_.back();
  }

  // Names the candidate that was probably meant.
  void AddUnknown(Span span, const std::string& reason, std::string message,
                  const std::vector<std::string>& known) {
    const std::string word(span.In(text_));
    const std::string nearest = NearestOf(word, known);
    if (!nearest.empty()) {
      absl::StrAppend(&message, "; did you mean ", Quoted(nearest), "?");
    } else if (known.size() <= 12) {
      absl::StrAppend(&message, "; use one of ", absl::StrJoin(known, ", "));
    }
    Problem& problem = Add(span, reason, std::move(message));
    if (nearest.empty()) return;
    problem.fixes.push_back(
        {absl::StrCat("Change to ", Quoted(nearest)), span, nearest});
  }

  void AddUnknownKey(const Node& node, const Descriptor& type) {
    std::vector<std::string> known;
    for (int i = 0; i < type.field_count(); ++i) {
      known.push_back(type.field(i)->name());
    }
    AddUnknown(node.name, "UNKNOWN_KEY",
               absl::StrCat("unknown key ", Quoted(node.name.In(text_)), " in ",
                            type.name()),
               known);
  }

  void CheckAny(const Node& node, const Descriptor& parent) {
    const Descriptor* const type = TypeOf(text_, node, &parent);
    if (type == nullptr) {
      Add(node.name, "UNKNOWN_MESSAGE",
          absl::StrCat("unknown message ", Quoted(node.name.In(text_)),
                       "; write [type.googleapis.com/NAME.OF.MESSAGE]"));
      return;
    }
    CheckFields(node.fields, *type);
  }

  void CheckValue(const Node& node, const FieldDescriptor& field) {
    if (node.value.empty()) return;  // An error of the syntax.
    const bool is_message =
        field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (node.is_message != is_message) {
      Add(node.is_message ? node.name : node.value, "WRONG_TYPE",
          absl::StrCat(Quoted(field.name()),
                       is_message ? " takes a message in braces: "
                                  : " takes a value without braces: ",
                       TypeText(field)));
      return;
    }
    if (is_message) {
      CheckFields(node.fields, *field.message_type());
      return;
    }
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
      CheckEnum(node, *field.enum_type());
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      if (!node.is_string) {
        Problem& problem =
            Add(node.value, "WRONG_TYPE",
                absl::StrCat(Quoted(field.name()), " takes a string: write ",
                             Quoted(node.value.In(text_))));
        problem.fixes.push_back(
            {"Put it in quotes", node.value,
             absl::StrCat("\"", node.value.In(text_), "\"")});
      }
    } else if (node.is_string) {
      Problem& problem = Add(node.value, "WRONG_TYPE",
                             absl::StrCat(Quoted(field.name()), " takes ",
                                          field.type_name(), ", not a string"));
      problem.fixes.push_back(
          {"Remove the quotes", node.value, StringValue(text_, node)});
    } else {
      CheckNumber(node, field);
    }
  }

  void CheckEnum(const Node& node, const EnumDescriptor& type) {
    const std::string value(node.value.In(text_));
    int32_t number = 0;
    if (type.FindValueByName(value) != nullptr ||
        absl::SimpleAtoi(value, &number)) {
      return;
    }
    std::vector<std::string> known;
    // The first value is "unspecified": what leaving the key out means.
    const int first =
        absl::EndsWith(type.value(0)->name(), "_UNSPECIFIED") ? 1 : 0;
    for (int i = first; i < type.value_count(); ++i) {
      known.push_back(type.value(i)->name());
    }
    AddUnknown(
        node.value, "UNKNOWN_VALUE",
        absl::StrCat("unknown value ", Quoted(value), " of ", type.name()),
        known);
  }

  void CheckNumber(const Node& node, const FieldDescriptor& field) {
    const absl::string_view value = node.value.In(text_);
    const char first = value.front();
    const bool word = absl::ascii_isalpha(static_cast<unsigned char>(first));
    const bool is_bool = field.cpp_type() == FieldDescriptor::CPPTYPE_BOOL;
    if (is_bool) {
      for (const char* known :
           {"true", "false", "True", "False", "t", "f", "0", "1"}) {
        if (value == known) return;
      }
      AddUnknown(node.value, "WRONG_TYPE",
                 absl::StrCat(Quoted(field.name()), " takes true or false"),
                 {"true", "false"});
      return;
    }
    const bool real = field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE ||
                      field.cpp_type() == FieldDescriptor::CPPTYPE_FLOAT;
    if (real) return;  // "inf", "1e3": protobuf's word counts.
    const bool negative = first == '-';
    const bool is_unsigned =
        field.cpp_type() == FieldDescriptor::CPPTYPE_UINT32 ||
        field.cpp_type() == FieldDescriptor::CPPTYPE_UINT64;
    if (word || (negative && is_unsigned) || absl::StrContains(value, ".")) {
      Add(node.value, "WRONG_TYPE",
          absl::StrCat(Quoted(field.name()), " takes a whole number",
                       is_unsigned ? " of 0 or more" : "", ", not ",
                       Quoted(value)));
    }
  }

  const absl::string_view text_;
  std::vector<Problem>& problems_;
};

// "PATH:LINE:COLUMN", from 1; columns of protobuf count a tab as up to eight.
std::optional<Span> PlaceIn(absl::string_view text, const std::string& where) {
  const std::vector<std::string> parts = absl::StrSplit(where, ':');
  int line = 0;
  int column = 0;
  if (parts.size() < 3 || !absl::SimpleAtoi(parts.back(), &column) ||
      !absl::SimpleAtoi(parts[parts.size() - 2], &line)) {
    return std::nullopt;
  }
  const LineIndex lines(text);
  if (line < 1 || line > lines.lines()) return Span{text.size(), text.size()};
  const Span whole = lines.Line(text, line - 1);
  Span span{whole.begin, whole.begin};
  for (int at = 0; span.begin < whole.end && at < column - 1; ++span.begin) {
    at += text[span.begin] == '\t' ? 8 - at % 8 : 1;
  }
  span.end = span.begin;
  while (span.end < whole.end && !absl::ascii_isspace(text[span.end]) &&
         text[span.end] != ':') {
    ++span.end;
  }
  return span;
}

Problem FromParser(absl::string_view text, const absl::Status& status) {
  const ErrorDetail detail =
      GetErrorDetail(status).value_or(ErrorDetail{.what = "not readable"});
  Problem problem{.span = PlaceIn(text, detail.where).value_or(Span{}),
                  .reason = "SYNTAX",
                  .message = detail.what};
  if (!detail.fix.empty()) {
    absl::StrAppend(&problem.message, "; ", detail.fix);
  }
  return problem;
}

std::vector<Problem> AllProblems(absl::string_view text, const Syntax& syntax,
                                 const FileKind& kind) {
  std::vector<Problem> problems;
  for (const SyntaxError& error : syntax.errors) {
    problems.push_back(
        {.span = error.span, .reason = "SYNTAX", .message = error.what});
  }
  SchemaCheck(text, problems).CheckFields(syntax.fields, *kind.root);
  std::stable_sort(problems.begin(), problems.end(),
                   [](const Problem& a, const Problem& b) {
                     return a.span.begin < b.span.begin;
                   });
  // The parser's complaints that follow from one typing error come in a row.
  problems.erase(std::unique(problems.begin(), problems.end(),
                             [](const Problem& a, const Problem& b) {
                               return a.span == b.span &&
                                      a.message == b.message;
                             }),
                 problems.end());
  return problems;
}

// What commands refuse before they ask a daemon.
std::vector<Problem> FindUnmeant(absl::string_view text, const FileKind& kind) {
  absl::Status status;
  if (kind.what == "sweep") {
    status = ParseSweepFile(text, kind.what).status();
  } else if (kind.what == "project") {
    status = ParseProject(text, kind.what).status();
  }
  if (status.ok()) return {};
  Problem problem = FromParser(text, status);
  problem.reason = "UNUSABLE";
  return {std::move(problem)};
}

}  // namespace

std::vector<Problem> CheckText(absl::string_view text, const Syntax& syntax,
                               const FileKind& kind, const Schema& schema) {
  const std::unique_ptr<google::protobuf::Message> message =
      schema.NewMessage(kind);
  const absl::Status status = ParseTextMessage(text, kind.what,
                                               {.what = kind.what,
                                                .schema = kind.schema,
                                                .max_bytes = kMaxDocumentBytes},
                                               *message);
  if (status.ok()) return FindUnmeant(text, kind);
  if (absl::StartsWith(text, kByteOrderMark)) {
    const Span mark{0, sizeof(kByteOrderMark) - 1};
    return {{.span = mark,
             .reason = "BYTE_ORDER_MARK",
             .message = "the file begins with a byte-order mark; save it as "
                        "UTF-8 without one",
             .fixes = {{"Remove the byte-order mark", mark, ""}}}};
  }
  std::vector<Problem> problems = AllProblems(text, syntax, kind);
  if (problems.empty()) problems.push_back(FromParser(text, status));
  return problems;
}

}  // namespace edgekiln::client::lsp
