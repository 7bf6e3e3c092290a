#include "testing/tiny_vector/compiler/tiles.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "testing/tiny_vector/model.h"

namespace edgekiln::compiler::tiny_vector {
namespace {

using target::tiny_vector::Command;
using target::tiny_vector::Register;

// What PIECES and PIECE_BYTES hold.
constexpr int64_t kMaxPieces = 65535;
constexpr int64_t kMaxPieceBytes = 65535;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The least and one past the largest x in [begin, end) with
// 0 <= x * stride + offset < extent.
std::pair<int64_t, int64_t> Inside(int64_t begin, int64_t end, int64_t stride,
                                   int64_t offset, int64_t extent) {
  const int64_t first = offset >= 0 ? 0 : CeilDiv(-offset, stride);
  const int64_t past = offset >= extent ? 0 : CeilDiv(extent - offset, stride);
  return {std::max(begin, first), std::min(end, past)};
}

class LayerWriter {
 public:
  LayerWriter(const Layer& layer, const Tile& tile, int64_t lanes,
              const Addresses& at, CodeWriter& code, int32_t& tiles)
      : layer_(layer),
        tile_(tile),
        lanes_(lanes),
        at_(at),
        code_(code),
        tiles_(tiles) {}

  absl::Status Run() {
    EK_RETURN_IF_ERROR(SetParameters());
    for (int64_t y = 0; y < layer_.out_h; ++y) {
      for (int64_t x = 0; x < layer_.out_w; x += tile_.pixels) {
        for (int64_t c = 0; c < layer_.channels; c += tile_.channels) {
          const int64_t pixels = std::min(tile_.pixels, layer_.out_w - x);
          const int64_t channels =
              std::min(tile_.channels, layer_.channels - c);
          EK_RETURN_IF_ERROR(layer_.kind == Layer::Kind::kAdd
                                 ? Add(c, channels)
                                 : MaxPool(y, x, pixels, c, channels));
          ++tiles_;
        }
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status SetParameters() {
    if (layer_.kind == Layer::Kind::kMaxPool) {
      EK_RETURN_IF_ERROR(code_.Set(Register::kClampMin, layer_.clamp.min));
      return code_.Set(Register::kClampMax, layer_.clamp.max);
    }
    const ops::QuantizedAddParameters& add = layer_.add;
    for (const auto& [reg, value] : {
             std::pair{Register::kAZero, add.zero_point[0]},
             std::pair{Register::kBZero, add.zero_point[1]},
             std::pair{Register::kOutZero, add.output_zero_point},
             std::pair{Register::kAMultiplier, add.multiplier[0].multiplier},
             std::pair{Register::kAShift, add.multiplier[0].shift},
             std::pair{Register::kBMultiplier, add.multiplier[1].multiplier},
             std::pair{Register::kBShift, add.multiplier[1].shift},
             std::pair{Register::kOutMultiplier,
                       add.output_multiplier.multiplier},
             std::pair{Register::kOutShift, add.output_multiplier.shift},
             std::pair{Register::kClampMin, add.clamp.min},
             std::pair{Register::kClampMax, add.clamp.max},
         }) {
      EK_RETURN_IF_ERROR(code_.Set(reg, value));
    }
    return absl::OkStatus();
  }

  absl::Status Transfer(Command command, int64_t address, int64_t pieces,
                        int64_t pitch, int64_t bytes) {
    const Register bank =
        command == Command::kLoadA ? Register::kA : Register::kB;
    EK_RETURN_IF_ERROR(code_.Set(bank, 0));
    EK_RETURN_IF_ERROR(code_.Set(Register::kPieces, pieces));
    EK_RETURN_IF_ERROR(
        code_.Set(Register::kSystemPitch, pieces == 1 ? 0 : pitch));
    EK_RETURN_IF_ERROR(code_.Set(Register::kPieceBytes, bytes));
    EK_RETURN_IF_ERROR(code_.Set(Register::kSystemAddress, address));
    return code_.Run(command);
  }

  absl::Status Compute(Command command, int64_t first_b, int64_t vectors) {
    EK_RETURN_IF_ERROR(code_.Set(Register::kB, first_b));
    EK_RETURN_IF_ERROR(code_.Set(Register::kVectors, vectors));
    return code_.Run(command);
  }

  absl::Status Add(int64_t first, int64_t elements) {
    EK_RETURN_IF_ERROR(
        Transfer(Command::kLoadA, at_.input + first, 1, 0, elements));
    EK_RETURN_IF_ERROR(
        Transfer(Command::kLoadB, at_.input2 + first, 1, 0, elements));
    EK_RETURN_IF_ERROR(Compute(Command::kAdd, 0, CeilDiv(elements, lanes_)));
    return Transfer(Command::kStore, at_.output + first, 1, 0, elements);
  }

  // Bank B holds the largest so far; elements of the window come one by one.
  absl::Status MaxPool(int64_t y, int64_t x, int64_t pixels, int64_t c,
                       int64_t channels) {
    const int64_t vectors = CeilDiv(channels, lanes_);
    EK_RETURN_IF_ERROR(Compute(Command::kFill, 0, pixels * vectors));
    const v1::Window2d& window = layer_.window;
    for (int64_t ky = 0; ky < layer_.kernel_h; ++ky) {
      const int64_t row =
          y * window.stride_h() + ky * window.dilation_h() - window.pad_top();
      if (row < 0 || row >= layer_.in_h) continue;
      for (int64_t kx = 0; kx < layer_.kernel_w; ++kx) {
        const int64_t offset = kx * window.dilation_w() - window.pad_left();
        const auto [begin, end] =
            Inside(x, x + pixels, window.stride_w(), offset, layer_.in_w);
        if (begin >= end) continue;
        const int64_t column = begin * window.stride_w() + offset;
        EK_RETURN_IF_ERROR(Transfer(
            Command::kLoadA,
            at_.input + (row * layer_.in_w + column) * layer_.channels + c,
            end - begin, window.stride_w() * layer_.channels, channels));
        EK_RETURN_IF_ERROR(Compute(Command::kMax, (begin - x) * vectors,
                                   (end - begin) * vectors));
      }
    }
    return Transfer(Command::kStore,
                    at_.output + (y * layer_.out_w + x) * layer_.channels + c,
                    pixels, layer_.channels, channels);
  }

  const Layer& layer_;
  const Tile& tile_;
  const int64_t lanes_;
  const Addresses& at_;
  CodeWriter& code_;
  int32_t& tiles_;
};

}  // namespace

int64_t VectorsOf(const Tile& tile, int64_t lanes) {
  return tile.pixels * CeilDiv(tile.channels, lanes);
}

Tile LargestTile(const Layer& layer, int64_t vectors, int64_t lanes) {
  Tile tile;
  tile.channels = std::min(
      {layer.channels, vectors * lanes, kMaxPieceBytes / lanes * lanes});
  tile.pixels = std::min(
      {layer.out_w, vectors / CeilDiv(tile.channels, lanes), kMaxPieces});
  return tile;
}

absl::Status WriteLayer(const Layer& layer, const Tile& tile, int64_t lanes,
                        const Addresses& at, CodeWriter& code, int32_t& tiles) {
  return LayerWriter(layer, tile, lanes, at, code, tiles).Run();
}

}  // namespace edgekiln::compiler::tiny_vector
