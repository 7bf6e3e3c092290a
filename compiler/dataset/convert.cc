#include "compiler/dataset/convert.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "base/error.h"
#include "base/rounding.h"
#include "base/status_macros.h"
#include "compiler/dataset/data_set.h"
#include "compiler/dataset/element_type.h"
#include "compiler/dataset/element_writer.h"
#include "compiler/dataset/input_option.h"
#include "compiler/dataset/sample_layout.h"
#include "compiler/dataset/scale_check.h"

namespace edgekiln::compiler {
namespace {

constexpr int64_t kMaxLabel = std::numeric_limits<int32_t>::max();

// Stored values that are unpacked at once, but for a single sample that is
// larger.
constexpr int64_t kWindowBytes = int64_t{1} << 20;

absl::Status BadOption(ErrorDetail detail) {
  detail.reason = "INPUT_OPTION";
  return MakeError(absl::StatusCode::kInvalidArgument, std::move(detail));
}

// The transform of each input; null = none was given.
absl::StatusOr<std::vector<const v1::InputTransform*>> MatchTransforms(
    const v1::ConvertDataOptions& options, const ModelInputs& inputs) {
  std::vector<const v1::InputTransform*> matched(inputs.types.size(), nullptr);
  std::vector<std::string> names;
  for (const v1::TensorType& type : inputs.types) names.push_back(type.name());
  for (const v1::InputTransform& transform : options.transforms()) {
    const auto only = OnlyInput(names, inputs.is_state);
    size_t index = only.value_or(0);
    if (!transform.input().empty() || !only) {
      index = static_cast<size_t>(
          std::find(names.begin(), names.end(), transform.input()) -
          names.begin());
    }
    if (index == names.size()) {
      return BadOption(
          {.what = absl::StrCat("model has no input '", transform.input(), "'"),
           .where = "--input",
           .need = absl::StrCat("one of: ", absl::StrJoin(names, ", ")),
           .fix = names.empty() ? "leave --input out"
                                : absl::StrCat("name it: --input '",
                                               names.front(), ":KEY=VALUE'")});
    }
    if (matched[index] != nullptr) {
      return BadOption(
          {.what = "two --input options for one input", .where = names[index]});
    }
    for (const double value : transform.scale()) {
      if (!std::isfinite(value)) {
        return BadOption(
            {.what = "scale is not finite", .where = names[index]});
      }
    }
    for (const double value : transform.offset()) {
      if (!std::isfinite(value)) {
        return BadOption(
            {.what = "offset is not finite", .where = names[index]});
      }
    }
    matched[index] = &transform;
  }
  return matched;
}

// One model input being converted.
struct Job {
  const StoredArray* stored = nullptr;
  v1::TensorType type;                         // In the source model.
  const PortConversion* conversion = nullptr;  // From there to the network.
  SampleLayout layout;
  bool copy = false;                // Elements are taken as they are.
  std::vector<double> scale = {1};  // Of the transform.
  std::vector<double> offset = {0};
  const v1::InputTransform* transform = nullptr;  // May be null.
  std::optional<InputGrid> grid;
  int64_t sample_bytes = 0;     // Converted.
  int64_t stored_elements = 0;  // Per sample.
};

absl::Status CheckRawType(const StoredArray& stored, const v1::TensorType& type,
                          NpyType wanted, const v1::InputTransform* given) {
  if (stored.info.type == wanted) return absl::OkStatus();
  v1::InputTransform convert;
  convert.add_scale(1);
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      {.reason = "DATA_TYPE",
       .what = absl::StrCat("array ", stored.name, " is ",
                            NpyTypeName(stored.info.type)),
       .where = type.name(),
       .need = absl::StrCat(NpyTypeName(wanted), ", the network's own type"),
       .fix = absl::StrCat("convert it with astype, or ",
                           SuggestInput(type.name(), given, convert),
                           " to have real values converted")});
}

int64_t Factors(const std::vector<double>& a, const std::vector<double>& b) {
  return static_cast<int64_t>(std::max(a.size(), b.size()));
}

absl::Status CheckFactors(const std::vector<double>& a,
                          const std::vector<double>& b,
                          const std::string& where) {
  if (a.size() == b.size() || a.size() == 1 || b.size() == 1) {
    return absl::OkStatus();
  }
  return BadOption(
      {.what = absl::StrCat(a.size(), " scales, ", b.size(), " offsets"),
       .where = where,
       .need = "one for all channels, or one per channel"});
}

absl::StatusOr<Job> PrepareJob(const StoredArray& stored,
                               const ModelInputs& inputs, size_t input,
                               const v1::InputTransform* transform, bool raw) {
  Job job;
  job.stored = &stored;
  if (input < inputs.conversions.size() && inputs.conversions[input]) {
    job.conversion = &*inputs.conversions[input];
  }
  job.type = job.conversion ? job.conversion->source() : inputs.types[input];
  const v1::TensorType& type = job.type;
  LayoutQuestion question;
  question.input = type.name();
  question.stored_shape.assign(stored.info.shape.begin() + 1,
                               stored.info.shape.end());
  question.network_shape = SampleShape(type);
  question.network_is_nchw = inputs.is_nchw[input];
  question.network_is_nhwc =
      input < inputs.is_nhwc.size() && inputs.is_nhwc[input];
  job.copy = raw;
  job.transform = transform;
  job.grid = input < inputs.grids.size() ? inputs.grids[input] : GridOf(type);
  question.given = transform;
  if (transform != nullptr) {
    question.layout = transform->layout();
    question.order = transform->order();
    job.copy = raw && transform->scale_size() + transform->offset_size() == 0;
    if (transform->scale_size() > 0) {
      job.scale.assign(transform->scale().begin(), transform->scale().end());
    }
    if (transform->offset_size() > 0) {
      job.offset.assign(transform->offset().begin(), transform->offset().end());
    }
  }
  const std::optional<NpyType> element = NpyTypeOf(type.element_type());
  if (!element) return absl::InternalError("model input without element type");
  if (!job.copy) {
    question.stored_factors = Factors(stored.scale, stored.offset);
    question.network_factors = Factors(job.scale, job.offset);
    EK_RETURN_IF_ERROR(CheckFactors(stored.scale, stored.offset, stored.name),
                       "data set");
    EK_RETURN_IF_ERROR(CheckFactors(job.scale, job.offset, type.name()),
                       "--input");
  }
  EK_ASSIGN_OR_RETURN(job.layout, ResolveLayout(question),
                      absl::StrCat("model input '", type.name(), "'"));
  // After the shape: data of another model is the likelier mistake.
  if (job.copy) {
    EK_RETURN_IF_ERROR(CheckRawType(stored, type, *element, transform));
  }
  job.stored_elements = static_cast<int64_t>(job.layout.source.size());
  job.sample_bytes = job.stored_elements * NpyTypeBytes(*element);
  return job;
}

double Pick(const std::vector<double>& factors, int32_t channel) {
  return factors.size() == 1 ? factors[0]
                             : factors[static_cast<size_t>(channel)];
}

// The elements of one sample, of which `stored` holds the values.
absl::Status ConvertSample(const Job& job, absl::string_view stored,
                           int64_t sample, ElementWriter* writer,
                           SeenValues* seen, char* to) {
  const NpyType type = job.stored->info.type;
  const int64_t bytes = NpyTypeBytes(type);
  for (size_t i = 0; i < job.layout.source.size(); ++i) {
    const char* const from = stored.data() + job.layout.source[i] * bytes;
    if (job.copy) {
      std::memcpy(to, from, static_cast<size_t>(bytes));
      to += bytes;
      continue;
    }
    const int32_t stored_c = job.layout.stored_channel[i];
    const int32_t network_c = job.layout.network_channel[i];
    const double own =
        NpyValueAt(type, from) * Pick(job.stored->scale, stored_c) +
        Pick(job.stored->offset, stored_c);
    const double real =
        own * Pick(job.scale, network_c) + Pick(job.offset, network_c);
    if (seen != nullptr) seen->Note(real);
    EK_RETURN_IF_ERROR(
        writer->Write(real, to),
        absl::StrCat("array ", job.stored->name, ", sample ", sample,
                     ", element ", job.layout.source[i]));
    to += writer->element_bytes();
  }
  return absl::OkStatus();
}

// Values of the samples [first, first + count), which are the next of the
// array, in the source model's type.
absl::Status ConvertSamples(const Job& job, int64_t first, int64_t count,
                            ElementWriter* writer, SeenValues* seen,
                            std::string& out) {
  out.resize(static_cast<size_t>(count * job.sample_bytes));
  char* to = out.data();
  const int64_t bytes = StoredSampleBytes(job.stored->info);
  const int64_t step =
      std::max<int64_t>(1, kWindowBytes / std::max<int64_t>(1, bytes));
  for (int64_t done = 0; done < count; done += step) {
    const int64_t samples = std::min(step, count - done);
    EK_ASSIGN_OR_RETURN(const absl::string_view values,
                        job.stored->samples->Next(samples),
                        absl::StrCat("array ", job.stored->name));
    for (int64_t i = 0; i < samples; ++i, to += job.sample_bytes) {
      EK_RETURN_IF_ERROR(
          ConvertSample(job, values.substr(static_cast<size_t>(i * bytes)),
                        first + done + i, writer, seen, to));
    }
  }
  return absl::OkStatus();
}

// The same in the network's type.
absl::Status ConvertToNetwork(const Job& job, int64_t first, int64_t count,
                              ElementWriter* writer, SeenValues* seen,
                              std::string& out) {
  if (job.conversion == nullptr) {
    return ConvertSamples(job, first, count, writer, seen, out);
  }
  // Floats of a whole chunk would be four times its size.
  std::string sample;
  for (int64_t s = first; s < first + count; ++s) {
    EK_RETURN_IF_ERROR(ConvertSamples(job, s, 1, writer, seen, sample));
    EK_ASSIGN_OR_RETURN(const std::string integers,
                        job.conversion->ToIntegers(sample));
    if (s == first) out.reserve(integers.size() * static_cast<size_t>(count));
    out += integers;
  }
  return absl::OkStatus();
}

// A state without stored data.
void AddCarried(const v1::TensorType& type, ConvertedData& data) {
  for (v1::Chunk& chunk : data.chunks) {
    v1::Chunk::Array& array = *chunk.add_arrays();
    *array.mutable_type() = type;
    array.set_carried(true);
  }
}

absl::Status FillChunks(const Job& job, const v1::TensorType& type,
                        ConvertedData& data) {
  std::optional<ElementWriter> writer;
  std::optional<SeenValues> seen;
  if (!job.copy) {
    if (job.grid) seen.emplace(*job.grid);
    EK_ASSIGN_OR_RETURN(writer, ElementWriter::Create(job.type),
                        "converting data");
  }
  for (v1::Chunk& chunk : data.chunks) {
    v1::Chunk::Array& array = *chunk.add_arrays();
    *array.mutable_type() = type;
    EK_RETURN_IF_ERROR(
        ConvertToNetwork(job, chunk.first_sample(), chunk.samples(),
                         writer ? &*writer : nullptr, seen ? &*seen : nullptr,
                         *array.mutable_data()),
        "converting data");
  }
  EK_RETURN_IF_ERROR(job.stored->samples->Finish(),
                     absl::StrCat("array ", job.stored->name));
  if (!seen) return absl::OkStatus();
  return CheckScaleOfData({.grid = *job.grid,
                           .seen = *seen,
                           .input = job.type.name(),
                           .stored = *job.stored,
                           .given = job.transform},
                          data.warnings);
}

// A model without inputs computes the same each time.
absl::StatusOr<ConvertedData> SamplesOfNothing(
    const v1::ConvertDataOptions& options, const ModelInputs& inputs) {
  if (!inputs.types.empty()) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     {.reason = "NO_DATA",
                      .what = "no data to feed the model with",
                      .where = inputs.types[0].name(),
                      .need = "samples for every model input",
                      .fix = "give --data with an array for each input"});
  }
  ConvertedData out;
  out.samples = std::max<int64_t>(1, options.limit());
  if (out.samples > kMaxEmptySamples) {
    return MakeError(
        absl::StatusCode::kInvalidArgument,
        {.reason = "BAD_LIMIT",
         .what = absl::StrCat(out.samples, " runs of a model without inputs"),
         .where = "--limit",
         .limit = absl::StrCat(kMaxEmptySamples, " runs"),
         .fix = "all give the same: use a smaller --limit"});
  }
  out.chunks = EmptyChunks({}, out.samples, options.chunk_samples());
  return out;
}

