#include "client/render/quantization.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/render/host_layers.h"
#include "reports/text/table.h"

namespace edgekiln::client {
namespace {

constexpr int kMaxNameWidth = 48;
// Beyond these, layers cost little.
constexpr size_t kMostRanked = 8;

std::string Decibels(double value) { return absl::StrFormat("%.1f", value); }

std::string NameText(const std::string& name) {
  return ClipMiddle(CleanText(name), kMaxNameWidth);
}

std::string WeightsText(v1::LayerScheme::Weights weights) {
  return absl::AsciiStrToLower(v1::LayerScheme::Weights_Name(weights));
}

// Of the result: its least integer tells the type.
std::string ActivationsText(const v1::QuantizedLayer& layer) {
  if (!(layer.scale() > 0)) return "int8";
  const double least =
      std::round(layer.range_low() / layer.scale()) + layer.zero_point();
  return least == 0 ? "uint8" : least < -128 ? "int16" : "int8";
}

std::string WeightSchemeText(const v1::QuantizedLayer& layer) {
  const std::string scales =
      layer.per_tensor() ? " tensor"
      : layer.channels_per_scale() > 1
          ? absl::StrCat(" ", layer.channels_per_scale(), " channels")
          : " channel";
  switch (layer.weights()) {
    case v1::LayerScheme::INT8:
      return absl::StrCat("int8", scales);
    case v1::LayerScheme::INT4:
      return absl::StrCat("int4", scales);
    case v1::LayerScheme::TERNARY:
      return absl::StrCat("ternary", scales);
    default:
      return "";
  }
}

// "int8 channel", "int4 tensor", "int8 channel, int16", "int8", "float". Of
// activations, int8 is said only where there are no weights.
std::string SchemeText(const v1::QuantizedLayer& layer) {
  if (layer.is_float()) return "float";
  const std::string weights = WeightSchemeText(layer);
  const std::string activations = ActivationsText(layer);
  if (weights.empty()) return activations;
  return activations == "int8" ? weights
                               : absl::StrCat(weights, ", ", activations);
}

// "-2.11 .. 3.98": what the integers can hold.
std::string RangeText(const v1::QuantizedLayer& layer) {
  if (layer.is_float() || layer.scale() == 0) return "-";
  return absl::StrFormat("%.3g .. %.3g", layer.range_low(), layer.range_high());
}

std::string ShareText(double share) {
  if (share <= 0) return "-";
  return share < 0.0001 ? "<0.01 %" : FormatPercent(share, 2);
}

bool HasWeights(const v1::QuantizedLayer& layer) {
  return layer.weights() != v1::LayerScheme::WEIGHTS_UNSPECIFIED &&
         !layer.is_float();
}

// "17: 28.4", the channel and its ratio.
std::string WorstText(const v1::QuantizedLayer& layer) {
  if (!HasWeights(layer) || !layer.has_worst_channel_sqnr_db()) return "-";
  return absl::StrCat(layer.worst_channel(), ": ",
                      Decibels(layer.worst_channel_sqnr_db()));
}

// "x2.35 (16 bits)".
std::string GrowthText(const v1::QuantizedLayer& layer) {
  if (layer.scale_growth() <= 1) return "-";
  return absl::StrFormat("x%.2f (%d bits)", layer.scale_growth(),
                         layer.accumulator_bits());
}

std::vector<const v1::QuantizedLayer*> Ranked(
    const v1::QuantizationReport& quantized) {
  std::vector<const v1::QuantizedLayer*> layers;
  for (const v1::QuantizedLayer& layer : quantized.layers()) {
    if (layer.has_network_sqnr_db()) layers.push_back(&layer);
  }
  std::stable_sort(layers.begin(), layers.end(),
                   [](const auto* a, const auto* b) {
                     return a->network_sqnr_db() < b->network_sqnr_db();
                   });
  return layers;
}

// Noise by signal, from decibels.
double NoiseOf(const v1::QuantizedLayer& layer) {
  return std::pow(10.0, -layer.network_sqnr_db() / 10);
}

}  // namespace

std::string RenderQuantizedLayers(const v1::QuantizationReport& quantized,
                                  const Style& style) {
  bool results = false;
  bool grew = false;
  for (const v1::QuantizedLayer& layer : quantized.layers()) {
    results = results || layer.has_output_sqnr_db();
    grew = grew || layer.scale_growth() > 1;
  }
  std::vector<Table::Column> columns = {
      {"LAYER"},
      {.title = "OP", .drop = 2},
      {"SCHEME"},
      {.title = "RANGE", .align = Align::kRight, .drop = 4},
      {.title = "ZERO", .align = Align::kRight, .drop = 6},
      {"WEIGHTS dB", Align::kRight},
      {.title = "WORST CHANNEL", .align = Align::kRight, .drop = 5}};
  if (grew) columns.push_back({"SCALE FOR SUMS", Align::kRight});
  if (results) columns.push_back({"RESULT dB", Align::kRight});
  columns.push_back({.title = "SATURATED", .align = Align::kRight, .drop = 3});
  Table table(std::move(columns));
  for (const v1::QuantizedLayer& layer : quantized.layers()) {
    std::vector<std::string> row = {
        NameText(layer.id()),
        NameText(layer.op()),
        SchemeText(layer),
        RangeText(layer),
        layer.is_float() || layer.scale() == 0
            ? "-"
            : absl::StrCat(layer.zero_point()),
        HasWeights(layer) && layer.has_weight_sqnr_db()
            ? Decibels(layer.weight_sqnr_db())
            : "-",
        WorstText(layer)};
    if (grew) row.push_back(GrowthText(layer));
    if (results) {
      row.push_back(
          layer.has_output_sqnr_db() ? Decibels(layer.output_sqnr_db()) : "-");
    }
    row.push_back(ShareText(layer.saturated()));
    table.AddRow(std::move(row));
  }
  return table.Render(style);
}

std::string RenderCostliest(const v1::QuantizationReport& quantized,
                            const Style& style) {
  const std::vector<const v1::QuantizedLayer*> layers = Ranked(quantized);
  if (layers.empty()) return "";
  double all = 0;
  for (const v1::QuantizedLayer* layer : layers) all += NoiseOf(*layer);
  Table table({{"COSTS MOST"},
               {.title = "OP", .drop = 1},
               {"OUTPUT dB IF ALONE", Align::kRight},
               {"SHARE OF NOISE", Align::kRight}});
  for (size_t i = 0; i < std::min(layers.size(), kMostRanked); ++i) {
    table.AddRow({NameText(layers[i]->id()), NameText(layers[i]->op()),
                  Decibels(layers[i]->network_sqnr_db()),
                  FormatPercent(NoiseOf(*layers[i]) / all, 1)});
  }
  std::string out = table.Render(style);
  if (layers.size() > kMostRanked) {
    absl::StrAppend(&out,
                    style.Dim(absl::StrCat(
                        "and ",
                        Count(static_cast<int64_t>(layers.size() - kMostRanked),
                              "layer", "layers"),
                        " that cost less")),
                    "\n");
  }
  for (const std::string& line : WrapWords(
           "shares of the sum over layers, each quantized alone; the noise of "
           "the whole network differs",
           style.width())) {
    absl::StrAppend(&out, style.Dim(line), "\n");
  }
  return out;
}

std::string RenderChoice(const v1::SchemeChoice& choice, const Style& style) {
  if (choice.layers().empty()) return "";
  Table table({{"COULD BE"},
               {"WEIGHTS"},
               {"ON"},
               {"CYCLES", Align::kRight},
               {"DIFFERS", Align::kRight},
               {.title = "OUTPUT dB", .align = Align::kRight, .drop = 2},
               {.title = "CHOSEN", .drop = 1}});
  for (const v1::SchemeChoice::Layer& layer : choice.layers()) {
    for (int i = 0; i < layer.options_size(); ++i) {
      const v1::SchemeChoice::Option& option = layer.options(i);
      table.AddRow(
          {i == 0 ? NameText(layer.id()) : "", WeightsText(option.weights()),
           option.engine().empty() ? "host" : NameText(option.engine()),
           GroupDigits(option.network_cycles()),
           FormatPercent(option.disagreement(), 2),
           option.has_network_sqnr_db() ? Decibels(option.network_sqnr_db())
                                        : "-",
           i == layer.chosen() ? CleanText(layer.reason()) : ""});
    }
  }
  return table.Render(style);
}

std::string ChoiceText(const v1::SchemeChoice& choice) {
  if (choice.samples() == 0) return "";
  std::string text = absl::StrCat(
      GroupDigits(choice.predicted_cycles()), " cycles predicted, ",
      GroupDigits(choice.most_exact_cycles()),
      " with the most exact forms; expected to differ from float on ",
      FormatPercent(choice.disagreement(), 2), " of samples (budget ",
      FormatPercent(choice.accuracy_budget_ppm() / 1e6, 2), "), judged on ",
      Count(choice.samples(), "sample", "samples"), "; ",
      Count(choice.assignments(), "combination", "combinations"), " measured");
  if (!choice.every_assignment()) {
    text += ", not all that are faster";
  }
  return text;
}

std::string QuantizedOutputText(const v1::QuantizationReport& quantized) {
  if (quantized.samples() == 0) return "";
  const std::string samples =
      absl::StrCat("on ", Count(quantized.samples(), "sample", "samples"));
  if (!quantized.has_output_sqnr_db()) {
    return absl::StrCat("no difference to float, ", samples);
  }
  return absl::StrCat(Decibels(quantized.output_sqnr_db()),
                      " dB of signal to noise, ", samples);
}

std::vector<std::string> FloatLayerLines(
    const v1::QuantizationReport& quantized) {
  HostLayers layers;
  for (const v1::QuantizedLayer& layer : quantized.layers()) {
    if (layer.is_float() && !layer.reason().empty()) {
      layers.Add(layer.id(), layer.reason());
    }
  }
  return layers.Lines();
}

std::string RenderMethods(
    const std::vector<std::pair<std::string, v1::Report>>& methods,
    const Style& style) {
  bool accuracy = false;
  for (const auto& [name, report] : methods) {
    accuracy = accuracy || report.has_accuracy();
  }
  std::vector<Table::Column> columns = {{.title = "RANGES BY", .whole = true},
                                        {"OUTPUT dB", Align::kRight}};
  if (accuracy) {
    columns.push_back({"ACCURACY", Align::kRight});
    columns.push_back({"TO FLOAT", Align::kRight});
  }
  columns.push_back({.title = "COSTS MOST", .drop = 1});
  Table table(std::move(columns));
  for (const auto& [name, report] : methods) {
    const v1::QuantizationReport& quantized = report.quantized();
    std::vector<std::string> row = {name,
                                    quantized.has_output_sqnr_db()
                                        ? Decibels(quantized.output_sqnr_db())
                                        : "-"};
    if (accuracy) {
      const v1::Report::Accuracy& of = report.accuracy();
      row.push_back(report.has_accuracy() ? FormatPercent(of.value(), 2) : "-");
      row.push_back(
          report.has_accuracy()
              ? absl::StrFormat("%+.2f pp",
                                100 * (of.value() - of.reference_value()))
              : "-");
    }
    const std::vector<const v1::QuantizedLayer*> ranked = Ranked(quantized);
    row.push_back(ranked.empty() ? "-" : NameText(ranked.front()->id()));
    table.AddRow(std::move(row));
  }
  return table.Render(style);
}

}  // namespace edgekiln::client
