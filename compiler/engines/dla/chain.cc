#include "compiler/engines/dla/chain.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "base/rounding.h"

namespace edgekiln::compiler::dla {
namespace {

// Each window reaches some row, and together they leave none out between them.
bool WindowsMeet(const Layer& layer) {
  const WindowAxis& axis = layer.vertical;
  return axis.Span(1) >= axis.stride && axis.pad_before < axis.Span(1) &&
         (layer.out.h - 1) * axis.stride - axis.pad_before < layer.in.h;
}

Rows InputRows(const Layer& layer, const Rows& output) {
  const AxisInput input =
      InputOfAxis(layer.vertical, layer.in.h, output.begin, output.end);
  return {input.begin, input.end};
}

}  // namespace

std::vector<bool> LayersThatPassOn(
    absl::Span<const Layer> layers, absl::Span<const TensorId> storage,
    const absl::flat_hash_set<TensorId>& external) {
  // By storage: how many layers read it, aliases included.
  absl::flat_hash_map<TensorId, int> readers;
  for (const Layer& layer : layers) {
    ++readers[storage[layer.input]];
    if (layer.input2 != kNoTensor &&
        storage[layer.input2] != storage[layer.input]) {
      ++readers[storage[layer.input2]];
    }
  }
  std::vector<bool> pass_on(layers.size(), false);
  for (size_t l = 0; l + 1 < layers.size(); ++l) {
    const Layer& maker = layers[l];
    const Layer& reader = layers[l + 1];
    if (maker.op == LayerOp::kAlias || reader.op == LayerOp::kAlias) continue;
    const TensorId passed = storage[maker.output];
    pass_on[l] =
        (reader.input == maker.output || reader.input2 == maker.output) &&
        readers[passed] == 1 && !external.contains(passed) &&
        reader.in == maker.out && WindowsMeet(maker) && WindowsMeet(reader);
  }
  return pass_on;
}

int64_t PiecesOf(absl::Span<const Layer> layers, const Chain& chain) {
  return CeilDiv(layers[chain.last].out.h, chain.rows);
}

std::vector<Rows> RowsOfPiece(absl::Span<const Layer> layers,
                              const Chain& chain, int64_t piece) {
  const size_t count = chain.last - chain.first + 1;
  const bool is_last = piece + 1 == PiecesOf(layers, chain);
  std::vector<Rows> rows(count + 1);
  rows[count] = {piece * chain.rows,
                 std::min((piece + 1) * chain.rows, layers[chain.last].out.h)};
  for (size_t k = count; k-- > 0;) {
    const Layer& layer = layers[chain.first + k];
    rows[k] = InputRows(layer, rows[k + 1]);
    if (k == 0) break;
    // Rows before the first window and after the last one are made, too.
    if (piece == 0) rows[k].begin = 0;
    if (is_last) rows[k].end = layer.in.h;
  }
  return rows;
}

RowCounts CountRows(absl::Span<const Layer> layers, const Chain& chain) {
  RowCounts counts;
  counts.most.resize(chain.last - chain.first + 2, 0);
  counts.all = counts.most;
  const int64_t pieces = PiecesOf(layers, chain);
  for (int64_t piece = 0; piece < pieces; ++piece) {
    const std::vector<Rows> rows = RowsOfPiece(layers, chain, piece);
    for (size_t k = 0; k < rows.size(); ++k) {
      counts.most[k] = std::max(counts.most[k], rows[k].count());
      counts.all[k] += rows[k].count();
    }
  }
  return counts;
}

Layer InnerPiece(const Layer& layer, int64_t rows) {
  Layer piece = layer;
  piece.out.h = std::min(rows, layer.out.h);
  const int64_t span = layer.vertical.Span(piece.out.h);
  piece.in.h = std::min(span, layer.in.h);
  piece.vertical.pad_before =
      std::min(layer.vertical.pad_before, span - piece.in.h);
  return piece;
}

}  // namespace edgekiln::compiler::dla
