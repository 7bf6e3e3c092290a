#include "compiler/dataset/npy_header.h"

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace edgekiln::compiler {
namespace {

// Consumes the literal from the front of `text_`.
class HeaderParser {
 public:
  HeaderParser(absl::string_view text, absl::string_view name)
      : text_(text), name_(std::string(name)) {}

  absl::StatusOr<NpyHeader> Parse() {
    if (!Take('{')) return Bad("no dictionary");
    while (!Take('}')) {
      EK_RETURN_IF_ERROR(ParseEntry(), "npy header");
      if (Take(',')) continue;
      if (!Take('}')) return Bad("dictionary is not closed");
      break;
    }
    SkipSpace();
    if (!text_.empty()) return Bad("text after the dictionary");
    if (!descr_ || !order_ || !shape_) return Bad("a key is missing");
    return NpyHeader{*descr_, *order_, *shape_};
  }

 private:
  absl::Status ParseEntry() {
    const std::optional<std::string> key = TakeString();
    if (!key || !Take(':')) return Bad("no key");
    if (*key == "descr" && !descr_) return ParseDescr();
    if (*key == "fortran_order" && !order_) return ParseOrder();
    if (*key == "shape" && !shape_) return ParseShape();
    return Bad(absl::StrCat("unknown or repeated key '", *key, "'"));
  }

  absl::Status ParseDescr() {
    SkipSpace();
    if (!text_.empty() && text_[0] == '[') {
      return MakeError(absl::StatusCode::kUnimplemented,
                       {.reason = "DATA_UNSUPPORTED",
                        .what = "structured element type",
                        .where = name_,
                        .need = "a plain number type such as uint8 or float32",
                        .fix = "write one array per field"});
    }
    descr_ = TakeString();
    return descr_ ? absl::OkStatus() : Bad("descr is not a string");
  }

  absl::Status ParseOrder() {
    SkipSpace();
    if (TakeWord("True")) {
      order_ = true;
    } else if (TakeWord("False")) {
      order_ = false;
    } else {
      return Bad("fortran_order is not a boolean");
    }
    return absl::OkStatus();
  }

  absl::Status ParseShape() {
    if (!Take('(')) return Bad("shape is not a tuple");
    shape_.emplace();
    while (!Take(')')) {
      const std::optional<int64_t> extent = TakeExtent();
      if (!extent) return Bad("bad extent in shape");
      if (shape_->size() == kMaxNpyDimensions) {
        return MakeError(
            absl::StatusCode::kUnimplemented,
            {.reason = "DATA_UNSUPPORTED",
             .what = "array has too many dimensions",
             .where = name_,
             .limit = absl::StrCat(kMaxNpyDimensions, " dimensions"),
             .fix = "reshape the array to the model's input"});
      }
      shape_->push_back(*extent);
      if (Take(',')) continue;
      if (!Take(')')) return Bad("shape is not closed");
      break;
    }
    return absl::OkStatus();
  }

  std::optional<int64_t> TakeExtent() {
    SkipSpace();
    std::optional<int64_t> value;
    while (!text_.empty() && text_[0] >= '0' && text_[0] <= '9') {
      const auto tens = CheckedMul(value.value_or(0), 10);
      value = tens ? CheckedAdd(*tens, text_[0] - '0') : std::nullopt;
      if (!value) return std::nullopt;
      text_.remove_prefix(1);
    }
    if (value && !text_.empty() && text_[0] == 'L') text_.remove_prefix(1);
    return value;
  }

  std::optional<std::string> TakeString() {
    SkipSpace();
    if (text_.empty() || (text_[0] != '\'' && text_[0] != '"')) {
      return std::nullopt;
    }
    const size_t end = text_.find(text_[0], 1);
    if (end == absl::string_view::npos) return std::nullopt;
    std::string out(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return out;
  }

  bool TakeWord(absl::string_view word) {
    if (text_.substr(0, word.size()) != word) return false;
    text_.remove_prefix(word.size());
    return true;
  }

  bool Take(char c) {
    SkipSpace();
    if (text_.empty() || text_[0] != c) return false;
    text_.remove_prefix(1);
    return true;
  }

  void SkipSpace() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n')) {
      text_.remove_prefix(1);
    }
  }

  absl::Status Bad(absl::string_view what) const {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     {.reason = "DATA_CORRUPT",
                      .what = absl::StrCat("damaged .npy header: ", what),
                      .where = name_,
                      .fix = "write the array again with numpy.save"});
  }

  absl::string_view text_;
  const std::string name_;
  std::optional<std::string> descr_;
  std::optional<bool> order_;
  std::optional<std::vector<int64_t>> shape_;
};

}  // namespace

absl::StatusOr<NpyHeader> ParseNpyHeader(absl::string_view text,
                                         absl::string_view name) {
  return HeaderParser(text, name).Parse();
}

}  // namespace edgekiln::compiler
