#include "client/lsp/cursor.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace edgekiln::client::lsp {
namespace {

bool IsNameCharacter(char c) { return absl::ascii_isalnum(c) || c == '_'; }

bool Touches(Span span, size_t offset) {
  return span.begin <= offset && offset <= span.end;
}

bool InComment(const Syntax& syntax, size_t offset) {
  const auto after = std::upper_bound(
      syntax.comments.begin(), syntax.comments.end(), offset,
      [](size_t at, const Span& span) { return at <= span.begin; });
  return after != syntax.comments.begin() && offset <= std::prev(after)->end;
}

// Whether only spaces lie between: a value that is being typed.
bool OnlySpace(absl::string_view text, size_t begin, size_t end) {
  return std::all_of(text.begin() + begin, text.begin() + end,
                     [](char c) { return c == ' ' || c == '\t'; });
}

// The field whose value has yet to be typed: "key: |".
bool AwaitsValue(absl::string_view text, const Node& node, size_t offset) {
  return !node.is_message && node.value.empty() && node.value.end <= offset &&
         node.value.end > 0 && text[node.value.end - 1] == ':' &&
         OnlySpace(text, node.value.end, offset);
}

class Search {
 public:
  Search(absl::string_view text, size_t offset)
      : text_(text), offset_(offset) {}

  void In(const std::vector<Node>& fields,
          const google::protobuf::Descriptor* type, Cursor& cursor) {
    cursor.fields = &fields;
    cursor.type = type;
    for (const Node& node : fields) {
      if (Touches(node.name, offset_)) {
        SetNode(node, At::kKey, cursor);
        cursor.word = node.name;
        return;
      }
      if (node.is_message && offset_ >= node.body.begin &&
          offset_ <= node.body.end &&
          (node.closed || offset_ <= node.value.end)) {
        cursor.entry = &node;
        In(node.fields, TypeOf(text_, node, type), cursor);
        return;
      }
      if (!node.is_message && !node.value.empty() &&
          Touches(node.value, offset_)) {
        SetNode(node, At::kValue, cursor);
        SetWordInValue(node, cursor);
        return;
      }
      if (AwaitsValue(text_, node, offset_)) {
        SetNode(node, At::kValue, cursor);
        cursor.word = {offset_, offset_};
        return;
      }
    }
    cursor.at = At::kKey;
    cursor.word = {offset_, offset_};
  }

 private:
  void SetNode(const Node& node, At at, Cursor& cursor) const {
    cursor.at = at;
    cursor.node = &node;
    cursor.field = FieldNamed(cursor.type, node.name.In(text_));
  }

  void SetWordInValue(const Node& node, Cursor& cursor) const {
    if (!node.is_string) {
      cursor.word = node.value;
      return;
    }
    const Span inner = InnerSpan(text_, node);
    cursor.in_string = Touches(inner, offset_);
    cursor.word = cursor.in_string ? inner : Span{offset_, offset_};
  }

  const absl::string_view text_;
  const size_t offset_;
};

}  // namespace

Cursor CursorAt(absl::string_view text, const Syntax& syntax, size_t offset,
                const google::protobuf::Descriptor& root) {
  Cursor cursor;
  if (InComment(syntax, offset)) return cursor;
  Search(text, offset).In(syntax.fields, &root, cursor);
  if (cursor.type == nullptr) cursor.at = At::kNothing;
  return cursor;
}

Span NameAround(absl::string_view text, size_t offset, Span bounds) {
  Span span{offset, offset};
  while (span.begin > bounds.begin && IsNameCharacter(text[span.begin - 1])) {
    --span.begin;
  }
  while (span.end < bounds.end && IsNameCharacter(text[span.end])) ++span.end;
  return span;
}

}  // namespace edgekiln::client::lsp
