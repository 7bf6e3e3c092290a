#include "compiler/ir/attribute_text.h"

#include <limits>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace edgekiln::compiler {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::string PrintMessage(const Message& message);

// `index` is -1 for a field that does not repeat.
std::string PrintValue(const Message& message, const FieldDescriptor& field,
                       int index) {
  const Reflection& reflection = *message.GetReflection();
  const bool repeated = index >= 0;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return absl::StrCat(
          repeated ? reflection.GetRepeatedInt32(message, &field, index)
                   : reflection.GetInt32(message, &field));
    case FieldDescriptor::CPPTYPE_INT64:
      return absl::StrCat(
          repeated ? reflection.GetRepeatedInt64(message, &field, index)
                   : reflection.GetInt64(message, &field));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return RealText(repeated
                          ? reflection.GetRepeatedFloat(message, &field, index)
                          : reflection.GetFloat(message, &field));
    case FieldDescriptor::CPPTYPE_BOOL:
      return (repeated ? reflection.GetRepeatedBool(message, &field, index)
                       : reflection.GetBool(message, &field))
                 ? "true"
                 : "false";
    case FieldDescriptor::CPPTYPE_ENUM: {
      const int number =
          repeated ? reflection.GetRepeatedEnumValue(message, &field, index)
                   : reflection.GetEnumValue(message, &field);
      const google::protobuf::EnumValueDescriptor* value =
          field.enum_type()->FindValueByNumber(number);
      return value == nullptr ? absl::StrCat(number) : value->name();
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return PrintMessage(
          repeated ? reflection.GetRepeatedMessage(message, &field, index)
                   : reflection.GetMessage(message, &field));
    default:
      // A field of a new kind in graph.proto needs a case here and below.
      return "?";
  }
}

// Whether the field is one of several ops. A oneof of one field says whether
// the field is set, and nothing else.
bool IsChoice(const FieldDescriptor& field) {
  return field.containing_oneof() != nullptr &&
         field.containing_oneof()->field_count() > 1;
}

// What is set of a message, but for its choice.
void AppendFields(const Message& message, std::vector<std::string>& parts) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (IsChoice(*field)) continue;
    if (!field->is_repeated()) {
      parts.push_back(
          absl::StrCat(field->name(), " ", PrintValue(message, *field, -1)));
      continue;
    }
    const int count = message.GetReflection()->FieldSize(message, field);
    std::vector<std::string> values;
    values.reserve(count);
    for (int i = 0; i < count; ++i) {
      values.push_back(PrintValue(message, *field, i));
    }
    parts.push_back(
        absl::StrCat(field->name(), " [", absl::StrJoin(values, ", "), "]"));
  }
}

std::string PrintMessage(const Message& message) {
  std::vector<std::string> parts;
  AppendFields(message, parts);
  return absl::StrCat("{", absl::StrJoin(parts, " "), "}");
}

absl::Status ParseMessage(TextScanner& scanner, Message& message,
                          Message* around = nullptr);

absl::StatusOr<bool> ParseBool(TextScanner& scanner) {
  if (scanner.TakeWord("true")) return true;
  if (scanner.TakeWord("false")) return false;
  return scanner.Error("true or false expected");
}

// A value by its name, or by the number of one that has no name.
absl::StatusOr<int> ParseEnum(TextScanner& scanner,
                              const google::protobuf::EnumDescriptor& type) {
  EK_ASSIGN_OR_RETURN(const absl::string_view word, scanner.Word());
  const google::protobuf::EnumValueDescriptor* value =
      type.FindValueByName(std::string(word));
  if (value != nullptr) return value->number();
  int number = 0;
  if (absl::SimpleAtoi(word, &number)) return number;
  return scanner.Error(
      absl::StrCat("unknown value '", std::string(word), "' of ", type.name()));
}

