#include "client/render/model.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/render/error_block.h"
#include "client/render/host_layers.h"
#include "reports/headline.h"
#include "reports/text/table.h"

namespace edgekiln::client {
namespace {

constexpr int kMaxNameWidth = 48;
constexpr int kMaxReasonWidth = 60;
// As `describe` names it.
constexpr char kHost[] = "host";

template <typename Shape>
std::string ShapeText(const Shape& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ","), "]");
}

std::string QuantizationText(const v1::Quantization& q) {
  if (q.scale_size() == 0) return "";
  if (q.scale_size() > 1) {
    return absl::StrFormat("%d scales along axis %d", q.scale_size(), q.axis());
  }
  return absl::StrFormat("scale %.7g zero point %d", q.scale(0),
                         q.zero_point_size() > 0 ? q.zero_point(0) : 0);
}

std::string InputsText(const v1::ModelDescription::Layer& layer) {
  std::vector<std::string> shapes;
  for (const v1::ModelDescription::Shape& shape : layer.inputs()) {
    shapes.push_back(ShapeText(shape.extent()));
  }
  return absl::StrJoin(shapes, " ");
}

// "0.0235, -128"; "-" if not quantized.
std::string ScaleText(const v1::Quantization& q) {
  if (q.scale_size() == 0) return "-";
  if (q.scale_size() > 1) return absl::StrCat(q.scale_size(), " scales");
  return absl::StrFormat("%.4g, %d", q.scale(0),
                         q.zero_point_size() > 0 ? q.zero_point(0) : 0);
}

// "int8 x16": with 16 scales, one per channel.
std::string WeightsText(const v1::ModelDescription::Layer& layer) {
  if (layer.weight_type().empty()) return "-";
  std::string text = CleanText(layer.weight_type());
  if (layer.weight_scales() > 1) {
    absl::StrAppend(&text, " x", layer.weight_scales());
  }
  return text;
}

std::string Ports(const v1::ModelDescription& model, const Style& style) {
  Table table({{.title = "", .whole = true},
               {.title = ""},
               {.title = ""},
               {.title = ""},
               {.title = "", .whole = true, .drop = 1}});
  const auto add = [&](absl::string_view label,
                       const v1::ModelDescription::Port& port) {
    table.AddRow({std::string(label), CleanText(port.name()),
                  ShapeText(port.shape()), CleanText(port.type()),
                  QuantizationText(port.quantization())});
  };
  for (const auto& port : model.inputs()) add("input", port);
  for (const auto& port : model.outputs()) add("output", port);
  return table.Render(style);
}

std::string Layers(const v1::ModelDescription& model, const Style& style) {
  const bool placed =
      std::any_of(model.layers().begin(), model.layers().end(),
                  [](const auto& layer) { return !layer.engine().empty(); });
  std::vector<Table::Column> columns = {
      {.title = "LAYER"},
      {.title = "OP", .drop = 2},
      {.title = "INPUT", .drop = 6},
      {.title = "OUTPUT", .drop = 3},
      {.title = "TYPE", .drop = 4},
      {.title = "SCALE, ZERO", .drop = 8},
      {.title = "WEIGHTS", .drop = 7},
      {.title = "MACS", .align = Align::kRight},
      {.title = "PARAMS", .align = Align::kRight, .drop = 5}};
  if (placed) {
    columns.push_back({.title = "ENGINE", .drop = 1});
    // The reasons for the host are told below, too.
    columns.push_back({.title = "REASON", .drop = 9});
  }
  Table table(columns);
  for (const v1::ModelDescription::Layer& layer : model.layers()) {
    std::vector<std::string> row = {
        ClipMiddle(CleanText(layer.id()), kMaxNameWidth),
        ClipMiddle(CleanText(layer.op()), kMaxNameWidth),
        InputsText(layer),
        ShapeText(layer.output_shape()),
        CleanText(layer.output_type()),
        ScaleText(layer.output_quantization()),
        WeightsText(layer),
        GroupDigits(layer.macs()),
        GroupDigits(layer.parameters())};
    if (placed) {
      row.push_back(CleanText(layer.engine()));
      row.push_back(ClipMiddle(CleanText(layer.reason()), kMaxReasonWidth));
    }
    table.AddRow(std::move(row));
  }
  std::vector<std::string> total(columns.size());
  total[0] = "total";
  total[7] = GroupDigits(model.macs());
  total[8] = GroupDigits(model.parameters());
  table.AddRow(std::move(total));
  return table.Render(style);
}

// `text` behind `front`, in lines that fit below each other.
std::string Hanging(absl::string_view front, absl::string_view painted,
                    absl::string_view text, const Style& style) {
  const int indent = TextWidth(front);
  const int width = style.width() > 0 ? std::max(style.width() - indent, 1) : 0;
  std::string out;
  for (const std::string& line : WrapWords(text, width)) {
    absl::StrAppend(&out, out.empty() ? painted : std::string(indent, ' '),
                    line, "\n");
  }
  return out;
}

// The reasons whole: columns are clipped in narrow terminals.
std::string HostLines(const v1::ModelDescription& model, const Style& style) {
  HostLayers layers;
  for (const v1::ModelDescription::Layer& layer : model.layers()) {
    if (layer.engine() != kHost || layer.reason().empty()) continue;
    layers.Add(layer.id(), layer.reason());
  }
  std::string out;
  for (const std::string& line : layers.Lines()) {
    absl::StrAppend(
        &out, out.empty() ? "\n" : "",
        Hanging("on host  ", style.Bold("on host") + "  ", line, style));
  }
  return out;
}

}  // namespace

std::string RenderModel(const v1::ModelDescription& model,
                        absl::string_view name, const Style& style,
                        absl::string_view target) {
  std::string title =
      CleanText(model.name().empty() ? name : absl::string_view(model.name()));
  if (!model.format().empty()) {
    absl::StrAppend(&title, "   ", CleanText(model.format()));
  }
  absl::StrAppend(&title, model.quantized() ? ", quantized" : ", float");
  if (!model.recipe().empty()) {
    absl::StrAppend(&title, ", recipe ", CleanText(model.recipe()));
  }
  const std::string headline = Headline(model, target);
  std::string out;
  if (!headline.empty()) {
    for (const std::string& line : WrapWords(headline, style.width())) {
      absl::StrAppend(&out, style.Yellow(line), "\n");
    }
  }
  for (const std::string& line : WrapWords(title, style.width())) {
    absl::StrAppend(&out, style.Bold(line), "\n");
  }
  out += "\n";
  absl::StrAppend(&out, Ports(model, style), "\n", Layers(model, style),
                  HostLines(model, style));
  for (const std::string& warning : model.warnings()) {
    absl::StrAppend(&out, "\n",
                    Hanging("warning: ", style.Yellow("warning: "),
                            CleanText(warning), style));
  }
  for (const v1::ErrorDetail& problem : model.problems()) {
    absl::StrAppend(&out, "\n", RenderError(problem, style, "problem"));
  }
  return out;
}

}  // namespace edgekiln::client
