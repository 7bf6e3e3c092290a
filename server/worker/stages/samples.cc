#include "server/worker/stages/samples.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/dataset/element_type.h"
#include "compiler/dataset/npy.h"
#include "compiler/dataset/sample_layout.h"
#include "server/worker/stages/class_scores.h"

namespace edgekiln::server {
namespace {

// Fewer say little about the five largest scores, or about shifted labels.
constexpr int64_t kManyClasses = 10;

using compiler::NpyTypeBytes;
using compiler::NpyTypeOf;
using compiler::SampleShape;

std::optional<int64_t> SampleBytes(const v1::TensorType& type) {
  const auto element = NpyTypeOf(type.element_type());
  const auto elements = CheckedProduct(SampleShape(type));
  if (!element || !elements) return std::nullopt;
  return CheckedMul(*elements, NpyTypeBytes(*element));
}

// Those of all samples: the same blob for every chunk.
absl::StatusOr<std::shared_ptr<v1::Labels>> AllLabels(
    const StageInputs& inputs) {
  const auto read = [&]() -> absl::StatusOr<std::shared_ptr<v1::Labels>> {
    EK_ASSIGN_OR_RETURN(v1::Labels all, inputs.Parse<v1::Labels>("labels"));
    return std::make_shared<v1::Labels>(std::move(all));
  };
  return inputs.Prepared<v1::Labels>({"labels"}, "", read);
}

// `labels` has one at `sample` that is no class.
absl::Status BeyondClasses(const v1::Labels& labels, int64_t sample,
                           int64_t classes, const std::string& output) {
  int64_t smallest = labels.label(static_cast<int>(sample));
  int64_t largest = smallest;
  for (const int32_t label : labels.label()) {
    if (label < 0) continue;
    smallest = std::min<int64_t>(smallest, label);
    largest = std::max<int64_t>(largest, label);
  }
  // Labels from 1, or an offset that should not have been given.
  const bool shifted = largest - smallest < classes && largest == classes;
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      {.reason = "LABEL_OUT_OF_RANGE",
       .what = absl::StrCat("label ", labels.label(static_cast<int>(sample)),
                            " of sample ", sample),
       .where = absl::StrCat("output '", output, "'"),
       .limit =
           absl::StrCat("the network has ", classes,
                        " classes; the labels are ", smallest, " to ", largest),
       .need = "class indices from 0",
       .fix = shifted ? "all labels fit if they are one less: lower "
                        "--label-offset by 1 (to -1 if it was not given)"
                      : "use the data set of this network's task, or -1 for "
                        "samples without a label"});
}

}  // namespace

absl::StatusOr<ChunkReader> ChunkReader::Create(
    const StageInputs& inputs, absl::Span<const v1::TensorType> types) {
  EK_ASSIGN_OR_RETURN(v1::Chunk chunk, inputs.Parse<v1::Chunk>("chunk"));
  bool fits = chunk.arrays_size() == static_cast<int>(types.size()) &&
              chunk.samples() >= 0 && chunk.first_sample() >= 0;
  for (int i = 0; fits && i < chunk.arrays_size(); ++i) {
    const v1::TensorType& type = types[static_cast<size_t>(i)];
    const std::optional<int64_t> bytes = SampleBytes(type);
    const auto total = bytes ? CheckedMul(*bytes, chunk.samples()) : bytes;
    if (chunk.arrays(i).carried()) {
      fits = chunk.arrays(i).data().empty();
      continue;
    }
    fits = chunk.arrays(i).type().element_type() == type.element_type() &&
           total == static_cast<int64_t>(chunk.arrays(i).data().size());
  }
  if (fits) return ChunkReader(std::move(chunk));
  return absl::InternalError("a chunk does not fit the network's inputs");
}

bool ChunkReader::is_sequential() const {
  return std::any_of(chunk_.arrays().begin(), chunk_.arrays().end(),
                     [](const v1::Chunk::Array& a) { return a.carried(); });
}

std::vector<absl::string_view> ChunkReader::Sample(int64_t index) const {
  std::vector<absl::string_view> sample;
  for (const v1::Chunk::Array& array : chunk_.arrays()) {
    const size_t bytes =
        array.data().size() / static_cast<size_t>(chunk_.samples());
    sample.push_back(absl::string_view(array.data())
                         .substr(static_cast<size_t>(index) * bytes, bytes));
  }
  return sample;
}

ChunkWriter::ChunkWriter(absl::Span<const v1::TensorType> outputs,
                         int64_t first_sample) {
  chunk_.set_first_sample(first_sample);
  for (const v1::TensorType& type : outputs) {
    *chunk_.add_arrays()->mutable_type() = type;
  }
}

