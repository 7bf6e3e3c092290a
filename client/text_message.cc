#include "client/text_message.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/exit_code.h"
#include "client/option_values.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"

namespace edgekiln::client {
namespace {

// Messages within messages: our schemas have five at most.
constexpr int kMaxDepth = 16;

class FirstError final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (!message_.empty()) return;
    line_ = line + 1;
    column_ = column + 1;
    message_ = message;
  }
  void AddWarning(int, int, const std::string&) override {}

  int line() const { return line_; }
  int column() const { return column_; }
  const std::string& message() const { return message_; }

 private:
  int line_ = 0;
  int column_ = 0;
  std::string message_;
};

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;

// The enum of the first field called `name`, in `type` or a message within it;
// null if there is none.
const EnumDescriptor* EnumOf(const Descriptor& type, const std::string& name,
                             int depth = 0) {
  if (depth > kMaxDepth) return nullptr;
  for (int i = 0; i < type.field_count(); ++i) {
    const auto* const field = type.field(i);
    if (field->name() == name && field->enum_type() != nullptr) {
      return field->enum_type();
    }
    if (field->message_type() == nullptr) continue;
    const auto* const found = EnumOf(*field->message_type(), name, depth + 1);
    if (found != nullptr) return found;
  }
  return nullptr;
}

// Of `Message type "T" has no field named "F".` the fields of T, of `Unknown
// enumeration value of "V" for field "F".` the values of F; `root` is what is
// read. Empty for other messages. `word`: F or V.
std::vector<std::string> Candidates(const std::string& message,
                                    const Descriptor& root, std::string& word) {
  std::vector<std::string> names;
  const std::vector<std::string> parts = absl::StrSplit(message, '"');
  if (parts.size() < 4) return names;
  if (absl::StrContains(parts[2], "has no field named")) {
    const Descriptor* const type =
        root.file()->pool()->FindMessageTypeByName(parts[1]);
    for (int i = 0; type != nullptr && i < type->field_count(); ++i) {
      names.emplace_back(type->field(i)->name());
    }
    word = parts[3];
  } else if (absl::StartsWith(message, "Unknown enumeration value")) {
    const EnumDescriptor* const type = EnumOf(root, parts[3]);
    // The first value is "unspecified": what leaving the key out means.
    for (int i = 1; type != nullptr && i < type->value_count(); ++i) {
      names.emplace_back(type->value(i)->name());
    }
    word = parts[1];
  }
  return names;
}

std::string FixFor(const std::string& message, const Descriptor& root,
                   const TextFormat& format) {
  std::string word;
  const std::vector<std::string> names = Candidates(message, root, word);
  const std::string nearest = NearestOf(word, names);
  if (!nearest.empty()) return absl::StrCat("did you mean \"", nearest, "\"?");
  if (!names.empty() && absl::StartsWith(message, "Unknown enumeration")) {
    return absl::StrCat("use one of ", absl::StrJoin(names, ", "));
  }
  return absl::StrCat(format.schema, " has all keys");
}

}  // namespace

absl::Status ParseTextMessage(absl::string_view text, const std::string& path,
                              const TextFormat& format,
                              google::protobuf::Message& message) {
  if (text.size() > format.max_bytes) {
    return UsageError(
        absl::StrCat("the file is too large for a ", format.what), path,
        absl::StrCat("at most ", format.max_bytes, " bytes"), "split it");
  }
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(kMaxDepth);
  if (parser.ParseFromString(std::string(text), &message)) {
    return absl::OkStatus();
  }
  const Descriptor& root = *message.GetDescriptor();
  return UsageError(
      absl::StrCat("the file is not a ", format.what, ": ", error.message()),
      absl::StrCat(path, ":", error.line(), ":", error.column()),
      absl::StrCat("a ", root.name(), " in text form"),
      FixFor(error.message(), root, format));
}

}  // namespace edgekiln::client
