#ifndef EK_CLIENT_LSP_DOCUMENT_H_
#define EK_CLIENT_LSP_DOCUMENT_H_

// The text of one open file, as the editor has it.

#include <cstdint>
#include <optional>
#include <string>

#include "client/lsp/positions.h"

namespace edgekiln::client::lsp {

// Of files that are read at all; what the daemon takes, too.
inline constexpr size_t kMaxDocumentBytes = size_t{1} << 20;
// Of a text that is kept, so that a shortened file is read again.
inline constexpr size_t kMaxKeptBytes = size_t{8} << 20;

// One change: a range by a text, or the whole.
struct Edit {
  std::optional<Range> range;
  std::string text;
};

// Not thread-safe.
class Document {
 public:
  Document() = default;
  Document(std::string text, int64_t version) {
    Reset(std::move(text), version);
  }

  void Reset(std::string text, int64_t version);
  // A range that ends before it begins is taken the other way round. A text
  // that outgrows kMaxKeptBytes is dropped, and edits of it are ignored until
  // one replaces the whole.
  void Apply(const Edit& edit, int64_t version, Encoding encoding);

  const std::string& text() const { return text_; }
  const LineIndex& lines() const { return lines_; }
  int64_t version() const { return version_; }
  bool dropped() const { return dropped_; }
  // Not to be read.
  bool too_large() const {
    return dropped_ || text_.size() > kMaxDocumentBytes;
  }

 private:
  void Replace(Span span, const std::string& text);

  std::string text_;
  LineIndex lines_;
  int64_t version_ = 0;
  bool dropped_ = false;
};

}  // namespace edgekiln::client::lsp

#endif  // EK_CLIENT_LSP_DOCUMENT_H_