absl::Status AddLabels(absl::Span<const int32_t> stored, int32_t offset,
                       ConvertedData& data) {
  v1::Labels labels;
  for (int64_t s = 0; s < data.samples; ++s) {
    const int32_t label = stored[static_cast<size_t>(s)];
    const int64_t moved = label < 0 ? label : int64_t{label} + offset;
    if (label >= 0 && (moved < 0 || moved > kMaxLabel)) {
      return MakeError(
          absl::StatusCode::kInvalidArgument,
          {.reason = "LABEL_OUT_OF_RANGE",
           .what = absl::StrCat("label ", label, " of sample ", s,
                                " becomes class ", moved),
           .where = "--label-offset",
           .limit = absl::StrCat("classes 0 to ", kMaxLabel),
           .fix = absl::StrCat("use --label-offset ", -label,
                               " or more, or -1 for samples without a label")});
    }
    labels.add_label(static_cast<int32_t>(moved));
    data.labelled += label >= 0;
  }
  if (data.labelled > 0) data.labels = std::move(labels);
  return absl::OkStatus();
}

}  // namespace

std::vector<v1::Chunk> EmptyChunks(absl::Span<const v1::TensorType> inputs,
                                   int64_t samples, int64_t chunk_samples) {
  const int64_t wanted =
      std::max<int64_t>(chunk_samples, CeilDiv(samples, kUsefulChunks));
  const int64_t step = ChunkSamples(inputs, wanted);
  std::vector<v1::Chunk> chunks;
  for (int64_t first = 0; first < samples; first += step) {
    v1::Chunk& chunk = chunks.emplace_back();
    chunk.set_first_sample(first);
    chunk.set_samples(std::min(step, samples - first));
  }
  return chunks;
}

