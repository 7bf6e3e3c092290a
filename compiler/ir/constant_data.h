#ifndef EK_COMPILER_IR_CONSTANT_DATA_H_
#define EK_COMPILER_IR_CONSTANT_DATA_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace edgekiln::compiler {

// The bytes of a constant, or none. Immutable: copies share them.
class ConstantData {
 public:
  ConstantData() = default;
  explicit ConstantData(std::string bytes) {
    auto kept = std::make_shared<const std::string>(std::move(bytes));
    bytes_ = *kept;
    keeper_ = std::move(kept);
  }
  // Part of something larger, which lives as long as `keeper`.
  ConstantData(std::shared_ptr<const void> keeper, absl::string_view bytes)
      : keeper_(std::move(keeper)),
        bytes_(bytes.data() == nullptr ? absl::string_view("", 0) : bytes) {}
  // Bytes that others keep, for as long as they do; perhaps not aligned to
  // elements. No finished graph has any.
  static ConstantData Borrowed(absl::string_view bytes) {
    return ConstantData(nullptr, bytes);
  }

  bool has_value() const { return bytes_.data() != nullptr; }
  bool is_borrowed() const { return has_value() && keeper_ == nullptr; }
  // Whether it alone keeps its bytes.
  bool is_sole() const { return keeper_.use_count() == 1; }

  const absl::string_view& operator*() const { return bytes_; }
  const absl::string_view* operator->() const { return &bytes_; }

 private:
  std::shared_ptr<const void> keeper_;
  absl::string_view bytes_;
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_IR_CONSTANT_DATA_H_
