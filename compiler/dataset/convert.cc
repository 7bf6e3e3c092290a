#include "compiler/dataset/convert.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/dataset/data_set.h"
#include "compiler/dataset/element_type.h"
#include "compiler/dataset/element_writer.h"
#include "compiler/dataset/sample_layout.h"
#include "compiler/dataset/scale_check.h"

namespace edgekiln::compiler {
namespace {

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
    size_t index = 0;
    if (!transform.input().empty() || names.size() != 1) {
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
  v1::TensorType type;
  SampleLayout layout;
  bool copy = false;                // Elements are taken as they are.
  std::vector<double> scale = {1};  // Of the transform.
  std::vector<double> offset = {0};
  int64_t sample_bytes = 0;     // Converted.
  int64_t stored_elements = 0;  // Per sample.
};

absl::Status CheckRawType(const StoredArray& stored, const v1::TensorType& type,
                          NpyType wanted) {
  if (stored.values.type == wanted) return absl::OkStatus();
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      {.reason = "DATA_TYPE",
       .what = absl::StrCat("array ", stored.name, " is ",
                            NpyTypeName(stored.values.type)),
       .where = type.name(),
       .need = absl::StrCat(NpyTypeName(wanted), ", the network's own type"),
       .fix =
           absl::StrCat("convert it with astype, or add --input '", type.name(),
                        ":scale=1' to have real values converted")});
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
  const v1::TensorType& type = inputs.types[input];
  Job job;
  job.stored = &stored;
  job.type = type;
  LayoutQuestion question;
  question.input = type.name();
  question.stored_shape.assign(stored.values.shape.begin() + 1,
                               stored.values.shape.end());
  question.network_shape = SampleShape(type);
  question.network_is_nchw = inputs.is_nchw[input];
  question.network_is_nhwc =
      input < inputs.is_nhwc.size() && inputs.is_nhwc[input];
  job.copy = raw;
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
  if (job.copy) EK_RETURN_IF_ERROR(CheckRawType(stored, type, *element));
  job.stored_elements = static_cast<int64_t>(job.layout.source.size());
  job.sample_bytes = job.stored_elements * NpyTypeBytes(*element);
  return job;
}

double Pick(const std::vector<double>& factors, int32_t channel) {
  return factors.size() == 1 ? factors[0]
                             : factors[static_cast<size_t>(channel)];
}

// Values of samples [first, first + count) in the network's type.
absl::Status ConvertSamples(const Job& job, int64_t first, int64_t count,
                            ElementWriter* writer, std::string& out) {
  out.resize(static_cast<size_t>(count * job.sample_bytes));
  const NpyArray& values = job.stored->values;
  const int64_t bytes = NpyTypeBytes(values.type);
  char* to = out.data();
  for (int64_t s = first; s < first + count; ++s) {
    const int64_t base = s * job.stored_elements;
    for (size_t i = 0; i < job.layout.source.size(); ++i) {
      const int64_t from = base + job.layout.source[i];
      if (job.copy) {
        std::memcpy(to, values.data.data() + from * bytes,
                    static_cast<size_t>(bytes));
        to += bytes;
        continue;
      }
      const int32_t stored_c = job.layout.stored_channel[i];
      const int32_t network_c = job.layout.network_channel[i];
      const double own =
          NpyValue(values, from) * Pick(job.stored->scale, stored_c) +
          Pick(job.stored->offset, stored_c);
      const double real =
          own * Pick(job.scale, network_c) + Pick(job.offset, network_c);
      EK_RETURN_IF_ERROR(writer->Write(real, to),
                         absl::StrCat("array ", job.stored->name, ", sample ",
                                      s, ", element ", job.layout.source[i]));
      to += writer->element_bytes();
    }
  }
  return absl::OkStatus();
}

absl::Status FillChunks(const Job& job, std::vector<v1::Chunk>& chunks) {
  std::optional<ElementWriter> writer;
  if (!job.copy) {
    EK_ASSIGN_OR_RETURN(writer, ElementWriter::Create(job.type),
                        "converting data");
  }
  for (v1::Chunk& chunk : chunks) {
    v1::Chunk::Array& array = *chunk.add_arrays();
    *array.mutable_type() = job.type;
    EK_RETURN_IF_ERROR(
        ConvertSamples(job, chunk.first_sample(), chunk.samples(),
                       writer ? &*writer : nullptr, *array.mutable_data()),
        "converting data");
  }
  if (!writer) return absl::OkStatus();
  return CheckScaleOfData({.writer = *writer,
                           .input = job.type.name(),
                           .stored = *job.stored,
                           .scale = job.scale,
                           .offset = job.offset});
}

// The IR is NHWC: inputs of NCHW models are turned to it first, which is a
// reshape if there is one channel.
bool TurnsToNhwc(const v1::Graph& graph, const v1::Op& op) {
  constexpr int32_t kToNhwc[] = {0, 2, 3, 1};
  if (op.attributes().has_transpose()) {
    const auto& order = op.attributes().transpose().permutation();
    return std::equal(order.begin(), order.end(), std::begin(kToNhwc),
                      std::end(kToNhwc));
  }
  if (!op.attributes().has_reshape() || op.outputs_size() != 1) return false;
  const auto& from = graph.tensors(op.inputs(0)).type().shape();
  const auto& to = graph.tensors(op.outputs(0)).type().shape();
  if (from.size() != 4 || to.size() != 4 || from[1] != 1) return false;
  for (int d = 0; d < 4; ++d) {
    if (to[d] != from[kToNhwc[d]]) return false;
  }
  return true;
}

// What has a notion of height, width and channels.
bool TakesNhwc(const v1::Graph&, const v1::Op& op) {
  const v1::OpAttributes& attributes = op.attributes();
  return attributes.has_conv2d() || attributes.has_depthwise_conv2d() ||
         attributes.has_average_pool2d() || attributes.has_max_pool2d();
}

// Whether everything that reads a tensor does as `does` says; perhaps after
// quantizing it.
bool AllReaders(const v1::Graph& graph, int32_t tensor,
                bool (*does)(const v1::Graph&, const v1::Op&),
                bool may_quantize = true) {
  bool readers = false;
  for (const v1::Op& op : graph.ops()) {
    if (std::find(op.inputs().begin(), op.inputs().end(), tensor) ==
        op.inputs().end()) {
      continue;
    }
    readers = true;
    const bool later =
        may_quantize && op.attributes().has_quantize() &&
        op.outputs_size() == 1 &&
        AllReaders(graph, op.outputs(0), does, /*may_quantize=*/false);
    if (!does(graph, op) && !later) return false;
  }
  return readers;
}

}  // namespace

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