int64_t ChunkSamples(absl::Span<const v1::TensorType> inputs, int64_t wanted) {
  int64_t bytes = 0;
  for (const v1::TensorType& type : inputs) {
    const std::vector<int64_t> shape = SampleShape(type);
    const int64_t elements = CheckedProduct(shape).value_or(kMaxChunkBytes);
    const auto element = NpyTypeOf(type.element_type());
    // Saturates: past the limit one sample is a chunk anyway.
    bytes += std::min(elements, kMaxChunkBytes) *
             (element ? NpyTypeBytes(*element) : 1);
    bytes = std::min(bytes, kMaxChunkBytes);
  }
  const int64_t fit = kMaxChunkBytes / std::max<int64_t>(bytes, 1);
  return std::max<int64_t>(1, std::min(wanted, fit));
}

std::optional<int64_t> BytesOfSamples(absl::Span<const v1::TensorType> inputs,
                                      int64_t samples) {
  std::optional<int64_t> sum = 0;
  for (const v1::TensorType& type : inputs) {
    const auto element = NpyTypeOf(type.element_type());
    auto bytes = CheckedProduct(SampleShape(type));
    if (!element || !bytes) return std::nullopt;
    bytes = CheckedMul(*bytes, NpyTypeBytes(*element));
    if (bytes) bytes = CheckedMul(*bytes, samples);
    if (bytes) sum = CheckedAdd(*sum, *bytes);
    if (!bytes || !sum) return std::nullopt;
  }
  return sum;
}

