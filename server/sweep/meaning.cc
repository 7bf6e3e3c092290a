#include "server/sweep/meaning.h"

#include <utility>

namespace edgekiln::server {
namespace {

// The seed is that of random inputs: to calibrate on, where a model is
// calibrated and has no samples for it, and to run, where it has no data.
bool SeedMatters(const CellSubject& cell, const v1::SweepOptions& options) {
  const bool calibrated = !KeepsIntegers(cell, options);
  return (calibrated && cell.model.calibration().empty()) ||
         (cell.goal != v1::SWEEP_TIMING && cell.model.data().empty());
}

// A limit is one of samples that are run.
bool LimitMatters(const CellSubject& cell) {
  return cell.goal != v1::SWEEP_TIMING;
}

}  // namespace

bool KeepsIntegers(const CellSubject& cell, const v1::SweepOptions& options) {
  const v1::Switch requantize = options.quantization().requantize();
  if (!cell.came_quantized || requantize == v1::ON) return false;
  return requantize == v1::OFF || cell.keeps_integers || !cell.has_engines ||
         options.offload() == v1::NONE;
}

v1::SweepOptions WhatMatters(const CellSubject& cell,
                             v1::SweepOptions options) {
  if (!SeedMatters(cell, options)) options.clear_seed();
  if (!LimitMatters(cell)) options.clear_limit();
  if (KeepsIntegers(cell, options)) {
    options.clear_calibrate();
    options.clear_quantization();
  }
  return options;
}

bool HasNoMeaning(const Axis& axis, const CellSubject& cell,
                  const v1::SweepOptions& options) {
  if (axis.key() == "calibration-method") return KeepsIntegers(cell, options);
  if (axis.key() == "seed") return !SeedMatters(cell, options);
  if (axis.key() == "limit") return !LimitMatters(cell);
  if (axis.key() != "quantization" || axis.requantizes()) return false;
  // Whatever the files say, then: OFF says no more than the rest.
  v1::SweepOptions others = options;
  others.clear_quantization();
  return KeepsIntegers(cell, others);
}

bool DependsOnImport(const std::string& key, const v1::SweepModel& model,
                     v1::SweepGoal goal) {
  if (key == "calibration-method" || key == "quantization") return true;
  if (key != "seed") return false;
  const CellSubject as_float{.model = model, .goal = goal};
  const CellSubject as_integers{.model = model,
                                .came_quantized = true,
                                .has_engines = false,
                                .goal = goal};
  return SeedMatters(as_float, {}) != SeedMatters(as_integers, {});
}

}  // namespace edgekiln::server
