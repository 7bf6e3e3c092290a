#include "compiler/dataset/data_set.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/dataset/idx.h"
#include "compiler/dataset/npz.h"
#include "compiler/dataset/sample_layout.h"
#include "compiler/dataset/stored_labels.h"

namespace edgekiln::compiler {
namespace {

// Of the factors of a data set.
constexpr int64_t kMaxChannels = int64_t{1} << 20;
constexpr char kIdxLabels[] = "IDX labels";
constexpr char kSamples[] = "x";
constexpr char kLabels[] = "y";
constexpr char kUnnamed[] = "arr_0";

bool IsState(const std::vector<bool>& is_state, size_t input) {
  return input < is_state.size() && is_state[input];
}

absl::Status Bad(ErrorDetail detail) {
  if (detail.reason.empty()) detail.reason = "DATA_INVALID";
  return MakeError(absl::StatusCode::kInvalidArgument, std::move(detail));
}

// A_scale or A_offset: one value, or one per channel.
absl::StatusOr<std::vector<double>> ReadFactors(const NpzFile& file,
                                                const std::string& name,
                                                double otherwise) {
  if (!file.Has(name)) return std::vector<double>{otherwise};
  EK_ASSIGN_OR_RETURN(const NpyInfo info, file.Inspect(name));
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
  EK_ASSIGN_OR_RETURN(const NpyArray array, file.Read(name));
  std::vector<double> factors;
  for (int64_t i = 0; i < array.elements(); ++i) {
    factors.push_back(NpyValue(array, i));
    if (!std::isfinite(factors.back())) {
      return Bad({.what = absl::StrCat(name, " is not finite"), .where = name});
    }
  }
  return factors;
}

absl::Status CheckSamples(const std::string& name,
                          absl::Span<const int64_t> shape, int64_t& samples) {
  if (shape.empty() || shape[0] == 0) {
    return Bad({.reason = "DATA_SHAPE",
                .what = absl::StrCat("array ", name, " of shape ",
                                     ShapeText(shape), " holds no samples"),
                .where = name,
                .need = "samples along the first axis",
                .fix = "store at least one sample"});
  }
  const int64_t here = shape[0];
  // The size of the file bounds all others.
  if (here > kMaxEmptySamples &&
      std::count(shape.begin(), shape.end(), 0) > 0) {
    return Bad({.reason = "DATA_SHAPE",
                .what = absl::StrCat("array ", name, " has ", here,
                                     " samples without elements"),
                .where = name,
                .limit = absl::StrCat(kMaxEmptySamples, " such samples"),
                .fix = "store fewer samples"});
  }
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

int64_t Wanted(const DataSetQuestion& question, int64_t samples) {
  return question.limit == 0 ? samples : std::min(samples, question.limit);
}

// The arrays of an .npz and the parts they play. Each plays one: what feeds an
// input is neither labels nor a factor, whatever it is called.
class NpzLoader {
 public:
  NpzLoader(const NpzFile& file, const DataSetQuestion& question)
      : file_(file), question_(question) {}

  absl::StatusOr<DataSet> Load() {
    EK_RETURN_IF_ERROR(Inspect());
    set_.wanted = Wanted(question_, set_.samples);
    for (StoredArray& array : set_.arrays) {
      if (array.name.empty()) continue;
      EK_ASSIGN_OR_RETURN(array.scale, Factors(array.name, "_scale", 1));
      EK_ASSIGN_OR_RETURN(array.offset, Factors(array.name, "_offset", 0));
      EK_ASSIGN_OR_RETURN(array.samples,
                          file_.Samples(array.name, set_.wanted));
    }
    if (labelled_) {
      EK_ASSIGN_OR_RETURN(const NpyInfo info, file_.Inspect(kLabels));
      EK_ASSIGN_OR_RETURN(const auto labels,
                          file_.Samples(kLabels, set_.wanted));
      EK_ASSIGN_OR_RETURN(set_.labels,
                          ReadLabels(info, set_.wanted, *labels, kLabels));
    }
    return std::move(set_);
  }

 private:
  // A small archive may unpack to gigabytes: what cannot be used is told by the
  // headers.
  absl::Status Inspect() {
    const absl::Span<const std::string> names = question_.input_names;
    const auto only = OnlyInput(names, question_.is_state);
    for (size_t i = 0; i < names.size(); ++i) {
      StoredArray array;
      array.name = names[i];
      if (only == i) {
        EK_ASSIGN_OR_RETURN(array.name, ArrayOfOnlyInput(names[i], i));
      } else if (!file_.Has(array.name)) {
        if (!IsState(question_.is_state, i)) {
          return Missing(names[i], absl::StrCat("an array '", names[i], "'"));
        }
        set_.arrays.emplace_back();
        continue;
      }
      EK_ASSIGN_OR_RETURN(array.info, file_.Inspect(array.name));
      const std::vector<int64_t>& shape = array.info.shape;
      EK_RETURN_IF_ERROR(CheckSamples(array.name, shape, set_.samples));
      if (i < question_.network_shapes.size()) {
        EK_RETURN_IF_ERROR(
            CheckStoredSize(names[i], shape, question_.network_shapes[i]),
            absl::StrCat("array ", array.name));
      }
      set_.arrays.push_back(std::move(array));
    }
    if (set_.samples == 0) {
      return Missing(names[0], "an array for at least one input");
    }
    return InspectLabels();
  }

  absl::Status InspectLabels() {
    if (!file_.Has(kLabels) || FeedsAnInput(kLabels)) return absl::OkStatus();
    const absl::StatusOr<NpyInfo> info = file_.Inspect(kLabels);
    // What the network should give is often kept beside what it is given.
    labelled_ =
        !question_.labels_optional || (info.ok() && !IsFloat(info->type) &&
                                       IsLabelShape(info->shape, set_.samples));
    if (!labelled_) return absl::OkStatus();
    EK_RETURN_IF_ERROR(info.status());
    return CheckLabelShape(info->shape, set_.samples, kLabels);
  }

  bool FeedsAnInput(absl::string_view name) const {
    return std::any_of(
        set_.arrays.begin(), set_.arrays.end(),
        [&](const StoredArray& array) { return array.name == name; });
  }

  absl::StatusOr<std::vector<double>> Factors(const std::string& array,
                                              absl::string_view suffix,
                                              double otherwise) const {
    const std::string name = absl::StrCat(array, suffix);
    if (FeedsAnInput(name)) return std::vector<double>{otherwise};
    return ReadFactors(file_, name, otherwise);
  }

  // The array of the input's name if it fits, then `x`, then what numpy calls
  // an array that was given no name.
  absl::StatusOr<std::string> ArrayOfOnlyInput(const std::string& input,
                                               size_t index) const {
    const bool named = file_.Has(input);
    const bool other = file_.Has(kSamples) && input != kSamples;
    if (named && (!other || !Fits(kSamples, index))) return input;
    if (named && Fits(input, index)) {
      if (GoesWithSamples(input) && !question_.input_was_named) {
        return Ambiguous(input);
      }
      return input;
    }
    for (const char* name : {kSamples, kUnnamed}) {
      if (file_.Has(name)) return std::string(name);
    }
    return Missing(input, absl::StrCat("an array 'x' or '", input, "'"));
  }

  // Whether samples of the array could be those of input `index`.
  bool Fits(const std::string& name, size_t index) const {
    const absl::StatusOr<NpyInfo> info = file_.Inspect(name);
    if (!info.ok() || info->shape.empty() || info->shape[0] == 0) return false;
    return question_.network_shapes.empty() ||
           CheckStoredSize(name, info->shape, question_.network_shapes[index])
               .ok();
  }

  // Whether the array could be the labels or a factor of the array `x`.
  bool GoesWithSamples(const std::string& name) const {
    const absl::StatusOr<NpyInfo> info = file_.Inspect(name);
    const absl::StatusOr<NpyInfo> samples = file_.Inspect(kSamples);
    if (!info.ok() || !samples.ok()) return false;
    if (name == kLabels) {
      return !IsFloat(info->type) &&
             IsLabelShape(info->shape, samples->shape[0]);
    }
    return (name == "x_scale" || name == "x_offset") && info->shape.size() == 1;
  }

  absl::Status Ambiguous(const std::string& input) const {
    return Bad(
        {.reason = "DATA_AMBIGUOUS",
         .what = absl::StrCat("arrays x and ", input,
                              " both fit the model's only input"),
         .where = input,
         .limit = absl::StrCat(
             "read as the array of the input's name: ", input,
             " feeds it, x is not read; read as a data set: x feeds it, ",
             input, input == kLabels ? " holds the labels" : " scales it"),
         .need = "one of the two readings",
         .fix = absl::StrCat("to feed ", input, ", add --input '", input,
                             ":scale=1' (or name the input in the --input you "
                             "have); to feed x, store ",
                             input, " under another name or leave it out")});
  }

  absl::Status Missing(const std::string& input,
                       const std::string& need) const {
    return Bad({.reason = "DATA_ARRAY_MISSING",
                .what = absl::StrCat("data set has no array for model input '",
                                     input, "'"),
                .where = input,
                .need = need,
                .fix = absl::StrCat("rename one of the file's arrays: ",
                                    absl::StrJoin(file_.names(), ", "))});
  }

  const NpzFile& file_;
  const DataSetQuestion& question_;
  DataSet set_;
  bool labelled_ = false;
};

absl::StatusOr<DataSet> LoadNpz(absl::string_view bytes,
                                const DataSetQuestion& question) {
  EK_ASSIGN_OR_RETURN(const NpzFile file, NpzFile::Open(bytes));
  return NpzLoader(file, question).Load();
}

// The input that a file of one array feeds.
absl::StatusOr<size_t> InputOfOneArray(const DataSetQuestion& question) {
  const auto only = OnlyInput(question.input_names, question.is_state);
  if (only) return *only;
  return Bad({.what = absl::StrCat("model has ", question.input_names.size(),
                                   " inputs, such a file feeds one"),
              .fix = "use an .npz with one array per input"});
}

// By the headers, as NpzLoader::Inspect().
absl::Status InspectIdxFiles(absl::Span<const absl::string_view> files,
                             const DataSetQuestion& question, size_t input,
                             DataSet& set) {
  StoredArray& images = set.arrays[input];
  EK_ASSIGN_OR_RETURN(images.info, InspectIdx(files[0], images.name));
  const NpyInfo& info = images.info;
  if (info.shape.size() == 1 && files.size() == 2) {
    return Bad({.what = "the first IDX file holds labels",
                .need = "the images first, then the labels",
                .fix = "give the two files in the other order"});
  }
  EK_RETURN_IF_ERROR(CheckSamples(images.name, info.shape, set.samples));
  if (!question.network_shapes.empty()) {
    EK_RETURN_IF_ERROR(CheckStoredSize(question.input_names[input], info.shape,
                                       question.network_shapes[input]));
  }
  set.wanted = Wanted(question, set.samples);
  if (files.size() != 2) return absl::OkStatus();
  EK_ASSIGN_OR_RETURN(const NpyInfo labels, InspectIdx(files[1], kIdxLabels));
  return CheckLabelShape(labels.shape, set.samples, kIdxLabels);
}

absl::StatusOr<DataSet> LoadIdx(absl::Span<const absl::string_view> files,
                                const DataSetQuestion& question) {
  EK_ASSIGN_OR_RETURN(const size_t input, InputOfOneArray(question));
  DataSet set;
  set.arrays.resize(question.input_names.size());
  StoredArray& images = set.arrays[input];
  images.name = "IDX images";
  EK_RETURN_IF_ERROR(InspectIdxFiles(files, question, input, set));
  EK_ASSIGN_OR_RETURN(images.samples,
                      IdxSamples(files[0], set.wanted, images.name));
  if (files.size() == 2) {
    EK_ASSIGN_OR_RETURN(const NpyInfo info, InspectIdx(files[1], kIdxLabels));
    EK_ASSIGN_OR_RETURN(const auto labels,
                        IdxSamples(files[1], set.wanted, kIdxLabels));
    EK_ASSIGN_OR_RETURN(set.labels,
                        ReadLabels(info, set.wanted, *labels, kIdxLabels));
  }
  return set;
}

absl::StatusOr<NpyInfo> InspectNpy(absl::string_view file,
                                   absl::string_view name) {
  return ParseNpyStart(file, static_cast<int64_t>(file.size()), name);
}

std::unique_ptr<SampleReader> NpySamples(absl::string_view file,
                                         const NpyInfo& info, int64_t wanted,
                                         absl::string_view name) {
  file.remove_prefix(static_cast<size_t>(info.header_bytes));
  return NewSampleReader(ByteStream(file, Packing::kNone, name), info, wanted,
                         std::nullopt, name);
}

// A file of samples and perhaps one of labels.
absl::StatusOr<DataSet> LoadNpy(absl::Span<const absl::string_view> files,
                                const DataSetQuestion& question) {
  EK_ASSIGN_OR_RETURN(const size_t input, InputOfOneArray(question));
  DataSet set;
  set.arrays.resize(question.input_names.size());
  StoredArray& array = set.arrays[input];
  array.name = kSamples;
  EK_ASSIGN_OR_RETURN(array.info, InspectNpy(files[0], array.name));
  EK_RETURN_IF_ERROR(CheckSamples(array.name, array.info.shape, set.samples));
  set.wanted = Wanted(question, set.samples);
  if (!question.network_shapes.empty()) {
    EK_RETURN_IF_ERROR(CheckStoredSize(question.input_names[input],
                                       array.info.shape,
                                       question.network_shapes[input]));
  }
  array.samples = NpySamples(files[0], array.info, set.wanted, array.name);
  if (files.size() == 1) return set;
  EK_ASSIGN_OR_RETURN(const NpyInfo info, InspectNpy(files[1], kLabels));
  EK_RETURN_IF_ERROR(CheckLabelShape(info.shape, set.samples, kLabels));
  const auto labels = NpySamples(files[1], info, set.wanted, kLabels);
  EK_ASSIGN_OR_RETURN(set.labels,
                      ReadLabels(info, set.wanted, *labels, kLabels));
  return set;
}

}  // namespace

std::optional<size_t> OnlyInput(absl::Span<const std::string> input_names,
                                const std::vector<bool>& is_state) {
  std::optional<size_t> only;
  for (size_t i = 0; i < input_names.size(); ++i) {
    if (IsState(is_state, i)) continue;
    if (only) return std::nullopt;
    only = i;
  }
  return only;
}

absl::StatusOr<DataSet> LoadDataSet(absl::Span<const absl::string_view> files,
                                    const DataSetQuestion& question) {
  if (question.input_names.empty()) {
    return Bad({.what = "the model has no inputs to feed",
                .fix = "leave --data and --calibration out"});
  }
  if (files.size() == 1 && IsNpz(files[0])) return LoadNpz(files[0], question);
  if (files.size() == 1 || files.size() == 2) {
    if (IsNpy(files[0])) return LoadNpy(files, question);
    if (IsIdx(files[0])) return LoadIdx(files, question);
  }
  return Bad(
      {.reason = "DATA_FORMAT",
       .what = "data set is neither an .npz file nor an IDX pair",
       .need = "one .npz, or samples and labels as .npy or IDX files",
       .fix = "write it with numpy.savez_compressed(file, x=..., y=...)"});
}

}  // namespace edgekiln::compiler
