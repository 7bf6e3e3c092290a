#ifndef EK_CLIENT_TEXT_MESSAGE_H_
#define EK_CLIENT_TEXT_MESSAGE_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"

namespace edgekiln::client {

// What a file in text form is, for messages.
struct TextFormat {
  std::string what;    // "sweep".
  std::string schema;  // Where all keys are.
  size_t max_bytes = size_t{1} << 20;
};

// Reads `message` from its text form. The schema is closed: an unknown key is
// an error that names line, key and the nearest known one. `path`: for
// messages. `places`, unless null, gets where each field stands. A usage error.
absl::Status ParseTextMessage(
    absl::string_view text, const std::string& path, const TextFormat& format,
    google::protobuf::Message& message,
    google::protobuf::TextFormat::ParseInfoTree* places = nullptr);

// What strings of messages must be.
bool IsUtf8(const std::string& text);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_TEXT_MESSAGE_H_
