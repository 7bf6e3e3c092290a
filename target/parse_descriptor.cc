#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/error.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "target/nearest_name.h"
#include "target/resolve.h"

namespace edgekiln::target {
namespace {

constexpr int kMaxNesting = 16;

// Whether protobuf carries it as a string. Lines may end and be indented.
bool IsUtf8(std::string text) {
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; },
      ' ');
  return SanitizeText(text, static_cast<int>(text.size())) == text;
}

// Keeps the first error; later ones are usually its echo.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  // The column would be that of the token after the offending one.
  void AddError(int line, google::protobuf::io::ColumnNumber /*column*/,
                const std::string& message) override {
    if (found_) return;
    found_ = true;
    line_ = line;
    message_ = message;
  }

  // From 1. Protobuf says -1 for the file as a whole.
  std::string where() const {
    return line_ < 0 ? "the file" : absl::StrCat("line ", line_ + 1);
  }
  const std::string& message() const { return message_; }

 private:
  bool found_ = false;
  int line_ = -1;
  std::string message_ = "not a target descriptor in text form";
};

// Protobuf's message for an unknown key quotes first the message type, then the
// key. Anything else gives nothing.
struct UnknownKey {
  std::string type;
  std::string key;
};
std::optional<UnknownKey> AsUnknownKey(const std::string& message) {
  const std::vector<std::string> parts = absl::StrSplit(message, '"');
  if (parts.size() < 4 ||
      parts[2].find("has no field named") == std::string::npos) {
    return std::nullopt;
  }
  return UnknownKey{parts[1], parts[3]};
}

// The values of the enumeration that key `field` has in a message of the schema
// at or below `type`; empty if there is none.
std::vector<std::string> EnumValues(
    const google::protobuf::Descriptor* type, const std::string& field,
    std::set<const google::protobuf::Descriptor*>& visited) {
  if (!visited.insert(type).second) return {};
  const auto* const found = type->FindFieldByName(field);
  if (found != nullptr && found->enum_type() != nullptr) {
    std::vector<std::string> names;
    for (int i = 0; i < found->enum_type()->value_count(); ++i) {
      const std::string& name = found->enum_type()->value(i)->name();
      if (!absl::EndsWith(name, "_UNSPECIFIED")) names.push_back(name);
    }
    return names;
  }
  for (int i = 0; i < type->field_count(); ++i) {
    const auto* const inner = type->field(i)->message_type();
    if (inner == nullptr) continue;
    std::vector<std::string> names = EnumValues(inner, field, visited);
    if (!names.empty()) return names;
  }
  return {};
}

// The fix for protobuf's message of an unknown value: it quotes first the
// value, then the key. Empty for any other message.
std::string FixOfUnknownValue(const std::string& message) {
  const std::vector<std::string> parts = absl::StrSplit(message, '"');
  if (parts.size() < 4 || parts[0] != "Unknown enumeration value of ") {
    return "";
  }
  std::set<const google::protobuf::Descriptor*> visited;
  const std::vector<std::string> values =
      EnumValues(v1::TargetDescriptor::descriptor(), parts[3], visited);
  if (values.empty()) return "";
  return absl::StrCat(parts[3], ": ", absl::StrJoin(values, ", "));
}

// Nearly all files: a text of them can only be ASCII.
bool HasOnlyPlainTexts(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x80 && c != '\\';
  });
}

// The first string in the message that is not UTF-8, as "memories.name"; empty
// if there is none. The text form does not look: "\377" is a string to it.
std::string FindBadText(const google::protobuf::Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const auto* field : fields) {
    const int count =
        field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (field->type() == google::protobuf::FieldDescriptor::TYPE_STRING) {
        const std::string text =
            field->is_repeated()
                ? reflection.GetRepeatedString(message, field, i)
                : reflection.GetString(message, field);
        if (!IsUtf8(text)) return field->name();
      } else if (field->cpp_type() ==
                 google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) {
        const std::string bad =
            FindBadText(field->is_repeated()
                            ? reflection.GetRepeatedMessage(message, field, i)
                            : reflection.GetMessage(message, field));
        if (!bad.empty()) return absl::StrCat(field->name(), ".", bad);
      }
    }
  }
  return "";
}

absl::Status ParseError(const FirstError& error) {
  ErrorDetail detail{.reason = "TARGET_INVALID",
                     .what = error.message(),
                     .where = error.where(),
                     .fix = "see `edgekiln targets show dla` for the schema"};
  const std::string values = FixOfUnknownValue(error.message());
  if (!values.empty()) detail.fix = values;
  const auto unknown = AsUnknownKey(error.message());
  const google::protobuf::Descriptor* type =
      unknown ? v1::TargetDescriptor::descriptor()
                    ->file()
                    ->pool()
                    ->FindMessageTypeByName(unknown->type)
              : nullptr;
  if (type != nullptr) {
    std::vector<std::string> known;
    known.reserve(type->field_count());
    for (int i = 0; i < type->field_count(); ++i) {
      known.push_back(type->field(i)->name());
    }
    detail.what =
        absl::StrCat("unknown key \"", unknown->key, "\" in ", type->name());
    detail.fix = DidYouMean(unknown->key, known, detail.fix);
  }
  return MakeError(absl::StatusCode::kInvalidArgument, std::move(detail));
}

}  // namespace

absl::StatusOr<v1::TargetDescriptor> ParseDescriptor(absl::string_view text) {
  if (text.size() > kMaxDescriptorBytes) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     {.reason = "TARGET_INVALID",
                      .what = "the target file is too large",
                      .where = "the file",
                      .limit = absl::StrCat(kMaxDescriptorBytes, " bytes"),
                      .need = absl::StrCat(text.size(), " bytes"),
                      .fix = "shorten it; `extends` and `set` say the same in "
                             "a few lines"});
  }
  v1::TargetDescriptor descriptor;
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(kMaxNesting);
  if (!parser.ParseFromString(std::string(text), &descriptor)) {
    return ParseError(error);
  }
  if (HasOnlyPlainTexts(text)) return descriptor;
  if (const std::string bad = FindBadText(descriptor); !bad.empty()) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     {.reason = "TARGET_INVALID",
                      .what = "a text is not UTF-8",
                      .where = bad,
                      .need = "UTF-8",
                      .fix = "save the file as UTF-8, or write the text in "
                             "ASCII"});
  }
  return descriptor;
}

}  // namespace edgekiln::target