absl::Status ParseValue(TextScanner& scanner, const FieldDescriptor& field,
                        Message& message) {
  const Reflection& reflection = *message.GetReflection();
  const bool repeated = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: {
      EK_ASSIGN_OR_RETURN(const int64_t value,
                          scanner.Int(std::numeric_limits<int32_t>::min(),
                                      std::numeric_limits<int32_t>::max()));
      const auto narrow = static_cast<int32_t>(value);
      repeated ? reflection.AddInt32(&message, &field, narrow)
               : reflection.SetInt32(&message, &field, narrow);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_INT64: {
      EK_ASSIGN_OR_RETURN(const int64_t value,
                          scanner.Int(std::numeric_limits<int64_t>::min(),
                                      std::numeric_limits<int64_t>::max()));
      repeated ? reflection.AddInt64(&message, &field, value)
               : reflection.SetInt64(&message, &field, value);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_FLOAT: {
      EK_ASSIGN_OR_RETURN(const float value, scanner.Float());
      repeated ? reflection.AddFloat(&message, &field, value)
               : reflection.SetFloat(&message, &field, value);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_BOOL: {
      EK_ASSIGN_OR_RETURN(const bool value, ParseBool(scanner));
      repeated ? reflection.AddBool(&message, &field, value)
               : reflection.SetBool(&message, &field, value);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_ENUM: {
      EK_ASSIGN_OR_RETURN(const int value,
                          ParseEnum(scanner, *field.enum_type()));
      repeated ? reflection.AddEnumValue(&message, &field, value)
               : reflection.SetEnumValue(&message, &field, value);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return ParseMessage(
          scanner, repeated ? *reflection.AddMessage(&message, &field)
                            : *reflection.MutableMessage(&message, &field));
    default:
      return scanner.Error("field of a kind that the text form lacks");
  }
}

absl::Status ParseField(TextScanner& scanner, const FieldDescriptor& field,
                        Message& message) {
  if (!field.is_repeated()) return ParseValue(scanner, field, message);
  EK_RETURN_IF_ERROR(scanner.Expect('['));
  if (scanner.Take(']')) return absl::OkStatus();
  do {
    EK_RETURN_IF_ERROR(ParseValue(scanner, field, message));
  } while (scanner.Take(','));
  return scanner.Expect(']');
}

// The field of that name which the text form has; null if there is none.
const FieldDescriptor* FindField(const Message& message, std::string name) {
  const FieldDescriptor* field =
      message.GetDescriptor()->FindFieldByName(std::move(name));
  return field != nullptr && IsChoice(*field) ? nullptr : field;
}

// Fields that `message` lacks are those of `around`. Nesting is bounded by the
// message types, not by the text.
absl::Status ParseMessage(TextScanner& scanner, Message& message,
                          Message* around) {
  EK_RETURN_IF_ERROR(scanner.Expect('{'));
  std::vector<const FieldDescriptor*> seen;
  while (!scanner.Take('}')) {
    EK_ASSIGN_OR_RETURN(const absl::string_view word, scanner.Word());
    Message* target = &message;
    const FieldDescriptor* field = FindField(message, std::string(word));
    if (field == nullptr && around != nullptr) {
      target = around;
      field = FindField(*around, std::string(word));
    }
    if (field == nullptr) {
      return scanner.Error(absl::StrCat("unknown field '", word, "' of ",
                                        message.GetDescriptor()->name()));
    }
    for (const FieldDescriptor* other : seen) {
      if (other == field) return scanner.Error("field given twice");
    }
    seen.push_back(field);
    EK_RETURN_IF_ERROR(ParseField(scanner, *field, *target));
  }
  return absl::OkStatus();
}

}  // namespace

std::string PrintAttributes(const v1::OpAttributes& attributes) {
  if (attributes.op_case() == v1::OpAttributes::OP_NOT_SET) return "";
  const FieldDescriptor* field =
      v1::OpAttributes::descriptor()->FindFieldByNumber(attributes.op_case());
  std::vector<std::string> parts;
  AppendFields(v1::OpAttributes::GetReflection()->GetMessage(attributes, field),
               parts);
  AppendFields(attributes, parts);
  return parts.empty() ? ""
                       : absl::StrCat(" {", absl::StrJoin(parts, " "), "}");
}

absl::Status ParseAttributes(absl::string_view kind, TextScanner& scanner,
                             v1::OpAttributes& attributes) {
  const FieldDescriptor* field =
      v1::OpAttributes::descriptor()->FindFieldByName(std::string(kind));
  if (field == nullptr || !IsChoice(*field)) {
    return scanner.Error(absl::StrCat("unknown op '", kind, "'"));
  }
  Message& message =
      *v1::OpAttributes::GetReflection()->MutableMessage(&attributes, field);
  if (!scanner.NextIs('{')) return absl::OkStatus();
  return ParseMessage(scanner, message, &attributes);
}

}  // namespace edgekiln::compiler
