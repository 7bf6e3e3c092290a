#include "compiler/quantize/calibrate.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/ir/interpreter.h"
#include "compiler/quantize/activation_histograms.h"

namespace edgekiln::compiler {
namespace {

constexpr int64_t kWhole = 1'000'000;

absl::Status Invalid(std::string what, std::string where, std::string need,
                     std::string fix) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "CALIBRATION_INVALID",
                    .what = std::move(what),
                    .where = std::move(where),
                    .need = std::move(need),
                    .fix = std::move(fix)});
}

// Tensors of other types are counts, indices and truth values: they stay.
absl::StatusOr<std::vector<Observed>> Activations(const Graph& graph,
                                                  bool histograms) {
  std::vector<Observed> observed;
  const auto add = [&](TensorId id) -> absl::Status {
    const Tensor& tensor = graph.tensors[id];
    if (tensor.quantization.has_value()) {
      return Invalid(
          absl::StrCat("it is a quantized ", v1::ElementType_Name(tensor.type)),
          absl::StrCat("tensor '", tensor.name, "'"), "a float32 graph",
          "calibrate the float model; a quantized one needs no calibration");
    }
    if (tensor.type != v1::FLOAT32) return absl::OkStatus();
    observed.push_back({.tensor = id,
                        .any = false,
                        .min = 0,
                        .max = 0,
                        .histogram = histograms
                                         ? std::make_optional<Histogram>()
                                         : std::nullopt,
                        .postponed = false,
                        .kept = std::nullopt});
    return absl::OkStatus();
  };
  for (const TensorId id : graph.inputs) EK_RETURN_IF_ERROR(add(id));
  for (const Op& op : graph.ops) {
    for (const TensorId id : op.outputs) {
      if (id != kNoTensor) EK_RETURN_IF_ERROR(add(id));
    }
  }
  return observed;
}

bool IsBounded(const Observed& observed) {
  return std::isfinite(observed.min) && std::isfinite(observed.max);
}

// Infinities are what masks are made of; in the data they are a mistake.
absl::Status ObserveRange(const Graph& graph, absl::Span<const float> values,
                          Observed& observed) {
  const bool is_input = std::find(graph.inputs.begin(), graph.inputs.end(),
                                  observed.tensor) != graph.inputs.end();
  for (const float value : values) {
    if (std::isnan(value) || (is_input && std::isinf(value))) {
      return Invalid(
          absl::StrCat("a tensor of the network becomes ",
                       std::isnan(value) ? "NaN" : "infinite",
                       " during calibration"),
          absl::StrCat("tensor '", graph.tensors[observed.tensor].name, "'"),
          "finite values",
          "give real samples with --calibration (random ones are between -1 "
          "and 1, and a logarithm or square root needs more than that); if "
          "you did, check them, their --input option and the model's weights");
    }
    if (!observed.any) observed.min = observed.max = value;
    observed.any = true;
    observed.min = std::min(observed.min, value);
    observed.max = std::max(observed.max, value);
  }
  return absl::OkStatus();
}

bool IsStateInput(const Graph& graph, TensorId id) {
  return std::any_of(graph.states.begin(), graph.states.end(),
                     [id](const State& state) { return state.input == id; });
}

// Bytes of one sample of each input, 0 for carried states. Checks that the
// chunk has them.
absl::StatusOr<std::vector<int64_t>> SampleBytes(const Graph& graph,
                                                 const v1::Chunk& chunk) {
  if (chunk.arrays_size() != static_cast<int>(graph.inputs.size()) ||
      chunk.samples() < 0) {
    return Invalid(absl::StrCat(chunk.arrays_size(), " arrays"),
                   "calibration data",
                   absl::StrCat(graph.inputs.size(), " (one per model input)"),
                   "give one array per model input");
  }
  std::vector<int64_t> bytes;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const Tensor& input = graph.tensors[graph.inputs[i]];
    const bool carried = chunk.arrays(static_cast<int>(i)).carried() &&
                         IsStateInput(graph, graph.inputs[i]);
    const int64_t one =
        carried ? 0 : input.num_elements() * ElementBytes(input.type);
    const std::optional<int64_t> all = CheckedMul(one, chunk.samples());
    const int64_t have =
        static_cast<int64_t>(chunk.arrays(static_cast<int>(i)).data().size());
    if (!all.has_value() || *all != have) {
      return Invalid(
          absl::StrCat(have, " bytes for ", chunk.samples(), " samples"),
          absl::StrCat("calibration data for input '", input.name, "'"),
          absl::StrCat(one, " bytes per sample"),
          "give samples of the shape of the model input");
    }
    bytes.push_back(one);
  }
  return bytes;
}

