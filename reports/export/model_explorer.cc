#include "reports/export/model_explorer.h"

#include <cstdint>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "reports/text/json.h"

namespace edgekiln {
namespace {

// From the least value to the greatest; Model Explorer interpolates.
constexpr char kGradient[] =
    R"([{"stop": 0, "bgColor": "#f7fbff", "textColor": "#000000"},)"
    R"( {"stop": 1, "bgColor": "#c0392b", "textColor": "#000000"}])";

}  // namespace

std::string ReportToModelExplorer(const v1::Report& report) {
  // Layers that were split have one name.
  std::map<std::string, int64_t> cycles;
  for (const v1::Report::Layer& layer : report.layers()) {
    cycles[layer.name().empty() ? layer.id() : layer.name()] += layer.cycles();
  }
  std::vector<std::string> results;
  for (const auto& [name, value] : cycles) {
    results.push_back(
        absl::StrCat("    ", JsonString(name), ": {\"value\": ", value, "}"));
  }
  return absl::StrCat("{\n  \"results\": {\n", absl::StrJoin(results, ",\n"),
                      "\n  },\n  \"gradient\": ", kGradient, "\n}\n");
}

}  // namespace edgekiln
