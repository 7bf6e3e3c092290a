#ifndef EK_COMPILER_ENGINES_REGISTER_JOB_TILES_H_
#define EK_COMPILER_ENGINES_REGISTER_JOB_TILES_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "compiler/engines/register_job/operation.h"

// How an op is cut into tiles: rows, columns and channels of its output, each
// independently of the others. A tile is what is moved at once; it may be
// several jobs, one behind the other along its channels.
namespace edgekiln::compiler::register_job {

// Elements of the output per tile; the last one of an axis may have fewer.
struct Tiling {
  int64_t rows = 1;
  int64_t columns = 1;
  int64_t channels = 1;
  bool operator==(const Tiling&) const = default;
};

// Output elements [begin, end) of an axis, and what they read of the input's.
struct Cut {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t in_begin = 0;
  int64_t in_end = 0;
  int64_t pad_before = 0;  // Elements that the first window lies before them.
  // Of channels: how many of the last ones no tensor has.
  int64_t padding = 0;
  int64_t in_padding = 0;
  int64_t size() const { return end - begin; }
  int64_t in_size() const { return in_end - in_begin; }
};

// All cuts of an axis, and which of them are equal.
struct CutAxis {
  struct Kind {
    Cut first;          // The first cut of the kind.
    int64_t count = 0;  // How many there are.
    int64_t place = 0;  // CutPlace of each.
  };
  // Cuts in the order of their kinds' first ones.
  struct Kinds {
    std::vector<Kind> all;
    std::vector<int32_t> of;  // Index into all, of each cut.
  };
  std::vector<Cut> cuts;
  Kinds jobs;   // Cuts that make equal jobs.
  Kinds moves;  // Of these, those that CutPlace does not tell apart.
};

// Of a cut of axis 0 (rows), 1 or 2 (channels): equal for those whose parts of
// tensors take as long to move, if they make equal jobs.
using CutPlace = std::function<int64_t(int axis, const Cut& cut)>;

// Whether channels may be cut like this with a depth multiplier: the outputs of
// one input channel must lie in one tile, or each tile within the outputs of
// one input channel.
bool IsLegal(const Operation& operation, const Tiling& tiling);

// Sets with equal cuts of an axis may share them.
using SharedAxis = std::shared_ptr<const CutAxis>;

struct TileSet {
  TileSet(const Operation& operation, const Tiling& tiling);
  TileSet(SharedAxis h, SharedAxis w, SharedAxis c);
  SharedAxis h;
  SharedAxis w;
  SharedAxis c;
  int64_t images() const { return std::ssize(h->cuts) * std::ssize(w->cuts); }
  int64_t tiles() const { return images() * std::ssize(c->cuts); }
};

// The jobs of these tiles, `channels` of the output each: tiles that are cut
// further. A tile is a number of whole jobs.
TileSet JobsOf(const Operation& operation, const TileSet& tiles,
               int64_t channels);

// Tiles of one op, each axis of which is cut once for each size. Not
// thread-safe; the operation must outlive it.
class TileSetMaker {
 public:
  // Without `place`, cuts that make equal jobs are moved alike.
  explicit TileSetMaker(const Operation& operation, CutPlace place = {})
      : operation_(operation), place_(std::move(place)) {}
  TileSet Tiles(const Tiling& tiling);
  // As JobsOf().
  TileSet Jobs(const TileSet& tiles, int64_t channels);

 private:
  using Axes = absl::flat_hash_map<int64_t, SharedAxis>;  // By size.
  const SharedAxis& Channels(int64_t channels);

  const Operation& operation_;
  const CutPlace place_;
  Axes h_;
  Axes w_;
  Axes c_;
};

// One job, without kernel code and addresses.
target::JobVariables VariablesOf(const Operation& operation, const Cut& h,
                                 const Cut& w, const Cut& c);
// That of the whole op.
target::JobVariables VariablesOfAll(const Operation& operation);

// First element and extents {h, w, c} of what a tile reads and writes of its
// tensors.
struct ImagePart {
  std::array<int64_t, 3> begin;
  std::array<int64_t, 3> extents;
};
ImagePart InputPart(const Cut& h, const Cut& w, const Cut& c);
ImagePart OutputPart(const Cut& h, const Cut& w, const Cut& c);

}  // namespace edgekiln::compiler::register_job

#endif  // EK_COMPILER_ENGINES_REGISTER_JOB_TILES_H_
