#include "compiler/dataset/synthesize.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/error.h"
#include "base/rng.h"
#include "base/status_macros.h"
#include "compiler/dataset/convert.h"
#include "compiler/dataset/data_set.h"
#include "compiler/dataset/element_type.h"
#include "compiler/dataset/element_writer.h"
#include "compiler/dataset/little_endian.h"
#include "compiler/dataset/sample_layout.h"
#include "ops/float16.h"

namespace edgekiln::compiler {
namespace {

constexpr int64_t kMaxSampleBytes = int64_t{1} << 30;
constexpr int64_t kMaxBytes = int64_t{1} << 30;  // Of all samples.

void Fill(NpyType type, bool quantized, Rng& rng, char* out) {
  switch (type) {
    case NpyType::kFloat32:
      // 24 bits, so that the conversion is exact and never reaches 1.
      StoreAs(static_cast<float>(
                  static_cast<double>(rng.Next() >> 40) * 0x1.0p-23 - 1.0),
              out);
      break;
    case NpyType::kFloat16:
      // 11 bits: as many as it holds between 1/2 and 1.
      StoreAs(ops::HalfFromDouble(
                  static_cast<double>(rng.Next() >> 53) * 0x1.0p-10 - 1.0),
              out);
      break;
    case NpyType::kFloat64:
      StoreAs(rng.Unit() * 2 - 1, out);
      break;
    case NpyType::kBool:
      StoreInteger(type, rng.InRange(0, 1), out);
      break;
    case NpyType::kInt8:
    case NpyType::kUint8:
    case NpyType::kInt16:
    case NpyType::kUint16:
      StoreInteger(
          type, rng.InRange(0, NpyTypeBytes(type) == 1 ? 0xff : 0xffff), out);
      break;
    default:
      StoreInteger(type, quantized ? rng.InRange(-128, 127) : rng.InRange(0, 1),
                   out);
      break;
  }
}

absl::StatusOr<int64_t> SampleElements(const v1::TensorType& type,
                                       NpyType element) {
  const std::vector<int64_t> shape = SampleShape(type);
  const auto elements = CheckedProduct(shape);
  const auto bytes =
      elements ? CheckedMul(*elements, NpyTypeBytes(element)) : std::nullopt;
  if (!bytes || *bytes > kMaxSampleBytes) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     {.reason = "INPUT_TOO_LARGE",
                      .what = absl::StrCat("input of shape ", ShapeText(shape)),
                      .where = type.name(),
                      .limit = absl::StrCat(kMaxSampleBytes, " bytes"),
                      .fix = "export the model with a smaller input"});
  }
  return *elements;
}

absl::Status TooMany(int64_t samples, const std::string& limit) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.reason = "BAD_LIMIT",
                    .what = absl::StrCat(samples, " synthetic samples"),
                    .where = "--limit",
                    .limit = limit,
                    .fix = "use a smaller --limit, or give --data"});
}

// As many as asked for, if they fit.
absl::StatusOr<int64_t> SampleCount(int64_t wanted,
                                    absl::Span<const v1::TensorType> inputs) {
  const int64_t samples = wanted > 0       ? wanted
                          : inputs.empty() ? 1
                                           : kSyntheticSamples;
  if (samples > kMaxEmptySamples) {
    return TooMany(samples, absl::StrCat(kMaxEmptySamples, " samples"));
  }
  int64_t bytes = 0;  // Of one sample.
  for (const v1::TensorType& type : inputs) {
    const std::optional<NpyType> element = NpyTypeOf(type.element_type());
    if (!element) return absl::InternalError("model input without a type");
    EK_ASSIGN_OR_RETURN(const int64_t elements, SampleElements(type, *element),
                        "synthetic data");
    bytes += elements * NpyTypeBytes(*element);
    // The default is for any model that runs at all.
    if (wanted > kSyntheticSamples && bytes > kMaxBytes / samples) {
      return TooMany(
          samples, absl::StrCat(kMaxBytes, " bytes of input, at least ", bytes,
                                " for each sample"));
    }
  }
  return samples;
}

}  // namespace

absl::StatusOr<std::vector<v1::Chunk>> SynthesizeData(
    const v1::SynthesizeDataOptions& options,
    absl::Span<const v1::TensorType> inputs, const AdmitBytes& admit,
    const std::vector<bool>& is_state) {
  if (options.samples() < 0 || options.chunk_samples() <= 0) {
    return absl::InternalError("samples or chunk_samples of synthetic data");
  }
  EK_ASSIGN_OR_RETURN(const int64_t samples,
                      SampleCount(options.samples(), inputs));
  if (admit) EK_RETURN_IF_ERROR(admit(BytesOfSamples(inputs, samples)));
  std::vector<v1::Chunk> chunks =
      EmptyChunks(inputs, samples, options.chunk_samples());
  // One stream per sample and input: SplitMix64 keeps neighbours apart.
  SplitMix64 spread(options.seed());
  const uint64_t base = spread.Next();
  uint64_t input_number = 0;
  for (const v1::TensorType& type : inputs) {
    const NpyType element = *NpyTypeOf(type.element_type());
    EK_ASSIGN_OR_RETURN(const int64_t elements, SampleElements(type, element),
                        "synthetic data");
    const size_t bytes = static_cast<size_t>(NpyTypeBytes(element));
    const bool quantized = type.quantization().scale_size() > 0;
    const bool carried =
        input_number < is_state.size() && is_state[input_number];
    for (v1::Chunk& chunk : chunks) {
      v1::Chunk::Array& array = *chunk.add_arrays();
      *array.mutable_type() = type;
      array.set_carried(carried);
      if (carried) continue;
      array.mutable_data()->resize(
          static_cast<size_t>(elements * chunk.samples()) * bytes);
      char* to = array.mutable_data()->data();
      for (int64_t s = 0; s < chunk.samples(); ++s) {
        Rng rng(base +
                static_cast<uint64_t>(chunk.first_sample() + s) *
                    inputs.size() +
                input_number);
        for (int64_t i = 0; i < elements; ++i, to += bytes) {
          Fill(element, quantized, rng, to);
        }
      }
    }
    ++input_number;
  }
  return chunks;
}

}  // namespace edgekiln::compiler
