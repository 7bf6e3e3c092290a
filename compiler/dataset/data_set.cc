#include "compiler/dataset/data_set.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/dataset/idx.h"
#include "compiler/dataset/little_endian.h"
#include "compiler/dataset/npz.h"
#include "compiler/dataset/sample_layout.h"

namespace edgekiln::compiler {
namespace {

// Of the factors of a data set.
constexpr int64_t kMaxChannels = int64_t{1} << 20;
constexpr char kIdxLabels[] = "IDX labels";

absl::Status Bad(ErrorDetail detail) {
  if (detail.reason.empty()) detail.reason = "DATA_INVALID";
  return MakeError(absl::StatusCode::kInvalidArgument, std::move(detail));
}

// A_scale or A_offset: one value, or one per channel.
absl::StatusOr<std::vector<double>> ReadFactors(const NpzFile& file,
                                                const std::string& name,
                                                double otherwise) {
  if (!file.Has(name)) return std::vector<double>{otherwise};
  EK_ASSIGN_OR_RETURN(const NpyInfo info, file.Inspect(name), "data set");
  if (info.shape.size() > 1 ||
      (info.shape.size() == 1 &&
       (info.shape[0] == 0 || info.shape[0] > kMaxChannels))) {
    return Bad({.what = absl::StrCat("array ", name, " has shape ",
                                     ShapeText(info.shape)),
                .where = name,
                .limit = absl::StrCat(kMaxChannels, " channels"),
                .need = "a scalar, or one value per channel",
                .fix = absl::StrCat("store ", name, " as one number")});
  }
  EK_ASSIGN_OR_RETURN(const NpyArray array, file.Read(name), "data set");
  std::vector<double> factors;
  for (int64_t i = 0; i < array.elements(); ++i) {
    factors.push_back(NpyValue(array, i));
    if (!std::isfinite(factors.back())) {
      return Bad({.what = absl::StrCat(name, " is not finite"), .where = name});
    }
  }
  return factors;
}

int64_t IntegerValue(const NpyArray& array, int64_t index) {
  if (array.type == NpyType::kInt64) {
    return LoadAs<int64_t>(array.data.data() + index * 8);
  }
  return static_cast<int64_t>(NpyValue(array, index));
}

absl::Status CheckLabelShape(absl::Span<const int64_t> shape, int64_t samples,
                             const std::string& name) {
  if (shape.size() == 1 && shape[0] == samples) return absl::OkStatus();
  return Bad({.reason = "DATA_SHAPE",
              .what = absl::StrCat("labels have shape ", ShapeText(shape)),
              .where = name,
              .need = absl::StrCat("shape ", samples, ", one per sample"),
              .fix = "store one class index per sample"});
}

absl::StatusOr<std::vector<int32_t>> LabelsOf(const NpyArray& array,
                                              int64_t samples,
                                              const std::string& name) {
  EK_RETURN_IF_ERROR(CheckLabelShape(array.shape, samples, name), "data set");
  if (IsFloat(array.type)) {
    return Bad({.what = absl::StrCat("labels are ", NpyTypeName(array.type)),
                .where = name,
                .need = "integers",
                .fix = "convert them with astype('int32')"});
  }
  std::vector<int32_t> labels;
  labels.reserve(static_cast<size_t>(samples));
  for (int64_t i = 0; i < samples; ++i) {
    const int64_t label = IntegerValue(array, i);
    if (label < -1 || label > std::numeric_limits<int32_t>::max()) {
      return Bad({.what = absl::StrCat("label ", label, " of sample ", i),
                  .where = name,
                  .limit = "-1 (none) to 2147483647",
                  .fix = "store class indices from 0"});
    }
    labels.push_back(static_cast<int32_t>(label));
  }
  return labels;
}

absl::Status CheckSamples(const std::string& name,
                          absl::Span<const int64_t> shape, int64_t& samples) {
  if (shape.empty() || std::count(shape.begin(), shape.end(), 0) > 0) {
    return Bad({.reason = "DATA_SHAPE",
                .what = absl::StrCat("array ", name, " of shape ",
                                     ShapeText(shape), " holds no samples"),
                .where = name,
                .need = "samples along the first axis",
                .fix = "store at least one sample"});
  }
  const int64_t here = shape[0];
  if (samples != 0 && samples != here) {
    return Bad({.reason = "DATA_SHAPE",
                .what = absl::StrCat("array ", name, " has ", here,
                                     " samples, another has ", samples),
                .where = name,
                .need = "as many samples in every array",
                .fix = "store arrays of the same first extent"});
  }
  samples = here;
  return absl::OkStatus();
}

absl::StatusOr<std::string> ArrayFor(const NpzFile& file,
                                     const std::string& input, bool single,
                                     bool prefer_names) {
  const bool named = file.Has(input);
  const bool plain = single && file.Has("x");
  if (named && (prefer_names || !plain)) return input;
  if (plain) return std::string("x");
  return Bad({.reason = "DATA_ARRAY_MISSING",
              .what = absl::StrCat("data set has no array for model input '",
                                   input, "'"),
              .where = input,
              .need = single ? absl::StrCat("an array 'x' or '", input, "'")
                             : absl::StrCat("an array '", input, "'"),
              .fix = absl::StrCat("arrays in the file: ",
                                  absl::StrJoin(file.names(), ", "))});
}

// A small archive may unpack to gigabytes: what cannot be used is told by the
// headers. Fills in the names and number of samples of `set`.
absl::Status InspectNpz(const NpzFile& file,
                        absl::Span<const std::string> input_names,
                        bool prefer_names,
                        absl::Span<const std::vector<int64_t>> network_shapes,
                        DataSet& set) {
  for (size_t i = 0; i < input_names.size(); ++i) {
    StoredArray array;
    EK_ASSIGN_OR_RETURN(
        array.name,
        ArrayFor(file, input_names[i], input_names.size() == 1, prefer_names),
        "data set");
    EK_ASSIGN_OR_RETURN(const NpyInfo info, file.Inspect(array.name),
                        "data set");
    EK_RETURN_IF_ERROR(CheckSamples(array.name, info.shape, set.samples),
                       "data set");
    if (i < network_shapes.size()) {
      EK_RETURN_IF_ERROR(
          CheckSampleSize(input_names[i],
                          absl::MakeConstSpan(info.shape).subspan(1),
                          network_shapes[i]),
          absl::StrCat("array ", array.name));
    }
    set.arrays.push_back(std::move(array));
  }
  if (!file.Has("y")) return absl::OkStatus();
  EK_ASSIGN_OR_RETURN(const NpyInfo labels, file.Inspect("y"), "data set");
  return CheckLabelShape(labels.shape, set.samples, "y");
}

absl::StatusOr<DataSet> LoadNpz(
    absl::string_view bytes, absl::Span<const std::string> input_names,
    bool prefer_names, absl::Span<const std::vector<int64_t>> network_shapes) {
  EK_ASSIGN_OR_RETURN(const NpzFile file, NpzFile::Open(bytes), "data set");
  DataSet set;
  EK_RETURN_IF_ERROR(
      InspectNpz(file, input_names, prefer_names, network_shapes, set),
      "data set");
  for (StoredArray& array : set.arrays) {
    EK_ASSIGN_OR_RETURN(
        array.scale, ReadFactors(file, absl::StrCat(array.name, "_scale"), 1),
        "data set");
    EK_ASSIGN_OR_RETURN(
        array.offset, ReadFactors(file, absl::StrCat(array.name, "_offset"), 0),
        "data set");
    EK_ASSIGN_OR_RETURN(array.values, file.Read(array.name), "data set");
  }
  if (file.Has("y")) {
    EK_ASSIGN_OR_RETURN(const NpyArray labels, file.Read("y"), "data set");
    EK_ASSIGN_OR_RETURN(set.labels, LabelsOf(labels, set.samples, "y"),
                        "data set");
  }
  return set;
}

// As InspectNpz(), of IDX files.
absl::Status InspectIdxFiles(
    absl::Span<const absl::string_view> files, const std::string& input_name,
    absl::Span<const std::vector<int64_t>> network_shapes, DataSet& set) {
  const StoredArray& images = set.arrays[0];
  EK_ASSIGN_OR_RETURN(const NpyInfo info, InspectIdx(files[0], images.name));
  if (info.shape.size() == 1 && files.size() == 2) {
    return Bad({.what = "the first IDX file holds labels",
                .need = "the images first, then the labels",
                .fix = "give the two files in the other order"});
  }
  EK_RETURN_IF_ERROR(CheckSamples(images.name, info.shape, set.samples));
  if (!network_shapes.empty()) {
    EK_RETURN_IF_ERROR(
        CheckSampleSize(input_name, absl::MakeConstSpan(info.shape).subspan(1),
                        network_shapes[0]));
  }
  if (files.size() != 2) return absl::OkStatus();
  EK_ASSIGN_OR_RETURN(const NpyInfo labels, InspectIdx(files[1], kIdxLabels));
  return CheckLabelShape(labels.shape, set.samples, kIdxLabels);
}

absl::StatusOr<DataSet> LoadIdx(
    absl::Span<const absl::string_view> files,
    absl::Span<const std::string> input_names,
    absl::Span<const std::vector<int64_t>> network_shapes) {
  if (input_names.size() != 1) {
    return Bad({.what = absl::StrCat("model has ", input_names.size(),
                                     " inputs, an IDX pair feeds one"),
                .fix = "use an .npz with one array per input"});
  }
  DataSet set;
  set.arrays.emplace_back();
  StoredArray& images = set.arrays[0];
  images.name = "IDX images";
  EK_RETURN_IF_ERROR(
      InspectIdxFiles(files, input_names[0], network_shapes, set), "data set");
  EK_ASSIGN_OR_RETURN(images.values, ParseIdx(files[0], images.name),
                      "data set");
  if (files.size() == 2) {
    EK_ASSIGN_OR_RETURN(const NpyArray labels, ParseIdx(files[1], kIdxLabels),
                        "data set");
    EK_ASSIGN_OR_RETURN(set.labels, LabelsOf(labels, set.samples, kIdxLabels),
                        "data set");
  }
  return set;
}

}  // namespace

absl::StatusOr<DataSet> LoadDataSet(
    absl::Span<const absl::string_view> files,
    absl::Span<const std::string> input_names, bool prefer_names,
    absl::Span<const std::vector<int64_t>> network_shapes) {
  if (input_names.empty()) {
    return Bad({.what = "the model has no inputs to feed"});
  }
  if (files.size() == 1 && IsNpz(files[0])) {
    return LoadNpz(files[0], input_names, prefer_names, network_shapes);
  }
  if ((files.size() == 1 || files.size() == 2) && IsIdx(files[0])) {
    return LoadIdx(files, input_names, network_shapes);
  }
  return Bad(
      {.reason = "DATA_FORMAT",
       .what = "data set is neither an .npz file nor an IDX pair",
       .need = "one .npz, or IDX images and IDX labels",
       .fix = "write it with numpy.savez_compressed(file, x=..., y=...)"});
}

}  // namespace edgekiln::compiler