absl::StatusOr<AccuracyCounter> AccuracyCounter::Create(
    const StageInputs& inputs, absl::Span<const v1::TensorType> network_inputs,
    absl::Span<const v1::TensorType> network_outputs,
    const ChunkReader& chunk) {
  if (network_outputs.empty()) {
    return AccuracyCounter(v1::ELEMENT_TYPE_UNSPECIFIED);
  }
  const v1::TensorType& scores = network_outputs[0];
  AccuracyCounter counter(scores.element_type());
  counter.classes_ =
      ClassesOf(network_inputs, network_outputs, inputs.Has("labels"));
  if (!inputs.Has("labels") || counter.classes_ == 0) return counter;
  EK_ASSIGN_OR_RETURN(counter.labels_,
                      LabelsOf(inputs, chunk.first_sample(), chunk.samples()));
  for (size_t i = 0; i < counter.labels_.size(); ++i) {
    if (counter.labels_[i] < counter.classes_) continue;
    EK_ASSIGN_OR_RETURN(const auto all, AllLabels(inputs));
    return BeyondClasses(*all, chunk.first_sample() + static_cast<int64_t>(i),
                         counter.classes_, scores.name());
  }
  return counter;
}

absl::StatusOr<std::vector<int32_t>> LabelsOf(const StageInputs& inputs,
                                              int64_t first, int64_t samples) {
  EK_ASSIGN_OR_RETURN(const auto all, AllLabels(inputs));
  const auto end = CheckedAdd(first, samples);
  if (first < 0 || samples < 0 || !end || *end > all->label_size()) {
    return absl::InternalError("fewer labels than samples");
  }
  return std::vector<int32_t>(all->label().begin() + first,
                              all->label().begin() + *end);
}

void AccuracyCounter::Count(int64_t index, absl::string_view output) {
  if (classes_ == 0) return;
  const std::vector<int64_t> best = Largest(type_, output, 5);
  predicted_.push_back(best.empty() ? -1 : static_cast<int32_t>(best[0]));
  if (labels_.empty()) return;
  const int32_t label = labels_[static_cast<size_t>(index)];
  if (label < 0) return;
  ++labelled_;
  seen_labels_.insert(label);
  if (best.empty()) return;
  correct_ += best[0] == label;
  one_above_ += best[0] == label + 1;
  one_below_ += best[0] == label - 1;
  correct_top5_ += std::count(best.begin(), best.end(), label);
}

void AccuracyCounter::AddTo(v1::StageSummary::Samples& summary) const {
  summary.set_labelled(labelled_);
  summary.set_correct(correct_);
  summary.set_classes(classes_);
  if (classes_ >= kManyClasses) summary.set_correct_top5(correct_top5_);
  summary.mutable_predicted()->Add(predicted_.begin(), predicted_.end());
}

void AccuracyCounter::AddLabelsTo(v1::StageSummary::Samples& summary) const {
  summary.mutable_label()->Add(labels_.begin(), labels_.end());
}

bool AccuracyCounter::Suspicious(int64_t matches) const {
  // With few classes, or one label only, a bad network can look like that.
  return classes_ >= kManyClasses && seen_labels_.size() > 1 &&
         2 * matches >= labelled_ && matches > 4 * correct_;
}

std::vector<std::string> AccuracyCounter::Warnings() const {
  const auto text = [](absl::string_view direction, int offset) {
    return absl::StrCat(
        "labels seem to be numbered otherwise than the network's classes: most "
        "samples are right if every label is one ",
        direction, ": ", offset > 0 ? "raise" : "lower",
        " --label-offset by 1 (to ", offset, " if it was not given)");
  };
  if (Suspicious(one_above_)) return {text("larger", 1)};
  if (Suspicious(one_below_)) return {text("smaller", -1)};
  return {};
}

std::vector<int64_t> Largest(v1::ElementType type, absl::string_view scores,
                             size_t count) {
  const auto element = NpyTypeOf(type);
  if (!element) return {};
  const compiler::NpyArray array{*element, {}, std::string(scores)};
  std::vector<double> values;
  for (int64_t i = 0; i < array.elements(); ++i) {
    values.push_back(NpyValue(array, i));
  }
  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  const auto before = [&](int64_t a, int64_t b) {
    const double x = values[static_cast<size_t>(a)];
    const double y = values[static_cast<size_t>(b)];
    if (std::isnan(x) != std::isnan(y)) return std::isnan(y);
    if (x > y || x < y) return x > y;
    return a < b;
  };
  count = std::min(count, order.size());
  const auto middle = order.begin() + static_cast<int64_t>(count);
  std::partial_sort(order.begin(), middle, order.end(), before);
  order.resize(count);
  return order;
}

}  // namespace edgekiln::server
