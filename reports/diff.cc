#include "reports/diff.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/format_bytes.h"
#include "reports/text/text.h"

namespace edgekiln {
namespace {

using Layer = v1::Report::Layer;
using Quantity = v1::ReportDiff::Quantity;

constexpr absl::string_view kMemoryPrefix = "memory.";

v1::ReportDiff::Side SideOf(const v1::Report& report,
                            absl::string_view source) {
  v1::ReportDiff::Side side;
  side.set_source(SanitizeText(std::string(source), 1024));
  side.set_job_id(report.job_id());
  side.set_model_name(report.model_name());
  if (report.has_model()) *side.mutable_model() = report.model();
  side.set_target_name(report.target_name());
  if (report.has_target()) *side.mutable_target() = report.target();
  side.set_version(report.version());
  side.set_calibration(report.calibration());
  side.set_recipe(report.recipe());
  side.set_offload(report.offload());
  return side;
}

// "model net.tflite (1a2b3c4d) and other.tflite (9f8e7d6c)"; empty if both name
// the same bytes.
std::string Unequal(absl::string_view noun, const std::string& a_name,
                    const v1::Digest& a, const std::string& b_name,
                    const v1::Digest& b) {
  if (a.hash() == b.hash() && (!a.hash().empty() || a_name == b_name)) {
    return "";
  }
  const auto shown = [](const std::string& name, const v1::Digest& digest) {
    return digest.hash().empty()
               ? name
               : absl::StrCat(name, " (", digest.hash().substr(0, 8), ")");
  };
  return absl::StrCat("unequal ", noun, "s: ", shown(a_name, a), " and ",
                      shown(b_name, b));
}

// Whether the other form of inputs and outputs has other cycles.
bool FormsDiffer(const v1::Report::Totals& totals) {
  return totals.cycles_other_io() != 0 &&
         totals.cycles_other_io() != totals.cycles();
}

std::string IoText(const v1::Report::Totals& totals) {
  // Reports that do not tell are older than integers at the border.
  return totals.io() == v1::IO_INTEGER ? "--io int" : "--io float";
}

void AddCaveats(const v1::Report& a, const v1::Report& b,
                v1::ReportDiff& diff) {
  const auto add = [&diff](std::string caveat) {
    if (!caveat.empty()) diff.add_caveats(std::move(caveat));
  };
  const auto add_unequal = [&](absl::string_view noun, const std::string& left,
                               const std::string& right) {
    if (left != right) {
      add(absl::StrCat("unequal ", noun, ": ", left.empty() ? "none" : left,
                       " and ", right.empty() ? "none" : right));
    }
  };
  add(Unequal("model", a.model_name(), a.model(), b.model_name(), b.model()));
  add(Unequal("target", a.target_name(), a.target(), b.target_name(),
              b.target()));
  // Reports that do not tell are older than recipes.
  const auto recipe = [](const v1::Report& report) {
    return report.recipe().empty() ? std::string("default") : report.recipe();
  };
  add_unequal("recipes", recipe(a), recipe(b));
  // Those that do not tell offload whatever engines take.
  const auto offload = [](const v1::Report& report) {
    return report.offload().empty() ? std::string("all") : report.offload();
  };
  add_unequal("offload", offload(a), offload(b));
  // The same version may be of other files.
  const auto compiler = [](const v1::Report& report) {
    const v1::Compiler& of = report.compiler();
    return of.program().empty()
               ? std::string()
               : absl::StrCat(of.program(), " ", of.version(), " (",
                              of.digest().substr(0, 8), ")");
  };
  add_unequal("compilers", compiler(a), compiler(b));
  add_unequal("calibration", a.calibration(), b.calibration());
  add_unequal("needs of quantization", a.quantization(), b.quantization());
  add_unequal("versions of edgekiln", a.version(), b.version());
  if (FormsDiffer(a.totals()) || FormsDiffer(b.totals())) {
    add_unequal("forms of inputs and outputs", IoText(a.totals()),
                IoText(b.totals()));
  }
  if (!a.has_accuracy() || !b.has_accuracy()) return;
  if (a.accuracy().metric() != b.accuracy().metric()) {
    add_unequal("metrics", a.accuracy().metric(), b.accuracy().metric());
  } else if (a.accuracy().samples() != b.accuracy().samples()) {
    add(absl::StrCat("accuracies of ", a.accuracy().samples(), " and ",
                     b.accuracy().samples(), " samples"));
  }
}

Quantity QuantityOf(absl::string_view name, int64_t a, int64_t b) {
  Quantity quantity;
  quantity.set_name(std::string(name));
  quantity.set_a(a);
  quantity.set_b(b);
  // Reports come out of files: differences may wrap, never trap.
  quantity.set_change(static_cast<int64_t>(static_cast<uint64_t>(b) -
                                           static_cast<uint64_t>(a)));
  if (a != 0) {
    quantity.set_percent(100.0 * static_cast<double>(quantity.change()) /
                         static_cast<double>(a));
  } else if (b == 0) {
    quantity.set_percent(0);
  }
  return quantity;
}

void AddTotals(const v1::Report& a, const v1::Report& b, v1::ReportDiff& diff) {
  const auto add = [&diff](absl::string_view name, int64_t left,
                           int64_t right) {
    *diff.add_totals() = QuantityOf(name, left, right);
  };
  add("cycles", a.totals().cycles(), b.totals().cycles());
  add("macs", a.totals().macs(), b.totals().macs());
  add("dma_bytes_read", a.totals().dma_bytes_read(),
      b.totals().dma_bytes_read());
  add("dma_bytes_written", a.totals().dma_bytes_written(),
      b.totals().dma_bytes_written());
  add("flash_bytes", a.memory().flash_bytes(), b.memory().flash_bytes());
  add("ram_bytes", a.memory().ram_bytes(), b.memory().ram_bytes());
  add("sram_peak_bytes", a.memory().sram_peak_bytes(),
      b.memory().sram_peak_bytes());
  // What only one of the targets has does not compare.
  std::map<std::string, int64_t> of_b;
  for (const v1::MemoryUse& use : b.memory().memories()) {
    of_b.emplace(use.name(), use.used_bytes());
  }
  for (const v1::MemoryUse& use : a.memory().memories()) {
    const auto other = of_b.find(use.name());
    if (other == of_b.end()) continue;
    add(absl::StrCat(kMemoryPrefix, use.name()), use.used_bytes(),
        other->second);
    of_b.erase(other);
  }
}

void AddAccuracy(const v1::Report& a, const v1::Report& b,
                 v1::ReportDiff& diff) {
  if (!a.has_accuracy() && !b.has_accuracy()) return;
  v1::ReportDiff::Accuracy& accuracy = *diff.mutable_accuracy();
  if (a.has_accuracy()) accuracy.set_a(a.accuracy().value());
  if (b.has_accuracy()) accuracy.set_b(b.accuracy().value());
  const v1::Report::Accuracy& measured =
      a.has_accuracy() ? a.accuracy() : b.accuracy();
  const bool both = a.has_accuracy() && b.has_accuracy();
  // Values of different metrics do not compare.
  if (both && a.accuracy().metric() != b.accuracy().metric()) return;
  accuracy.set_metric(measured.metric());
  accuracy.set_less_is_better(measured.less_is_better());
  if (!both) return;
  accuracy.set_change(accuracy.b() - accuracy.a());
  if (!measured.less_is_better()) accuracy.set_points(100 * accuracy.change());
}

void AddValues(const v1::Report& a, const v1::Report& b, v1::ReportDiff& diff) {
  AddAccuracy(a, b, diff);
  if (a.has_bit_exact() && b.has_bit_exact()) {
    *diff.mutable_mismatches() = QuantityOf(
        "mismatches", a.bit_exact().mismatches(), b.bit_exact().mismatches());
  }
}

// Of firmware alone. What one of the reports lacks does not compare: a stack
// without a bound counts as 0 bytes.
void AddFirmware(const v1::Report& a, const v1::Report& b,
                 v1::ReportDiff& diff) {
  const auto add = [&diff](absl::string_view name, int64_t left,
                           int64_t right) {
    *diff.add_totals() = QuantityOf(name, left, right);
  };
  if (a.totals().instructions() > 0 && b.totals().instructions() > 0) {
    add("instructions", a.totals().instructions(), b.totals().instructions());
    add("setup_instructions", a.totals().setup_instructions(),
        b.totals().setup_instructions());
  }
  if (!a.memory().has_sections() || !b.memory().has_sections()) return;
  const v1::FirmwareSections& left = a.memory().sections();
  const v1::FirmwareSections& right = b.memory().sections();
  add("sections.text", left.text_bytes(), right.text_bytes());
  add("sections.rodata", left.rodata_bytes(), right.rodata_bytes());
  add("sections.data", left.data_bytes(), right.data_bytes());
  add("sections.bss", left.bss_bytes(), right.bss_bytes());
  if (left.stack_bytes() > 0 && right.stack_bytes() > 0) {
    add("sections.stack", left.stack_bytes(), right.stack_bytes());
  }
}

// What the scheduler decided otherwise. Cycles, which follow, are not in it.
void AddDifferences(const Layer& a, const Layer& b,
                    v1::ReportDiff::Layer& layer) {
  const auto text = [&layer](absl::string_view noun, const std::string& left,
                             const std::string& right) {
    if (left == right) return;
    layer.add_differences(absl::StrCat(noun, " ", left.empty() ? "-" : left,
                                       " -> ", right.empty() ? "-" : right));
  };
  text("engine", a.engine(), b.engine());
  text("op", a.op(), b.op());
  text("tiles", absl::StrCat(a.tiles()), absl::StrCat(b.tiles()));
  text("SRAM", FormatBytes(a.sram_bytes()), FormatBytes(b.sram_bytes()));
  text("subgraph", absl::StrCat(a.subgraph()), absl::StrCat(b.subgraph()));
  text("MACs", GroupDigits(a.macs()), GroupDigits(b.macs()));
  if (a.engine() != b.engine() && !b.reason().empty()) {
    layer.add_differences(absl::StrCat("because ", b.reason()));
  }
}

v1::ReportDiff::Layer LayerOf(const Layer* a, const Layer* b) {
  v1::ReportDiff::Layer layer;
  layer.set_id(a != nullptr ? a->id() : b->id());
  layer.set_presence(a == nullptr   ? v1::ReportDiff::ADDED
                     : b == nullptr ? v1::ReportDiff::REMOVED
                                    : v1::ReportDiff::BOTH);
  layer.set_change(QuantityOf("", a != nullptr ? a->cycles() : 0,
                              b != nullptr ? b->cycles() : 0)
                       .change());
  if (a != nullptr && b != nullptr) AddDifferences(*a, *b, layer);
  if (a != nullptr) *layer.mutable_a() = *a;
  if (b != nullptr) *layer.mutable_b() = *b;
  return layer;
}

// Those of A in their order, then what only B has.
std::vector<v1::ReportDiff::Layer> MatchLayers(const v1::Report& a,
                                               const v1::Report& b) {
  std::map<std::string, std::vector<const Layer*>> of_b;
  for (const Layer& layer : b.layers()) of_b[layer.id()].push_back(&layer);
  std::map<std::string, size_t> used;
  std::vector<v1::ReportDiff::Layer> layers;
  for (const Layer& layer : a.layers()) {
    const std::vector<const Layer*>& candidates = of_b[layer.id()];
    const size_t n = used[layer.id()]++;
    layers.push_back(
        LayerOf(&layer, n < candidates.size() ? candidates[n] : nullptr));
  }
  for (const Layer& layer : b.layers()) {
    // Those that A used up were the first of their id.
    size_t& left = used[layer.id()];
    if (left > 0) {
      --left;
    } else {
      layers.push_back(LayerOf(nullptr, &layer));
    }
  }
  return layers;
}

uint64_t Magnitude(int64_t value) {
  return value < 0 ? 0 - static_cast<uint64_t>(value)
                   : static_cast<uint64_t>(value);
}

}  // namespace

v1::ReportDiff DiffReports(const v1::Report& a, absl::string_view a_source,
                           const v1::Report& b, absl::string_view b_source) {
  v1::ReportDiff diff;
  *diff.mutable_a() = SideOf(a, a_source);
  *diff.mutable_b() = SideOf(b, b_source);
  AddCaveats(a, b, diff);
  AddTotals(a, b, diff);
  AddFirmware(a, b, diff);
  AddValues(a, b, diff);
  std::vector<v1::ReportDiff::Layer> layers = MatchLayers(a, b);
  const auto weight = [](const v1::ReportDiff::Layer& layer) {
    const bool other = layer.presence() != v1::ReportDiff::BOTH ||
                       layer.differences_size() > 0;
    return std::make_pair(Magnitude(layer.change()), other);
  };
  std::stable_sort(
      layers.begin(), layers.end(),
      [&](const auto& x, const auto& y) { return weight(x) > weight(y); });
  for (v1::ReportDiff::Layer& layer : layers) {
    *diff.add_layers() = std::move(layer);
  }
  return diff;
}

}  // namespace edgekiln
