#ifndef EK_SERVER_SWEEP_MEANING_H_
#define EK_SERVER_SWEEP_MEANING_H_

// Options that change nothing of a cell. Pure.

#include <string>

#include "edgekiln/v1/sweep.pb.h"
#include "server/sweep/axis.h"

namespace edgekiln::server {

// What a cell is about, beside its options.
struct CellSubject {
  const v1::SweepModel& model;
  // False also where that is not known.
  bool came_quantized = false;
  bool has_engines = true;  // Of the target.
  // Known of the model on this target, unless options ask for something else.
  bool keeps_integers = false;
  v1::SweepGoal goal = v1::SWEEP_PROFILE;
};

// Whether a model that came quantized certainly keeps its integers with these
// options, so that nothing is calibrated or quantized. Where engines could take
// more of it once it is quantized anew, a stage decides by what the engines can
// do (server/requantization.h): unless it was asked, that is not certain.
bool KeepsIntegers(const CellSubject& cell, const v1::SweepOptions& options);

// `options` without those that change nothing: equal for cells of one subject
// that compute the same.
v1::SweepOptions WhatMatters(const CellSubject& cell, v1::SweepOptions options);

// Whether it depends on how the model came what a varied key means to it.
bool DependsOnImport(const std::string& key, const v1::SweepModel& model,
                     v1::SweepGoal goal);

// Whether no value of the key matters to a cell with these options.
bool HasNoMeaning(const Axis& axis, const CellSubject& cell,
                  const v1::SweepOptions& options);

}  // namespace edgekiln::server

#endif  // EK_SERVER_SWEEP_MEANING_H_
