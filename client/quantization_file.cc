#include "client/quantization_file.h"

#include "base/status_macros.h"
#include "client/text_message.h"
#include "client/unreadable_file.h"

namespace edgekiln::client {
namespace {

constexpr size_t kMaxFileBytes = size_t{256} << 10;

}  // namespace

absl::StatusOr<v1::QuantizationConfig> ReadQuantizationFile(
    FileSystem& files, const std::string& path, const std::string& option) {
  const absl::StatusOr<std::string> text = files.Read(path, kMaxFileBytes);
  if (!text.ok()) {
    return UnreadableError(path, option, text.status(),
                           "`edgekiln quantize --help` shows what is in such a "
                           "file");
  }
  v1::QuantizationConfig config;
  EK_RETURN_IF_ERROR(
      ParseTextMessage(*text, path,
                       {.what = "quantization config",
                        .schema = "proto/edgekiln/v1/quantization.proto",
                        .max_bytes = kMaxFileBytes},
                       config));
  return config;
}

}  // namespace edgekiln::client
