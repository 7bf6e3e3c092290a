#include "tests/bench/results.h"

#include "nlohmann/json.hpp"

namespace edgekiln::bench {

Row MillisecondRow(const std::string& subject, const std::string& measure,
                   const Timing& timing) {
  return {.subject = subject,
          .measure = measure,
          .unit = "ms",
          .value = timing.median * 1e3,
          .low = timing.low * 1e3,
          .high = timing.high * 1e3,
          .samples = timing.samples};
}

std::string Results::Json() const {
  nlohmann::ordered_json json;
  json["bench"] = bench_;
  json["rows"] = nlohmann::ordered_json::array();
  for (const Row& row : rows_) {
    nlohmann::ordered_json out = {
        {"subject", row.subject}, {"measure", row.measure}, {"unit", row.unit},
        {"value", row.value},     {"low", row.low},         {"high", row.high},
        {"samples", row.samples}};
    if (row.reference) {
      out["reference"] = {{"name", row.reference->name},
                          {"value", row.reference->value},
                          {"quoted", row.reference->origin == Origin::kQuoted}};
      if (row.reference->value > 0) {
        out["ratio"] = row.value / row.reference->value;
      }
    }
    if (!row.goal.empty()) out["goal"] = row.goal;
    json["rows"].push_back(std::move(out));
  }
  json["notes"] = notes_;
  return json.dump(2) + "\n";
}

}  // namespace edgekiln::bench
