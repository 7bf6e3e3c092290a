#include "client/lsp/schema_files.h"

namespace edgekiln::client::lsp {
namespace {

constexpr unsigned char kBytes[] = {
#include "client/lsp/schema_files.inc"
};

}  // namespace

absl::string_view SchemaFiles() {
  return {reinterpret_cast<const char*>(kBytes), sizeof(kBytes)};
}

}  // namespace edgekiln::client::lsp
