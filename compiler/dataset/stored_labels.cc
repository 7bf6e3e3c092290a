#include "compiler/dataset/stored_labels.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/dataset/little_endian.h"

namespace edgekiln::compiler {
namespace {

constexpr int64_t kLabelsAtOnce = int64_t{1} << 16;

absl::Status Bad(ErrorDetail detail) {
  if (detail.reason.empty()) detail.reason = "DATA_INVALID";
  return MakeError(absl::StatusCode::kInvalidArgument, std::move(detail));
}

// What no int64 holds becomes the largest.
int64_t IntegerAt(NpyType type, const char* at) {
  if (type == NpyType::kInt64) return LoadAs<int64_t>(at);
  if (type == NpyType::kUint64) {
    constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
    return static_cast<int64_t>(std::min(LoadAs<uint64_t>(at), kMax));
  }
  return static_cast<int64_t>(NpyValueAt(type, at));
}

absl::StatusOr<int32_t> LabelAt(NpyType type, const char* at, int64_t sample,
                                const std::string& name) {
  const int64_t label = IntegerAt(type, at);
  if (label >= -1 && label <= std::numeric_limits<int32_t>::max()) {
    return static_cast<int32_t>(label);
  }
  return Bad({.what = absl::StrCat("label ", label, " of sample ", sample),
              .where = name,
              .limit = "-1 (none) to 2147483647",
              .fix = "store class indices from 0"});
}

}  // namespace

bool IsLabelShape(absl::Span<const int64_t> shape, int64_t samples) {
  return !shape.empty() && shape[0] == samples &&
         std::count(shape.begin() + 1, shape.end(), 1) ==
             static_cast<int64_t>(shape.size()) - 1;
}

absl::Status CheckLabelShape(absl::Span<const int64_t> shape, int64_t samples,
                             const std::string& name) {
  if (IsLabelShape(shape, samples)) return absl::OkStatus();
  const bool one_hot = shape.size() == 2 && shape[0] == samples;
  return Bad({.reason = "DATA_SHAPE",
              .what = absl::StrCat("labels have shape ", ShapeText(shape)),
              .where = name,
              .need = absl::StrCat("shape ", samples, ", one per sample"),
              .fix = one_hot ? absl::StrCat("store class indices: ", name,
                                            ".argmax(axis=1)")
                             : "store one class index per sample"});
}

absl::StatusOr<std::vector<int32_t>> ReadLabels(const NpyInfo& info,
                                                int64_t wanted,
                                                SampleReader& reader,
                                                const std::string& name) {
  if (IsFloat(info.type)) {
    return Bad({.what = absl::StrCat("labels are ", NpyTypeName(info.type)),
                .where = name,
                .need = "integers",
                .fix = "convert them with astype('int32')"});
  }
  std::vector<int32_t> labels;
  for (int64_t first = 0; first < wanted; first += kLabelsAtOnce) {
    const int64_t count = std::min(kLabelsAtOnce, wanted - first);
    EK_ASSIGN_OR_RETURN(const absl::string_view bytes, reader.Next(count));
    for (int64_t i = 0; i < count; ++i) {
      EK_ASSIGN_OR_RETURN(
          const int32_t label,
          LabelAt(info.type, bytes.data() + i * NpyTypeBytes(info.type),
                  first + i, name));
      labels.push_back(label);
    }
  }
  EK_RETURN_IF_ERROR(reader.Finish());
  return labels;
}

}  // namespace edgekiln::compiler
