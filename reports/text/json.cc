#include "reports/text/json.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/timestamp.pb.h"

namespace edgekiln {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

enum class Form {
  kIndented,
  kCompact,  // No spaces; fields with their default value are left out.
};

template <typename Float>
std::string ShortestFloat(Float value) {
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  char buffer[64];
  // A limit of 100000 cycles is not written 1e+05.
  const bool whole = std::trunc(value) == value && std::abs(value) < 1e15;
  const std::to_chars_result end =
      whole ? std::to_chars(buffer, buffer + sizeof(buffer), value,
                            std::chars_format::fixed)
            : std::to_chars(buffer, buffer + sizeof(buffer), value);
  return std::string(buffer, end.ptr);
}

// protobuf has already refused strings that are not UTF-8.
std::string Quoted(absl::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
          absl::StrAppend(&out, absl::StrFormat("\\u%04x", c));
        } else {
          out += c;
        }
    }
  }
  return out + '"';
}

std::string Enum(const FieldDescriptor& field, int number) {
  const auto* value = field.enum_type()->FindValueByNumber(number);
  // A name from a newer daemon: its number is all we know.
  if (value == nullptr) return absl::StrCat(number);
  return Quoted(value->name());
}

std::string TimestampText(const Message& message) {
  google::protobuf::Timestamp stamp;
  stamp.CopyFrom(message);
  const absl::Time time =
      absl::FromUnixSeconds(stamp.seconds()) + absl::Nanoseconds(stamp.nanos());
  return Quoted(
      absl::FormatTime("%E4Y-%m-%dT%H:%M:%E*SZ", time, absl::UTCTimeZone()));
}

std::string DurationText(const Message& message) {
  google::protobuf::Duration duration;
  duration.CopyFrom(message);
  const double seconds = static_cast<double>(duration.seconds()) +
                         static_cast<double>(duration.nanos()) * 1e-9;
  return Quoted(absl::StrCat(ShortestFloat(seconds), "s"));
}

class Printer {
 public:
  // Without these fields of the outermost message.
  explicit Printer(std::set<std::string> without = {},
                   Form form = Form::kIndented)
      : without_(std::move(without)), form_(form) {}

  std::string Print(const Message& message) {
    out_.clear();
    PrintMessage(message, 0);
    return std::move(out_);
  }

