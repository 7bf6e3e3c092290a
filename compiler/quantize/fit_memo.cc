#include "compiler/quantize/fit_memo.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "base/status_macros.h"
#include "compiler/ir/buffer_layout.h"

namespace edgekiln::compiler {
namespace {

std::vector<TensorId> AllTensors(const Graph& graph) {
  std::vector<TensorId> all;
  for (TensorId id = 0; id < std::ssize(graph.tensors); ++id) all.push_back(id);
  return all;
}

}  // namespace

FitMemo::FitMemo(const Graph& graph, CalibrationSamples fitted,
                 CalibrationSamples judged, ops::CpuPath cpu_path,
                 int64_t most_bytes)
    : graph_(graph),
      fitted_(std::move(fitted)),
      judged_(std::move(judged)),
      cpu_path_(cpu_path),
      most_bytes_(most_bytes),
      keeps_real_(LayOutBuffers(graph, /*keep_all=*/true).bytes <=
                  most_bytes / std::max<int64_t>(fitted_.size(), 1)) {}

void FitMemo::TakeOver(FitMemo& more) {
  weights_ = more.weights_;
  biases_ = more.biases_;
  more_ = &more;
  for (const auto& [key, kept] : more.entries_) of_more_.insert(key);
}

FitMemo::Entry FitMemo::FirstSamplesOf(const Entry& entry) const {
  Entry first;
  first.constants = entry.constants;
  first.attributes = entry.attributes;
  const auto copy = [](const Values& from, int64_t samples, int64_t of,
                       Values& to) {
    for (const SampleBatch::Buffer& buffer : from) {
      const int64_t bytes = buffer.bytes / std::max<int64_t>(of, 1) * samples;
      to.push_back({std::shared_ptr<char[]>(new char[bytes]), bytes});
      std::memcpy(to.back().values.get(), buffer.values.get(), bytes);
    }
  };
  copy(entry.fitted, fitted_.size(), more_->fitted_.size(), first.fitted);
  copy(entry.judged, judged_.size(), more_->judged_.size(), first.judged);
  return first;
}

const FitMemo::Entry* FitMemo::Find(const Fingerprint& key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) {
    const auto known = of_more_.find(key);
    if (known == of_more_.end()) return nullptr;
    of_more_.erase(known);
    const Entry* const entry = more_->Find(key);
    if (entry == nullptr) return nullptr;
    Entry first = FirstSamplesOf(*entry);
    Add(key, std::move(first));
    return Find(key);
  }
  Kept& kept = found->second;
  if (kept.bytes > 0) by_use_.splice(by_use_.end(), by_use_, kept.used);
  return &kept.entry;
}

void FitMemo::Add(const Fingerprint& key, Entry entry) {
  Kept& kept = entries_[key];
  if (kept.bytes > 0) {
    by_use_.erase(kept.used);
    bytes_ -= kept.bytes;
  }
  kept.entry = std::move(entry);
  kept.bytes = 0;
  for (const auto& [input, constant] : kept.entry.constants) {
    kept.bytes += static_cast<int64_t>(constant.data->size());
  }
  for (const Values* values : {&kept.entry.fitted, &kept.entry.judged}) {
    for (const SampleBatch::Buffer& buffer : *values) {
      kept.bytes += buffer.bytes;
    }
  }
  if (kept.bytes == 0) return;
  kept.used = by_use_.insert(by_use_.end(), key);
  bytes_ += kept.bytes;
  DropOldest();
}

void FitMemo::DropOldest() {
  while (bytes_ + real_bytes_ > most_bytes_ && !by_use_.empty()) {
    const auto oldest = entries_.find(by_use_.front());
    bytes_ -= oldest->second.bytes;
    entries_.erase(oldest);
    by_use_.pop_front();
  }
}

absl::StatusOr<SampleBatch*> FitMemo::RealBefore(int32_t index) {
  if (!real_ || (!keeps_real_ && index < next_real_)) {
    real_.emplace(graph_, fitted_.size(), cpu_path_,
                  keeps_real_ ? AllTensors(graph_) : std::vector<TensorId>());
    EK_RETURN_IF_ERROR(real_->SetInputs(fitted_));
    next_real_ = 0;
  }
  for (; next_real_ < index; ++next_real_) {
    EK_RETURN_IF_ERROR(real_->Run(next_real_));
    real_->Release(next_real_);
  }
  return &*real_;
}

absl::Status FitMemo::LookAtReals(
    int32_t index, const Op& before, const v1::Clamp& clamp, int64_t step,
    const std::function<void(int64_t sample, const char* values)>& look) {
  EK_ASSIGN_OR_RETURN(SampleBatch* const reals, RealBefore(index));
  if (next_real_ > index) {
    return reals->RunApart(before, graph_.tensors[before.outputs[0]], step,
                           look);
  }
  EK_RETURN_IF_ERROR(reals->RunClamped(index, before, clamp, step, look));
  reals->Release(index);
  ++next_real_;
  return absl::OkStatus();
}

const std::vector<float>* FitMemo::FindReals(int32_t op) const {
  const auto found = reals_.find(op);
  return found == reals_.end() ? nullptr : &found->second;
}

void FitMemo::AddReals(int32_t op, const std::vector<float>& values) {
  const auto bytes = static_cast<int64_t>(values.size() * sizeof(float));
  if (bytes > most_bytes_ / 2 - real_bytes_) return;
  if (!reals_.emplace(op, values).second) return;
  real_bytes_ += bytes;
  DropOldest();
}

}  // namespace edgekiln::compiler
