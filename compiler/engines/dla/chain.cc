#include "compiler/engines/dla/chain.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "base/rounding.h"
#include "compiler/engines/dla/compute_command.h"

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

void AddCopies(int32_t layer, int64_t rows, int64_t commands,
               RowCounts& counts) {
  if (rows == 0 || commands == 0) return;
  counts.copies += commands;
  for (RowCopies& known : counts.copied) {
    if (known.layer == layer && known.rows == rows) {
      known.commands += commands;
      return;
    }
  }
  counts.copied.push_back({layer, rows, commands});
}

bool RegistersHold(const Chip& chip, const RegisterFile& values) {
  for (int i = 0; i < target::kNumDlaRegisters; ++i) {
    const auto reg = static_cast<DlaRegister>(i);
    if (values.has(reg) && values[reg] > chip.Most(reg)) return false;
  }
  return true;
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

std::vector<PieceRows> PiecesOfChain(absl::Span<const Layer> layers,
                                     const Chain& chain) {
  const size_t count = chain.last - chain.first + 1;
  const int64_t pieces = PiecesOf(layers, chain);
  std::vector<PieceRows> all(pieces);
  std::vector<int64_t> made_up_to(count + 1, 0);
  for (int64_t piece = 0; piece < pieces; ++piece) {
    const bool is_last = piece + 1 == pieces;
    PieceRows& rows = all[piece];
    rows.held.resize(count + 1);
    rows.made.resize(count + 1);
    rows.held[count] = rows.made[count] = {
        piece * chain.rows,
        std::min((piece + 1) * chain.rows, layers[chain.last].out.h)};
    for (size_t k = count; k-- > 0;) {
      const Layer& layer = layers[chain.first + k];
      // What is read for nothing is there already.
      rows.held[k] = rows.made[k + 1].count() > 0
                         ? InputRows(layer, rows.made[k + 1])
                         : Rows{made_up_to[k], made_up_to[k]};
      rows.made[k] = rows.held[k];
      if (k == 0) break;
      // Rows before the first window and after the last one are made, too.
      if (piece == 0) rows.held[k].begin = 0;
      if (is_last) rows.held[k].end = layer.in.h;
      rows.made[k] = rows.held[k];
      if (chain.copies_rows) {
        rows.made[k].begin = std::max(rows.held[k].begin, made_up_to[k]);
      }
    }
    for (size_t k = 0; k <= count; ++k) {
      made_up_to[k] = std::max(made_up_to[k], rows.made[k].end);
    }
  }
  return all;
}

RowCounts CountRows(absl::Span<const Layer> layers, const Chain& chain) {
  RowCounts counts;
  counts.held.resize(chain.last - chain.first + 2, 0);
  counts.most = counts.all = counts.held;
  const std::vector<PieceRows> pieces = PiecesOfChain(layers, chain);
  for (size_t piece = 0; piece < pieces.size(); ++piece) {
    const PieceRows& rows = pieces[piece];
    for (size_t k = 0; k < rows.made.size(); ++k) {
      counts.held[k] = std::max(counts.held[k], rows.held[k].count());
      counts.most[k] = std::max(counts.most[k], rows.made[k].count());
      counts.all[k] += rows.made[k].count();
      if (piece == 0 || k == 0) continue;
      const int64_t from = rows.held[k].begin - pieces[piece - 1].held[k].begin;
      const int64_t copied = rows.made[k].begin - rows.held[k].begin;
      // Rows that the piece before let go are those that nobody reads.
      if (from <= 0) continue;
      const auto layer = static_cast<int32_t>(chain.first + k - 1);
      AddCopies(layer, from, copied / from, counts);
      AddCopies(layer, copied % from, 1, counts);
    }
  }
  return counts;
}

Chain WithCopies(const Chip& chip, absl::Span<const Layer> layers,
                 Chain chain) {
  chain.copies_rows = false;
  if (chip.position(DlaCommand::kMax) < 0) return chain;
  const RowCounts counts = CountRows(layers, chain);
  for (int32_t l = chain.first; l < chain.last; ++l) {
    if (counts.all[l - chain.first + 1] > layers[l].out.h) {
      chain.copies_rows = true;
    }
  }
  if (!chain.copies_rows) return chain;
  for (const RowCopies& each : CountRows(layers, chain).copied) {
    const Layer& layer = layers[each.layer];
    const ComputeCommand copy =
        CopyBytes(each.rows, layer.out.w, layer.out.c * layer.out_bytes, 0, 0);
    if (!RegistersHold(chip, copy.registers)) {
      chain.copies_rows = false;
      break;
    }
  }
  return chain;
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
