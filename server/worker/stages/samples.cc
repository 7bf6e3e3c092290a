#include "server/worker/stages/samples.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/dataset/element_type.h"
#include "compiler/dataset/npy.h"
#include "compiler/dataset/sample_layout.h"

namespace edgekiln::server {
namespace {

using compiler::NpyTypeBytes;
using compiler::NpyTypeOf;
using compiler::SampleShape;

std::optional<int64_t> SampleBytes(const v1::TensorType& type) {
  const auto element = NpyTypeOf(type.element_type());
  const auto elements = CheckedProduct(SampleShape(type));
  if (!element || !elements) return std::nullopt;
  return CheckedMul(*elements, NpyTypeBytes(*element));
}

// Number of classes, or 0 if the output is no vector of scores.
int64_t Classes(const v1::TensorType& input, const v1::TensorType& output) {
  const std::vector<int64_t> shape = SampleShape(output);
  const int64_t elements = CheckedProduct(shape).value_or(0);
  if (elements < 2 || shape == SampleShape(input)) return 0;
  const int64_t largest = *std::max_element(shape.begin(), shape.end());
  return largest == elements ? elements : 0;
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
    fits = chunk.arrays(i).type().element_type() == type.element_type() &&
           total == static_cast<int64_t>(chunk.arrays(i).data().size());
  }
  if (fits) return ChunkReader(std::move(chunk));
  return absl::InternalError("a chunk does not fit the network's inputs");
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

absl::StatusOr<Top1Counter> Top1Counter::Create(
    const StageInputs& inputs, const v1::TensorType& first_input,
    const v1::TensorType& first_output, const ChunkReader& chunk) {
  Top1Counter counter(first_output.element_type());
  const int64_t classes = Classes(first_input, first_output);
  if (!inputs.Has("labels") || classes == 0) return counter;
  // Those of all samples: the same blob for every chunk.
  const auto read = [&]() -> absl::StatusOr<std::shared_ptr<v1::Labels>> {
    EK_ASSIGN_OR_RETURN(v1::Labels all, inputs.Parse<v1::Labels>("labels"));
    return std::make_shared<v1::Labels>(std::move(all));
  };
  EK_ASSIGN_OR_RETURN(const auto all_labels,
                      inputs.Prepared<v1::Labels>({"labels"}, "", read));
  const v1::Labels& labels = *all_labels;
  const int64_t first = chunk.first_sample();
  const auto end = CheckedAdd(first, chunk.samples());
  if (!end || *end > labels.label_size()) {
    return absl::InternalError("fewer labels than samples");
  }
  for (int64_t i = first; i < *end; ++i) {
    const int32_t label = labels.label(static_cast<int>(i));
    if (label >= classes) {
      return MakeError(
          absl::StatusCode::kInvalidArgument,
          {.reason = "LABEL_OUT_OF_RANGE",
           .what = absl::StrCat("label ", label, " of sample ", i),
           .where = first_output.name(),
           .limit = absl::StrCat("the network has ", classes, " classes"),
           .need = "class indices from 0",
           .fix = "use the data set of this network's task, or -1 for samples "
                  "without a label"});
    }
    counter.labels_.push_back(label);
  }
  return counter;
}

void Top1Counter::Count(int64_t index, absl::string_view output) {
  if (labels_.empty()) return;
  const int32_t label = labels_[static_cast<size_t>(index)];
  if (label < 0) return;
  ++labelled_;
  correct_ += ArgMax(type_, output) == label;
}

int64_t ArgMax(v1::ElementType type, absl::string_view values) {
  const auto element = NpyTypeOf(type);
  if (!element) return 0;
  const compiler::NpyArray array{*element, {}, std::string(values)};
  int64_t best = 0;
  double largest = array.elements() > 0 ? NpyValue(array, 0) : 0;
  for (int64_t i = 1; i < array.elements(); ++i) {
    const double value = NpyValue(array, i);
    if (!(value > largest)) continue;
    best = i;
    largest = value;
  }
  return best;
}

}  // namespace edgekiln::server
