#ifndef EK_TESTS_SUPPORT_MESSAGE_KEYS_H_
#define EK_TESTS_SUPPORT_MESSAGE_KEYS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace edgekiln::tests {

// For every key in `part` and below: drops it, calls `check` with its path as
// in "engines.isa.commands.opcode", and puts it back. Of lists, all entries at
// once. What Any holds is not the schema's.
template <typename Check>
void ForKeys(google::protobuf::Message* part, const std::string& path,
             const Check& check) {
  const auto* reflection = part->GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection->ListFields(*part, &fields);
  for (const auto* field : fields) {
    const std::string key = absl::StrCat(path, field->name());
    if (field->cpp_type() ==
            google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE &&
        field->message_type()->full_name() != "google.protobuf.Any") {
      const bool list = field->is_repeated();
      const int entries = list ? reflection->FieldSize(*part, field) : 1;
      for (int i = 0; i < entries; ++i) {
        ForKeys(list ? reflection->MutableRepeatedMessage(part, field, i)
                     : reflection->MutableMessage(part, field),
                absl::StrCat(key, "."), check);
      }
    }
    const std::unique_ptr<google::protobuf::Message> kept(part->New());
    kept->CopyFrom(*part);
    reflection->ClearField(part, field);
    check(key);
    part->CopyFrom(*kept);
  }
}

}  // namespace edgekiln::tests

#endif  // EK_TESTS_SUPPORT_MESSAGE_KEYS_H_