absl::StatusOr<ConvertedData> ConvertDataSet(
    const v1::ConvertDataOptions& options,
    absl::Span<const absl::string_view> files, const ModelInputs& inputs,
    const AdmitBytes& admit) {
  if (options.chunk_samples() <= 0 || options.limit() < 0) {
    return absl::InternalError("chunk_samples or limit of a conversion");
  }
  EK_ASSIGN_OR_RETURN(const auto transforms, MatchTransforms(options, inputs),
                      "converting data");
  if (files.empty()) return SamplesOfNothing(options, inputs);
  DataSetQuestion question;
  for (const v1::TensorType& type : inputs.types) {
    question.input_names.push_back(type.name());
    question.network_shapes.push_back(SampleShape(type));
  }
  question.is_state = inputs.is_state;
  const auto only = OnlyInput(question.input_names, inputs.is_state);
  question.labels_optional = options.raw();
  question.limit = options.limit();
  question.input_was_named = only && transforms[*only] != nullptr &&
                             !transforms[*only]->input().empty();
  EK_ASSIGN_OR_RETURN(const DataSet set, LoadDataSet(files, question),
                      "data set");
  ConvertedData out;
  out.samples = set.wanted;
  std::vector<v1::TensorType> fed;
  for (size_t i = 0; i < inputs.types.size(); ++i) {
    if (!set.arrays[i].name.empty()) fed.push_back(inputs.types[i]);
  }
  if (admit) EK_RETURN_IF_ERROR(admit(BytesOfSamples(fed, out.samples)));
  out.chunks = EmptyChunks(fed, out.samples, options.chunk_samples());
  for (size_t i = 0; i < inputs.types.size(); ++i) {
    if (set.arrays[i].name.empty()) {
      AddCarried(inputs.types[i], out);
      continue;
    }
    EK_ASSIGN_OR_RETURN(
        const Job job,
        PrepareJob(set.arrays[i], inputs, i, transforms[i], options.raw()),
        "converting data");
    EK_RETURN_IF_ERROR(
        FillChunks(job, inputs.types[i], out),
        absl::StrCat("model input '", question.input_names[i], "'"));
  }
  if (set.labels) {
    EK_RETURN_IF_ERROR(AddLabels(*set.labels, options.label_offset(), out),
                       "data set");
  }
  return out;
}

}  // namespace edgekiln::compiler
