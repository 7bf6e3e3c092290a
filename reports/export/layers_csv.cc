#include "reports/export/layers_csv.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "reports/text/csv.h"
#include "reports/text/json.h"
#include "reports/text/text.h"

namespace edgekiln {
namespace {

// What 0 does not mean "none" of is written as it is.
std::string KnownOrEmpty(int64_t value) {
  return value == 0 ? "" : absl::StrCat(value);
}

std::string KnownOrEmpty(double value) {
  return value == 0 ? "" : JsonNumber(value);
}

std::vector<std::string> Titles() {
  return {"model",
          "target",
          "index",
          "layer",
          "name",
          "op",
          "kind",
          "engine",
          "subgraph",
          "cycles",
          "compute_cycles",
          "stall_cycles",
          "stall_transfer_cycles",
          "stall_contention_cycles",
          "stall_control_cycles",
          "job_cycles",
          "predicted_cycles",
          "bound_cycles",
          "macs",
          "utilization",
          "sram_bytes",
          "tiles",
          "dma_bytes_read",
          "dma_bytes_written",
          "compulsory_bytes",
          "macs_per_byte",
          "roofline_macs_per_cycle",
          "fidelity",
          "reason"};
}

std::vector<std::string> Fields(const v1::Report& report, int index) {
  const v1::Report::Layer& layer = report.layers(index);
  const bool known_kind = layer.kind() != v1::LAYER_KIND_UNSPECIFIED;
  const bool known_fidelity = layer.fidelity() != v1::FIDELITY_UNSPECIFIED;
  return {CleanText(report.model_name()),
          CleanText(report.target_name()),
          absl::StrCat(index),
          CleanText(layer.id()),
          CleanText(layer.name()),
          CleanText(layer.op()),
          known_kind ? v1::LayerKind_Name(layer.kind()) : "",
          CleanText(layer.engine()),
          absl::StrCat(layer.subgraph()),
          absl::StrCat(layer.cycles()),
          absl::StrCat(layer.compute_cycles()),
          absl::StrCat(layer.stall_cycles()),
          absl::StrCat(layer.stalls().transfer_cycles()),
          absl::StrCat(layer.stalls().contention_cycles()),
          absl::StrCat(layer.stalls().control_cycles()),
          KnownOrEmpty(layer.job_cycles()),
          KnownOrEmpty(layer.predicted_cycles()),
          KnownOrEmpty(layer.bound_cycles()),
          absl::StrCat(layer.macs()),
          KnownOrEmpty(layer.utilization()),
          absl::StrCat(layer.sram_bytes()),
          absl::StrCat(layer.tiles()),
          absl::StrCat(layer.dma_bytes_read()),
          absl::StrCat(layer.dma_bytes_written()),
          KnownOrEmpty(layer.compulsory_bytes()),
          KnownOrEmpty(layer.macs_per_byte()),
          KnownOrEmpty(layer.roofline_macs_per_cycle()),
          known_fidelity ? FidelityText(layer.fidelity()) : "",
          CleanText(layer.reason())};
}

}  // namespace

std::string LayersToCsv(const std::vector<v1::Report>& reports) {
  std::string out = CsvLine(Titles());
  for (const v1::Report& report : reports) {
    for (int index = 0; index < report.layers_size(); ++index) {
      out += CsvLine(Fields(report, index));
    }
  }
  return out;
}

}  // namespace edgekiln
