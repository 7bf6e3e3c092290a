#include "server/daemon/http/call_message.h"

#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "build/bazel/remote/execution/v2/remote_execution.pb.h"
#include "edgekiln/v1/daemon.pb.h"
#include "edgekiln/v1/jobs.pb.h"
#include "google/protobuf/stubs/common.h"
#include "google/protobuf/util/json_util.h"
#include "server/daemon/http/json_shape.h"

namespace edgekiln::server {
namespace {

namespace reapi = build::bazel::remote::execution::v2;

using google::protobuf::Descriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MethodDescriptor;

constexpr int kMaxTextBytes = 256;

absl::Status BadRequest(std::string what, std::string where, std::string fix) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "BAD_REQUEST",
                    .what = std::move(what),
                    .where = std::move(where),
                    .fix = std::move(fix)});
}

absl::Status BadValue(const FieldDescriptor& field, const std::string& value) {
  return BadRequest(absl::StrCat("expected ", field.cpp_type_name(), ", got \"",
                                 SanitizeText(value, kMaxTextBytes), "\""),
                    std::string(field.name()), "write a value of that type");
}

// "model-explorer" to "MODEL_EXPLORER".
std::string EnumName(absl::string_view value) {
  return absl::AsciiStrToUpper(absl::StrReplaceAll(value, {{"-", "_"}}));
}

absl::Status SetField(const FieldDescriptor& field, const std::string& value,
                      Message& message) {
  const google::protobuf::Reflection& set = *message.GetReflection();
  int32_t i32 = 0;
  int64_t i64 = 0;
  uint32_t u32 = 0;
  uint64_t u64 = 0;
  bool flag = false;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      if (!google::protobuf::internal::IsStructurallyValidUTF8(value)) {
        return BadValue(field, value);
      }
      if (field.is_repeated()) {
        set.AddString(&message, &field, value);
      } else {
        set.SetString(&message, &field, value);
      }
      return absl::OkStatus();
    case FieldDescriptor::CPPTYPE_INT32:
      if (!absl::SimpleAtoi(value, &i32)) return BadValue(field, value);
      set.SetInt32(&message, &field, i32);
      return absl::OkStatus();
    case FieldDescriptor::CPPTYPE_INT64:
      if (!absl::SimpleAtoi(value, &i64)) return BadValue(field, value);
      set.SetInt64(&message, &field, i64);
      return absl::OkStatus();
    case FieldDescriptor::CPPTYPE_UINT32:
      if (!absl::SimpleAtoi(value, &u32)) return BadValue(field, value);
      set.SetUInt32(&message, &field, u32);
      return absl::OkStatus();
    case FieldDescriptor::CPPTYPE_UINT64:
      if (!absl::SimpleAtoi(value, &u64)) return BadValue(field, value);
      set.SetUInt64(&message, &field, u64);
      return absl::OkStatus();
    case FieldDescriptor::CPPTYPE_BOOL:
      if (!absl::SimpleAtob(value, &flag)) return BadValue(field, value);
      set.SetBool(&message, &field, flag);
      return absl::OkStatus();
    case FieldDescriptor::CPPTYPE_ENUM: {
      const EnumValueDescriptor* const named =
          field.enum_type()->FindValueByName(EnumName(value));
      if (named == nullptr) return BadValue(field, value);
      set.SetEnum(&message, &field, named);
      return absl::OkStatus();
    }
    default:
      return BadRequest("this field cannot be given in an address",
                        std::string(field.name()), "give it in the body");
  }
}

}  // namespace

const MethodDescriptor* MethodNamed(absl::string_view name) {
  // The linker leaves out messages that nobody mentions.
  google::protobuf::LinkMessageReflection<v1::GetJobRequest>();
  google::protobuf::LinkMessageReflection<v1::GetStatusRequest>();
  google::protobuf::LinkMessageReflection<reapi::FindMissingBlobsRequest>();
  return google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(
      std::string(name));
}

std::unique_ptr<Message> NewMessage(const Descriptor& type) {
  return std::unique_ptr<Message>(
      google::protobuf::MessageFactory::generated_factory()
          ->GetPrototype(&type)
          ->New());
}

absl::StatusOr<std::unique_ptr<Message>> MakeRequest(
    const MethodDescriptor& method, const HttpFields& fields,
    const std::string& body) {
  std::unique_ptr<Message> message = NewMessage(*method.input_type());
  if (!body.empty()) {
    EK_RETURN_IF_ERROR(CheckJsonShape(body));
    const auto parsed =
        google::protobuf::util::JsonStringToMessage(body, message.get());
    if (!parsed.ok()) {
      return BadRequest(
          SanitizeText(std::string(parsed.message()), kMaxTextBytes), "body",
          absl::StrCat("send a ", method.input_type()->full_name(),
                       " as JSON (docs/http.md)"));
    }
  }
  for (const auto& [name, value] : fields) {
    const FieldDescriptor* const field =
        method.input_type()->FindFieldByName(name);
    const bool list = field != nullptr && field->is_repeated() &&
                      field->cpp_type() != FieldDescriptor::CPPTYPE_STRING;
    if (field == nullptr || list) {
      return BadRequest(absl::StrCat("there is no parameter \"",
                                     SanitizeText(name, kMaxTextBytes), "\""),
                        std::string(method.full_name()),
                        absl::StrCat("see ", method.input_type()->full_name(),
                                     " in proto/edgekiln/v1"));
    }
    EK_RETURN_IF_ERROR(SetField(*field, value, *message));
  }
  return message;
}

std::string ToJson(const Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string json;
  const auto printed =
      google::protobuf::util::MessageToJsonString(message, &json, options);
  // Of our own messages only one with an Any of an unknown type fails.
  return printed.ok() ? json : "{}";
}

}  // namespace edgekiln::server
