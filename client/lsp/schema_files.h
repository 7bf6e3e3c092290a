#ifndef EK_CLIENT_LSP_SCHEMA_FILES_H_
#define EK_CLIENT_LSP_SCHEMA_FILES_H_

#include "absl/strings/string_view.h"

namespace edgekiln::client::lsp {

// The .proto files that people write messages of, as a serialized
// google.protobuf.FileDescriptorSet with comments; made by the build.
absl::string_view SchemaFiles();

}  // namespace edgekiln::client::lsp

#endif  // EK_CLIENT_LSP_SCHEMA_FILES_H_
