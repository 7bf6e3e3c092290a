#include "compiler/engines/register_job/tiles.h"

#include <algorithm>
#include <utility>

#include "base/rounding.h"

namespace edgekiln::compiler::register_job {
namespace {

using target::JobVariable;
using target::JobVariables;

// `whole`: whatever windows read.
void ReadWindow(const WindowAxis& axis, int64_t in_extent, bool whole,
                Cut& cut) {
  if (whole) {
    cut.in_end = in_extent;
    cut.pad_before = axis.pad_before;
    return;
  }
  const int64_t first = cut.begin * axis.stride - axis.pad_before;
  const int64_t span = axis.Span(cut.size());
  if (first + span <= 0 || first >= in_extent) {
    // All windows lie in padding: any element serves as the input, as no window
    // reads it.
    cut.in_end = 1;
    cut.pad_before = span;
    return;
  }
  cut.in_begin = std::max<int64_t>(first, 0);
  cut.in_end = std::min(first + span, in_extent);
  cut.pad_before = cut.in_begin - first;
}

// How many of channels [begin, end) are behind `channels`.
int64_t Behind(int64_t channels, int64_t begin, int64_t end) {
  return std::clamp<int64_t>(end - channels, 0, end - begin);
}

void ReadChannels(const Operation& operation, Cut& cut) {
  cut.in_end = operation.in.c;
  if (operation.channelwise()) {
    cut.in_begin = cut.begin / operation.depth_multiplier;
    cut.in_end = (cut.end - 1) / operation.depth_multiplier + 1;
  }
  cut.padding =
      Behind(operation.out.c - operation.out_padding, cut.begin, cut.end);
  cut.in_padding =
      Behind(operation.in.c - operation.in_padding, cut.in_begin, cut.in_end);
}

// Adds the next cut, to the kind of which `is_same` is true.
template <typename IsSame>
void AddTo(CutAxis::Kinds& kinds, const Cut& cut, int64_t place,
           const IsSame& is_same) {
  const auto same = std::find_if(kinds.all.begin(), kinds.all.end(), is_same);
  kinds.of.push_back(static_cast<int32_t>(same - kinds.all.begin()));
  if (same == kinds.all.end()) {
    kinds.all.push_back({cut, 1, place});
  } else {
    ++same->count;
  }
}

// `read` sets what a cut reads.
template <typename Read>
SharedAxis CutInto(int axis_index, int64_t extent, int64_t size,
                   const CutPlace& place, const Read& read) {
  CutAxis axis;
  axis.cuts.reserve(static_cast<size_t>(CeilDiv(extent, size)));
  axis.jobs.of.reserve(axis.cuts.capacity());
  for (int64_t begin = 0; begin < extent; begin += size) {
    Cut cut;
    cut.begin = begin;
    cut.end = std::min(begin + size, extent);
    read(cut);
    const auto is_job = [&](const CutAxis::Kind& kind) {
      return kind.first.size() == cut.size() &&
             kind.first.in_size() == cut.in_size() &&
             kind.first.padding == cut.padding &&
             kind.first.pad_before == cut.pad_before;
    };
    AddTo(axis.jobs, cut, 0, is_job);
    axis.cuts.push_back(cut);
    if (!place) continue;
    const int64_t here = place(axis_index, cut);
    AddTo(axis.moves, cut, here, [&](const CutAxis::Kind& kind) {
      return kind.place == here && is_job(kind);
    });
  }
  if (!place) axis.moves = axis.jobs;
  return std::make_shared<const CutAxis>(std::move(axis));
}

SharedAxis RowsOf(const Operation& operation, int64_t size,
                  const CutPlace& place) {
  return CutInto(0, operation.out.h, size, place, [&](Cut& cut) {
    ReadWindow(operation.vertical, operation.in.h,
               operation.takes_whole_axes && cut.size() == operation.out.h,
               cut);
  });
}

SharedAxis ColumnsOf(const Operation& operation, int64_t size,
                     const CutPlace& place) {
  return CutInto(1, operation.out.w, size, place, [&](Cut& cut) {
    ReadWindow(operation.horizontal, operation.in.w,
               operation.takes_whole_axes && cut.size() == operation.out.w,
               cut);
  });
}

SharedAxis ChannelsOf(const Operation& operation, int64_t size,
                      const CutPlace& place) {
  return CutInto(2, operation.out.c, size, place,
                 [&](Cut& cut) { ReadChannels(operation, cut); });
}

}  // namespace

bool IsLegal(const Operation& operation, const Tiling& tiling) {
  const int64_t multiplier = operation.depth_multiplier;
  return tiling.channels == operation.out.c ||
         tiling.channels % multiplier == 0 || multiplier % tiling.channels == 0;
}

TileSet::TileSet(const Operation& operation, const Tiling& tiling)
    : TileSet(RowsOf(operation, tiling.rows, {}),
              ColumnsOf(operation, tiling.columns, {}),
              ChannelsOf(operation, tiling.channels, {})) {}

TileSet::TileSet(SharedAxis h, SharedAxis w, SharedAxis c)
    : h(std::move(h)), w(std::move(w)), c(std::move(c)) {}

TileSet JobsOf(const Operation& operation, const TileSet& tiles,
               int64_t channels) {
  return TileSet(tiles.h, tiles.w, ChannelsOf(operation, channels, {}));
}

TileSet TileSetMaker::Tiles(const Tiling& tiling) {
  SharedAxis& h = h_[tiling.rows];
  if (h == nullptr) h = RowsOf(operation_, tiling.rows, place_);
  SharedAxis& w = w_[tiling.columns];
  if (w == nullptr) w = ColumnsOf(operation_, tiling.columns, place_);
  return TileSet(h, w, Channels(tiling.channels));
}

TileSet TileSetMaker::Jobs(const TileSet& tiles, int64_t channels) {
  return TileSet(tiles.h, tiles.w, Channels(channels));
}

const SharedAxis& TileSetMaker::Channels(int64_t channels) {
  SharedAxis& c = c_[channels];
  if (c == nullptr) c = ChannelsOf(operation_, channels, place_);
  return c;
}

JobVariables VariablesOf(const Operation& operation, const Cut& h, const Cut& w,
                         const Cut& c) {
  JobVariables variables = operation.variables;
  variables[JobVariable::kInH] = h.in_size();
  variables[JobVariable::kInW] = w.in_size();
  variables[JobVariable::kInC] = c.in_size();
  variables[JobVariable::kOutH] = h.size();
  variables[JobVariable::kOutW] = w.size();
  variables[JobVariable::kOutC] = c.size();
  variables[JobVariable::kPadTop] = h.pad_before;
  variables[JobVariable::kPadLeft] = w.pad_before;
  return variables;
}

JobVariables VariablesOfAll(const Operation& operation) {
  JobVariables variables = operation.variables;
  variables[JobVariable::kInH] = operation.in.h;
  variables[JobVariable::kInW] = operation.in.w;
  variables[JobVariable::kInC] = operation.in.c;
  variables[JobVariable::kOutH] = operation.out.h;
  variables[JobVariable::kOutW] = operation.out.w;
  variables[JobVariable::kOutC] = operation.out.c;
  variables[JobVariable::kPadTop] = operation.vertical.pad_before;
  variables[JobVariable::kPadLeft] = operation.horizontal.pad_before;
  return variables;
}

ImagePart InputPart(const Cut& h, const Cut& w, const Cut& c) {
  return {{h.in_begin, w.in_begin, c.in_begin},
          {h.in_size(), w.in_size(), c.in_size() - c.in_padding}};
}

ImagePart OutputPart(const Cut& h, const Cut& w, const Cut& c) {
  return {{h.begin, w.begin, c.begin},
          {h.size(), w.size(), c.size() - c.padding}};
}

}  // namespace edgekiln::compiler::register_job
