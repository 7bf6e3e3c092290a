#ifndef EK_REPORTS_TEXT_JSON_H_
#define EK_REPORTS_TEXT_JSON_H_

// Protobuf messages as JSON for `jq` and for programs. Differs from protobuf's
// own mapping where that is inconvenient: names are the proto field names,
// 64-bit integers are numbers (protobuf quotes them), every primitive and
// repeated field is printed even when it is zero or empty. The same message
// gives the same text: fields in the order of the .proto file, doubles in the
// shortest form that reads back equal.
//
// Absent message fields, unset `optional` fields and unset oneofs are left out.
// Enums are names. Timestamp and Duration are strings ("2026-01-31T12:00:00Z",
// "1.5s"), bytes are base64, infinities and NaN are the strings protobuf uses.
// Map fields do not occur in our API and are printed as lists of entries.

#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace edgekiln {

// `text`, which is UTF-8, in quotes.
std::string JsonString(absl::string_view text);
// ["a","b"].
std::string JsonStrings(const std::vector<std::string>& texts);
// The shortest text that reads back equal.
std::string JsonNumber(double value);

// Indented, ending in a newline. Fields of the message itself that are in
// `without` are left out.
std::string ToJson(const google::protobuf::Message& message,
                   const std::set<std::string>& without = {});

// As short as it gets, without a newline: no spaces, and fields that are zero
// or empty are left out.
std::string ToJsonCompact(const google::protobuf::Message& message);

// A JSON array of the messages.
std::string ToJsonArray(
    const std::vector<const google::protobuf::Message*>& messages,
    const std::set<std::string>& without = {});

// {"<key>": <message>}.
std::string ToJsonWrapped(absl::string_view key,
                          const google::protobuf::Message& message);

// The same as one line, for output that a program reads while it is written.
std::string ToJsonLine(const google::protobuf::Message& message);
std::string ToJsonLineWrapped(absl::string_view key,
                              const google::protobuf::Message& message);

}  // namespace edgekiln

#endif  // EK_REPORTS_TEXT_JSON_H_
