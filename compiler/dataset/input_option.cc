#include "compiler/dataset/input_option.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace edgekiln::compiler {
namespace {

using Transform = v1::InputTransform;

std::string Numbers(const google::protobuf::RepeatedField<double>& values) {
  return absl::StrJoin(values, "/", [](std::string* out, double value) {
    absl::StrAppendFormat(out, "%.9g", value);
  });
}

bool HasKeys(const Transform& transform) {
  return transform.scale_size() > 0 || transform.offset_size() > 0 ||
         transform.order() != Transform::CHANNEL_ORDER_UNSPECIFIED ||
         transform.layout() != Transform::LAYOUT_UNSPECIFIED;
}

}  // namespace

std::string InputOption(const std::string& name, const Transform& transform) {
  std::vector<std::string> keys;
  if (transform.scale_size() > 0) {
    keys.push_back(absl::StrCat("scale=", Numbers(transform.scale())));
  }
  if (transform.offset_size() > 0) {
    keys.push_back(absl::StrCat("offset=", Numbers(transform.offset())));
  }
  if (transform.order() != Transform::CHANNEL_ORDER_UNSPECIFIED) {
    keys.push_back(transform.order() == Transform::BGR ? "order=bgr"
                                                       : "order=rgb");
  }
  if (transform.layout() != Transform::LAYOUT_UNSPECIFIED) {
    keys.push_back(transform.layout() == Transform::NCHW ? "layout=nchw"
                                                         : "layout=nhwc");
  }
  return absl::StrCat("--input '", name, name.empty() ? "" : ":",
                      absl::StrJoin(keys, ","), "'");
}

std::string SuggestInput(const std::string& input, const Transform* given,
                         const Transform& change) {
  Transform wanted;
  if (given != nullptr) wanted = *given;
  if (change.scale_size() > 0) *wanted.mutable_scale() = change.scale();
  if (change.offset_size() > 0) *wanted.mutable_offset() = change.offset();
  if (change.order() != Transform::CHANNEL_ORDER_UNSPECIFIED) {
    wanted.set_order(change.order());
  }
  if (change.layout() != Transform::LAYOUT_UNSPECIFIED) {
    wanted.set_layout(change.layout());
  }
  const std::string option = InputOption(input, wanted);
  if (given == nullptr || !HasKeys(*given)) return absl::StrCat("add ", option);
  return absl::StrCat("replace ", InputOption(given->input(), *given), " by ",
                      option);
}

std::string SuggestNoLayout(const std::string& input, const Transform& given) {
  Transform wanted = given;
  wanted.clear_layout();
  if (!HasKeys(wanted)) {
    return absl::StrCat("leave out ", InputOption(given.input(), given));
  }
  return absl::StrCat("replace ", InputOption(given.input(), given), " by ",
                      InputOption(input, wanted));
}

}  // namespace edgekiln::compiler
