#include "client/text_message.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/error.h"
#include "client/exit_code.h"
#include "client/option_values.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/text_format.h"

namespace edgekiln::client {
namespace {

// Messages within messages: our schemas have five at most.
constexpr int kMaxDepth = 16;

using google::protobuf::io::Tokenizer;

// From 1.
struct Place {
  int line = 0;
  int column = 0;
};

bool IsBefore(const Place& a, const Place& b) {
  return a.line != b.line ? a.line < b.line : a.column < b.column;
}

class FirstError final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (!message_.empty()) return;
    place_ = {line + 1, column + 1};
    message_ = message;
  }
  void AddWarning(int, int, const std::string&) override {}

  const Place& place() const { return place_; }
  const std::string& message() const { return message_; }

 private:
  Place place_;
  std::string message_;
};

// The tokens of a text, one after the other.
class Tokens {
 public:
  explicit Tokens(absl::string_view text)
      : stream_(text.data(), static_cast<int>(text.size())),
        tokenizer_(&stream_, &ignored_) {
    // As the parser of text messages does.
    tokenizer_.set_comment_style(Tokenizer::SH_COMMENT_STYLE);
    tokenizer_.set_allow_f_after_float(true);
    tokenizer_.set_require_space_after_number(false);
    tokenizer_.set_allow_multiline_strings(true);
  }

  bool Next() { return tokenizer_.Next(); }
  const Tokenizer::Token& token() { return tokenizer_.current(); }
  Place place() {
    return {tokenizer_.current().line + 1, tokenizer_.current().column + 1};
  }

 private:
  google::protobuf::io::ArrayInputStream stream_;
  FirstError ignored_;
  Tokenizer tokenizer_;
};

// Where what an error speaks of stands. The parser notices an unknown key or
// value when it has read it, and names the token behind it, which may be lines
// away.
Place PlaceOf(const FirstError& error, absl::string_view text) {
  Place before = error.place();
  std::string word;
  for (Tokens tokens(text); tokens.Next();) {
    if (!IsBefore(tokens.place(), error.place())) break;
    before = tokens.place();
    word = tokens.token().text;
  }
  const bool of_value =
      absl::StartsWith(error.message(), "Unknown enumeration value") ||
      absl::StartsWith(error.message(), "Invalid value for boolean");
  const bool named =
      absl::StrContains(error.message(), absl::StrCat("\"", word, "\""));
  return of_value || named ? before : error.place();
}

// The first string that no message can carry; absent: all can be.
std::optional<Place> FindBadString(absl::string_view text) {
  Place place;
  std::string whole;  // Strings behind each other are one.
  for (Tokens tokens(text); tokens.Next();) {
    if (tokens.token().type == Tokenizer::TYPE_STRING) {
      if (whole.empty()) place = tokens.place();
      Tokenizer::ParseStringAppend(tokens.token().text, &whole);
      continue;
    }
    if (!IsUtf8(whole)) return place;
    whole.clear();
  }
  if (!IsUtf8(whole)) return place;
  return std::nullopt;
}

std::string Located(const std::string& path, const Place& place) {
  return absl::StrCat(path, ":", place.line, ":", place.column);
}

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

bool IsUtf8(const std::string& text) {
  // Of the same length, with '?' also for control characters, which are UTF-8.
  const std::string clean = SanitizeText(text, static_cast<int>(text.size()));
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != clean[i] && static_cast<uint8_t>(text[i]) >= 0x80) {
      return false;
    }
  }
  return true;
}

absl::Status ParseTextMessage(
    absl::string_view text, const std::string& path, const TextFormat& format,
    google::protobuf::Message& message,
    google::protobuf::TextFormat::ParseInfoTree* places) {
  if (text.size() > format.max_bytes) {
    return UsageError(
        absl::StrCat("the file is too large for a ", format.what), path,
        absl::StrCat("at most ", format.max_bytes, " bytes"), "split it");
  }
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(kMaxDepth);
  if (places != nullptr) parser.WriteLocationsTo(places);
  if (!parser.ParseFromString(std::string(text), &message)) {
    const Descriptor& root = *message.GetDescriptor();
    return UsageError(
        absl::StrCat("the file is not a ", format.what, ": ", error.message()),
        Located(path, PlaceOf(error, text)),
        absl::StrCat("a ", root.name(), " in text form"),
        FixFor(error.message(), root, format));
  }
  const std::optional<Place> bad = FindBadString(text);
  if (!bad.has_value()) return absl::OkStatus();
  return UsageError("a string of the file is not UTF-8", Located(path, *bad),
                    "UTF-8",
                    "write names as `edgekiln inspect` shows them, or * for "
                    "what it cannot show");
}

}  // namespace edgekiln::client