 private:
  void PrintMessage(const Message& message, int depth) {
    const Descriptor& type = *message.GetDescriptor();
    if (type.full_name() == "google.protobuf.Timestamp") {
      out_ += TimestampText(message);
      return;
    }
    if (type.full_name() == "google.protobuf.Duration") {
      out_ += DurationText(message);
      return;
    }
    out_ += '{';
    bool first = true;
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& field = *type.field(i);
      if (IsLeftOut(message, field)) continue;
      if (depth == 0 && without_.contains(field.name())) continue;
      if (!first) out_ += ',';
      first = false;
      NewLine(depth + 1);
      absl::StrAppend(&out_, "\"", field.name(),
                      form_ == Form::kCompact ? "\":" : "\": ");
      if (field.is_repeated()) {
        PrintList(message, field, depth + 1);
      } else {
        PrintSingle(message, field, depth + 1);
      }
    }
    if (!first) NewLine(depth);
    out_ += '}';
  }

  bool IsLeftOut(const Message& message, const FieldDescriptor& field) const {
    const Reflection& reflection = *message.GetReflection();
    if (field.is_repeated()) {
      return form_ == Form::kCompact &&
             reflection.FieldSize(message, &field) == 0;
    }
    return (field.has_presence() || form_ == Form::kCompact) &&
           !reflection.HasField(message, &field);
  }

  void NewLine(int depth) {
    if (form_ == Form::kCompact) return;
    out_ += '\n';
    out_.append(2 * static_cast<size_t>(depth), ' ');
  }

  // Lists of messages go over many lines, lists of scalars stay on one.
  void PrintList(const Message& message, const FieldDescriptor& field,
                 int depth) {
    const Reflection& reflection = *message.GetReflection();
    const int size = reflection.FieldSize(message, &field);
    const bool tall = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    out_ += '[';
    for (int i = 0; i < size; ++i) {
      if (i > 0) out_ += tall || form_ == Form::kCompact ? "," : ", ";
      if (tall) {
        NewLine(depth + 1);
        PrintMessage(reflection.GetRepeatedMessage(message, &field, i),
                     depth + 1);
      } else {
        out_ += RepeatedScalar(message, field, i);
      }
    }
    if (tall && size > 0) NewLine(depth);
    out_ += ']';
  }

  void PrintSingle(const Message& message, const FieldDescriptor& field,
                   int depth) {
    const Reflection& reflection = *message.GetReflection();
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      PrintMessage(reflection.GetMessage(message, &field), depth);
    } else {
      out_ += SingleScalar(message, field);
    }
  }

  static std::string Text(const FieldDescriptor& field,
                          const std::string& value) {
    if (field.type() == FieldDescriptor::TYPE_BYTES) {
      return Quoted(absl::Base64Escape(value));
    }
    return Quoted(value);
  }

  static std::string SingleScalar(const Message& message,
                                  const FieldDescriptor& field) {
    const Reflection& r = *message.GetReflection();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return absl::StrCat(r.GetInt32(message, &field));
      case FieldDescriptor::CPPTYPE_INT64:
        return absl::StrCat(r.GetInt64(message, &field));
      case FieldDescriptor::CPPTYPE_UINT32:
        return absl::StrCat(r.GetUInt32(message, &field));
      case FieldDescriptor::CPPTYPE_UINT64:
        return absl::StrCat(r.GetUInt64(message, &field));
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return ShortestFloat(r.GetDouble(message, &field));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return ShortestFloat(r.GetFloat(message, &field));
      case FieldDescriptor::CPPTYPE_BOOL:
        return r.GetBool(message, &field) ? "true" : "false";
      case FieldDescriptor::CPPTYPE_ENUM:
        return Enum(field, r.GetEnumValue(message, &field));
      case FieldDescriptor::CPPTYPE_STRING:
        return Text(field, r.GetString(message, &field));
      case FieldDescriptor::CPPTYPE_MESSAGE:
        break;  // Handled by the callers.
    }
    return "null";
  }

  static std::string RepeatedScalar(const Message& message,
                                    const FieldDescriptor& field, int i) {
    const Reflection& r = *message.GetReflection();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return absl::StrCat(r.GetRepeatedInt32(message, &field, i));
      case FieldDescriptor::CPPTYPE_INT64:
        return absl::StrCat(r.GetRepeatedInt64(message, &field, i));
      case FieldDescriptor::CPPTYPE_UINT32:
        return absl::StrCat(r.GetRepeatedUInt32(message, &field, i));
      case FieldDescriptor::CPPTYPE_UINT64:
        return absl::StrCat(r.GetRepeatedUInt64(message, &field, i));
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return ShortestFloat(r.GetRepeatedDouble(message, &field, i));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return ShortestFloat(r.GetRepeatedFloat(message, &field, i));
      case FieldDescriptor::CPPTYPE_BOOL:
        return r.GetRepeatedBool(message, &field, i) ? "true" : "false";
      case FieldDescriptor::CPPTYPE_ENUM:
        return Enum(field, r.GetRepeatedEnumValue(message, &field, i));
      case FieldDescriptor::CPPTYPE_STRING:
        return Text(field, r.GetRepeatedString(message, &field, i));
      case FieldDescriptor::CPPTYPE_MESSAGE:
        break;  // Handled by the callers.
    }
    return "null";
  }

  const std::set<std::string> without_;
  const Form form_;
  std::string out_;
};

// `json` moved two columns to the right, except for its first line.
std::string Indented(absl::string_view json) {
  std::string out;
  for (const char c : json) {
    out += c;
    if (c == '\n') out += "  ";
  }
  return out;
}

// Line ends inside of strings are escaped: every other one, and the indentation
// behind it, is layout.
std::string OnOneLine(absl::string_view json) {
  std::string out;
  bool indentation = false;
  for (const char c : json) {
    indentation = c == '\n' || (indentation && c == ' ');
    if (!indentation) out += c;
  }
  return out + "\n";
}

}  // namespace

std::string ToJson(const Message& message,
                   const std::set<std::string>& without) {
  return Printer(without).Print(message) + "\n";
}

std::string ToJsonCompact(const Message& message) {
  return Printer({}, Form::kCompact).Print(message);
}

std::string JsonString(absl::string_view text) { return Quoted(text); }

std::string JsonStrings(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  quoted.reserve(texts.size());
  for (const std::string& text : texts) quoted.push_back(JsonString(text));
  return absl::StrCat("[", absl::StrJoin(quoted, ","), "]");
}

std::string JsonNumber(double value) { return ShortestFloat(value); }

std::string ToJsonLine(const Message& message) {
  return OnOneLine(ToJson(message));
}

std::string ToJsonLineWrapped(absl::string_view key, const Message& message) {
  return OnOneLine(ToJsonWrapped(key, message));
}

std::string ToJsonArray(const std::vector<const Message*>& messages,
                        const std::set<std::string>& without) {
  std::string out = "[";
  for (size_t i = 0; i < messages.size(); ++i) {
    absl::StrAppend(&out, i == 0 ? "\n  " : ",\n  ",
                    Indented(Printer(without).Print(*messages[i])));
  }
  return out + (messages.empty() ? "]\n" : "\n]\n");
}

std::string ToJsonWrapped(absl::string_view key, const Message& message) {
  return absl::StrCat("{\n  ", Quoted(key), ": ",
                      Indented(Printer().Print(message)), "\n}\n");
}

}  // namespace edgekiln
