// Parsers and sanitizers of base/ on arbitrary bytes.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/digest.h"
#include "base/error.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  // A digest has one spelling.
  const auto digest = edgekiln::ParseDigest(text);
  if (digest.ok()) Require(digest->ToString() == text);
  // Sanitized text is bounded, and sanitizing it again changes nothing.
  const std::string clean = edgekiln::SanitizeText(text, 64);
  Require(clean.size() <= 64);
  Require(edgekiln::SanitizeText(clean, 64) == clean);
  const auto detail = edgekiln::GetErrorDetail(edgekiln::MakeError(
      absl::StatusCode::kInvalidArgument, {.what = text, .where = text}));
  Require(detail.has_value() && detail->what == detail->where);
  return 0;
}
