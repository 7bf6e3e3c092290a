#include "reports/export/segments.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace edgekiln {
namespace {

// No inference takes longer: a century at 2 GHz.
constexpr int64_t kMaxCycle = int64_t{1} << 62;

bool IsPossible(const v1::TimelineSegment& segment) {
  return segment.begin() >= 0 && segment.begin() < segment.end() &&
         segment.end() <= kMaxCycle && segment.busy_cycles() >= 0 &&
         segment.busy_cycles() <= segment.end() - segment.begin();
}

}  // namespace

std::vector<UnitSegments> SegmentsByUnit(const v1::Report::Engine& engine) {
  std::vector<UnitSegments> units(engine.units_size());
  for (const v1::TimelineSegment& segment : engine.segments()) {
    if (!IsPossible(segment)) continue;
    if (segment.unit() < 0 || segment.unit() >= engine.units_size()) continue;
    UnitSegments& unit = units[segment.unit()];
    if (!unit.empty() && segment.begin() < unit.back()->end()) continue;
    unit.push_back(&segment);
  }
  return units;
}

std::vector<int64_t> LayerStarts(const v1::Report& report) {
  constexpr int64_t kUnknown = -1;
  std::vector<int64_t> starts(report.layers_size(), kUnknown);
  for (const v1::Report::Engine& engine : report.engines()) {
    for (const UnitSegments& unit : SegmentsByUnit(engine)) {
      for (const v1::TimelineSegment* segment : unit) {
        const bool computes = segment->kind() == v1::TimelineSegment::COMPUTE ||
                              segment->kind() == v1::TimelineSegment::HOST_OP;
        const int layer = segment->layer();
        if (!computes || layer < 0 || layer >= report.layers_size()) continue;
        int64_t& start = starts[layer];
        if (start == kUnknown || segment->begin() < start) {
          start = segment->begin();
        }
      }
    }
  }
  int64_t latest = 0;
  for (int64_t& start : starts) {
    latest = std::max(latest, start);
    start = latest;
  }
  return starts;
}

Launches LaunchesOf(const v1::Report& report) {
  // By layer: writes that have launched nothing yet, in the order of their
  // ends.
  std::map<int, std::vector<const v1::TimelineSegment*>> waiting;
  std::vector<const v1::TimelineSegment*> all;
  for (const v1::Report::Engine& engine : report.engines()) {
    for (const UnitSegments& unit : SegmentsByUnit(engine)) {
      for (const v1::TimelineSegment* segment : unit) {
        if (segment->kind() == v1::TimelineSegment::COMPUTE ||
            segment->kind() == v1::TimelineSegment::HOST_REGISTERS) {
          all.push_back(segment);
        }
      }
    }
  }
  // A launch is over when what it launches begins, at the earliest.
  const auto at = [](const v1::TimelineSegment* segment) {
    const bool launches =
        segment->kind() == v1::TimelineSegment::HOST_REGISTERS;
    return std::make_pair(launches ? segment->end() : segment->begin(),
                          !launches);
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const auto* a, const auto* b) { return at(a) < at(b); });
  Launches launches;
  for (const v1::TimelineSegment* segment : all) {
    std::vector<const v1::TimelineSegment*>& of_layer =
        waiting[segment->layer()];
    if (segment->kind() == v1::TimelineSegment::HOST_REGISTERS) {
      of_layer.push_back(segment);
    } else if (!of_layer.empty()) {
      launches[segment] = of_layer.back();
      of_layer.clear();
    }
  }
  return launches;
}

double TransferRates::Of(const v1::TimelineSegment& segment) const {
  const std::vector<double>& rates =
      segment.kind() == v1::TimelineSegment::DMA_READ ? read : written;
  const int layer = segment.layer();
  if (segment.kind() != v1::TimelineSegment::DMA_READ &&
      segment.kind() != v1::TimelineSegment::DMA_WRITE) {
    return 0;
  }
  return layer >= 0 && layer < static_cast<int>(rates.size()) ? rates[layer]
                                                              : 0;
}

TransferRates TransferRatesOf(const v1::Report& report) {
  TransferRates rates;
  rates.read.resize(report.layers_size());
  rates.written.resize(report.layers_size());
  for (const v1::Report::Engine& engine : report.engines()) {
    for (const UnitSegments& unit : SegmentsByUnit(engine)) {
      for (const v1::TimelineSegment* segment : unit) {
        const int layer = segment->layer();
        if (layer < 0 || layer >= report.layers_size()) continue;
        const auto busy = static_cast<double>(segment->busy_cycles());
        if (segment->kind() == v1::TimelineSegment::DMA_READ) {
          rates.read[layer] += busy;
        } else if (segment->kind() == v1::TimelineSegment::DMA_WRITE) {
          rates.written[layer] += busy;
        }
      }
    }
  }
  for (int i = 0; i < report.layers_size(); ++i) {
    const v1::Report::Layer& layer = report.layers(i);
    const auto per_cycle = [](int64_t bytes, double cycles) {
      return cycles > 0 ? static_cast<double>(bytes) / cycles : 0;
    };
    rates.read[i] = per_cycle(layer.dma_bytes_read(), rates.read[i]);
    rates.written[i] = per_cycle(layer.dma_bytes_written(), rates.written[i]);
  }
  return rates;
}

}  // namespace edgekiln