// Calls `look` after each sample.
absl::Status RunSamples(const Graph& graph, absl::Span<const v1::Chunk> chunks,
                        Interpreter& interpreter,
                        const std::function<absl::Status()>& look) {
  EK_RETURN_IF_ERROR(interpreter.SetStates({}));
  for (const v1::Chunk& chunk : chunks) {
    EK_ASSIGN_OR_RETURN(const std::vector<int64_t> bytes,
                        SampleBytes(graph, chunk));
    for (int64_t sample = 0; sample < chunk.samples(); ++sample) {
      std::vector<absl::string_view> inputs;
      for (size_t i = 0; i < bytes.size(); ++i) {
        const std::string& data = chunk.arrays(static_cast<int>(i)).data();
        inputs.push_back(absl::string_view(data).substr(
            static_cast<size_t>(sample * bytes[i]),
            static_cast<size_t>(bytes[i])));
      }
      EK_RETURN_IF_ERROR(interpreter.Run(inputs), "calibrating");
      EK_RETURN_IF_ERROR(look());
    }
  }
  return absl::OkStatus();
}

void CopyTo(absl::string_view bytes, std::vector<float>& values) {
  values.resize(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
}

v1::CalibrationStatistics::TensorRange RangeOf(const Graph& graph,
                                               const Observed& observed) {
  v1::CalibrationStatistics::TensorRange range;
  range.set_tensor(graph.tensors[observed.tensor].name);
  range.set_min(observed.min);
  range.set_max(observed.max);
  range.set_percentile_low(observed.min);
  range.set_percentile_high(observed.max);
  if (observed.kept) {
    const auto [low, high] = *observed.kept;
    range.set_percentile_low(std::max(observed.min, static_cast<float>(low)));
    range.set_percentile_high(std::min(observed.max, static_cast<float>(high)));
  }
  return range;
}

}  // namespace

absl::StatusOr<v1::CalibrationStatistics> Calibrate(
    const Graph& float_graph, absl::Span<const v1::Chunk> chunks,
    const v1::CalibrateOptions& options, const CalibrationProgress& progress,
    ops::CpuPath cpu_path, int64_t histogram_bytes) {
  const bool percentile = options.method() == v1::CalibrateOptions::PERCENTILE;
  if (percentile &&
      (options.percentile_ppm() < 1 || options.percentile_ppm() > kWhole)) {
    return Invalid(absl::StrCat("percentile_ppm is ", options.percentile_ppm()),
                   "calibration options", absl::StrCat("1 to ", kWhole),
                   "use 999900 to keep 99.99 % of the values");
  }
  int64_t total = 0;
  for (const v1::Chunk& chunk : chunks) {
    EK_RETURN_IF_ERROR(SampleBytes(float_graph, chunk).status());
    total += chunk.samples();
  }
  if (total == 0) {
    return Invalid("no samples", "calibration data", "at least one sample",
                   "give calibration data");
  }
  EK_ASSIGN_OR_RETURN(std::vector<Observed> observed,
                      Activations(float_graph, percentile));
  EK_ASSIGN_OR_RETURN(
      const std::unique_ptr<Interpreter> interpreter,
      Interpreter::Create(float_graph,
                          {.keep = InterpreterOptions::Keep::kAllTensors,
                           .cpu_path = cpu_path}));
  ActivationHistograms histograms(observed, histogram_bytes);
  std::vector<float> values;
  bool first_run = true;
  do {
    int64_t done = 0;
    const auto look = [&]() -> absl::Status {
      for (Observed& one : observed) {
        if (!first_run && !one.histogram) continue;
        CopyTo(interpreter->value(one.tensor), values);
        if (first_run) {
          EK_RETURN_IF_ERROR(ObserveRange(float_graph, values, one));
          if (!IsBounded(one)) histograms.Drop(one);
        }
        histograms.Add(values, one);
      }
      if (first_run && progress != nullptr) progress(++done, total);
      return absl::OkStatus();
    };
    EK_RETURN_IF_ERROR(RunSamples(float_graph, chunks, *interpreter, look));
    first_run = false;
  } while (histograms.EndRun(options.percentile_ppm()));
  v1::CalibrationStatistics statistics;
  statistics.set_samples(total);
  for (const Observed& one : observed) {
    *statistics.add_ranges() = RangeOf(float_graph, one);
  }
  return statistics;
}

}  // namespace edgekiln::compiler
