#include "client/render/live_sweep.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_split.h"

namespace edgekiln::client {

LiveSweep::LiveSweep(const SweepRows& rows, std::vector<std::string> memories)
    : rows_(rows), chosen_(std::move(memories)) {
  StartMarks();
}

void LiveSweep::StartMarks() {
  memories_ = chosen_.empty() ? common_.names() : chosen_;
  marks_.emplace(memories_);
}

void LiveSweep::Add(const v1::SweepRow& row) {
  const std::vector<std::string> values = {row.model(), row.target(),
                                           row.recipe()};
  if (first_.empty()) {
    first_ = values;
    varies_.resize(values.size(), false);
  }
  for (size_t i = 0; i < values.size(); ++i) {
    varies_[i] = varies_[i] || values[i] != first_[i];
  }
  if (!HasRow(row)) return;
  common_.Add(row);
  marks_->Add(row);
}

// The varied keys, and what rows have differed in so far.
std::vector<SweepDimension> LiveSweep::Dimensions() const {
  std::vector<SweepDimension> all = DimensionsOf(rows_.planned());
  std::vector<SweepDimension> shown;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i >= varies_.size() || varies_[i]) shown.push_back(std::move(all[i]));
  }
  return shown;
}

std::vector<v1::SweepRow> LiveSweep::Newest(size_t count) const {
  std::vector<v1::SweepRow> newest;
  const std::vector<v1::SweepRow>& all = rows_.rows();
  for (auto row = all.rbegin(); row != all.rend(); ++row) {
    if (newest.size() == count) break;
    if (HasRow(*row)) newest.push_back(*row);
  }
  std::reverse(newest.begin(), newest.end());
  return newest;
}

const std::vector<std::string>& LiveSweep::Lines(int lines,
                                                 const Style& style) {
  const std::vector<v1::SweepRow>& all = rows_.rows();
  const int width = style.width();
  if (seen_ == all.size() && lines == height_ && width == width_) return lines_;
  height_ = lines;
  width_ = width;
  while (seen_ < all.size()) Add(all[seen_++]);
  // Once for each memory that some row lacks, at most.
  if (chosen_.empty() && common_.names() != memories_) {
    StartMarks();
    for (const v1::SweepRow& row : all) marks_->Add(row);
  }
  lines_.clear();
  if (lines < 2) return lines_;
  const std::vector<v1::SweepRow> newest =
      Newest(static_cast<size_t>(lines) - 1);
  if (newest.empty()) return lines_;
  const std::string table =
      RenderRows(newest, Dimensions(), memories_, marks_->Of(newest), style);
  lines_ = absl::StrSplit(table, '\n', absl::SkipEmpty());
  return lines_;
}

}  // namespace edgekiln::client
