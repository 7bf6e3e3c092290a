#include "client/lsp/document.h"

#include <utility>

namespace edgekiln::client::lsp {

void Document::Reset(std::string text, int64_t version) {
  version_ = version;
  dropped_ = text.size() > kMaxKeptBytes;
  text_ = dropped_ ? std::string() : std::move(text);
  lines_ = LineIndex(text_);
}

void Document::Apply(const Edit& edit, int64_t version, Encoding encoding) {
  if (!edit.range.has_value()) {
    Reset(edit.text, version);
    return;
  }
  version_ = version;
  if (dropped_) return;
  Span span{lines_.OffsetOf(text_, edit.range->start, encoding),
            lines_.OffsetOf(text_, edit.range->end, encoding)};
  if (span.begin > span.end) std::swap(span.begin, span.end);
  Replace(span, edit.text);
}

void Document::Replace(Span span, const std::string& text) {
  if (text_.size() - (span.end - span.begin) + text.size() > kMaxKeptBytes) {
    dropped_ = true;
    std::string().swap(text_);
  } else {
    text_.replace(span.begin, span.end - span.begin, text);
  }
  lines_ = LineIndex(text_);
}

}  // namespace edgekiln::client::lsp