ModelInputs InputsOf(const v1::Graph& graph) {
  ModelInputs inputs;
  for (const int32_t input : graph.inputs()) {
    inputs.types.push_back(graph.tensors(input).type());
    inputs.is_nchw.push_back(AllReaders(graph, input, TurnsToNhwc));
    inputs.is_nhwc.push_back(AllReaders(graph, input, TakesNhwc));
  }
  return inputs;
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
  std::vector<std::string> names;
  std::vector<std::vector<int64_t>> shapes;
  for (const v1::TensorType& type : inputs.types) {
    names.push_back(type.name());
    shapes.push_back(SampleShape(type));
  }
  EK_ASSIGN_OR_RETURN(const DataSet set,
                      LoadDataSet(files, names, options.raw(), shapes),
                      "converting data");
  ConvertedData out;
  out.samples = options.limit() == 0 ? set.samples
                                     : std::min(set.samples, options.limit());
  if (admit) {
    EK_RETURN_IF_ERROR(admit(BytesOfSamples(inputs.types, out.samples)));
  }
  const int64_t wanted =
      std::max<int64_t>(options.chunk_samples(),
                        (out.samples + kUsefulChunks - 1) / kUsefulChunks);
  const int64_t step = ChunkSamples(inputs.types, wanted);
  for (int64_t first = 0; first < out.samples; first += step) {
    v1::Chunk& chunk = out.chunks.emplace_back();
    chunk.set_first_sample(first);
    chunk.set_samples(std::min(step, out.samples - first));
  }
  for (size_t i = 0; i < inputs.types.size(); ++i) {
    EK_ASSIGN_OR_RETURN(
        const Job job,
        PrepareJob(set.arrays[i], inputs, i, transforms[i], options.raw()),
        "converting data");
    EK_RETURN_IF_ERROR(FillChunks(job, out.chunks),
                       absl::StrCat("model input '", names[i], "'"));
  }
  if (set.labels) {
    v1::Labels labels;
    for (int64_t s = 0; s < out.samples; ++s) {
      const int32_t label = (*set.labels)[static_cast<size_t>(s)];
      labels.add_label(label);
      out.labelled += label >= 0;
    }
    if (out.labelled > 0) out.labels = std::move(labels);
  }
  return out;
}

}  // namespace edgekiln::compiler
