#include "compiler/ir/constant_pool.h"

#include <new>
#include <utility>

#include "absl/strings/string_view.h"
#include "base/memory.h"
#include "base/rounding.h"

namespace edgekiln::compiler {
namespace {

constexpr int64_t kPieceBytes = int64_t{4} << 20;
// What is larger would leave too much of a piece unused.
constexpr int64_t kMaxShareBytes = kPieceBytes / 4;
constexpr int64_t kAlignment = 16;

std::shared_ptr<char> NewPiece(int64_t bytes) {
  constexpr std::align_val_t kAlign{kHugePageBytes};
  std::shared_ptr<char> piece(
      static_cast<char*>(::operator new(static_cast<size_t>(bytes), kAlign)),
      [](char* memory) { ::operator delete(memory, kAlign); });
  PreferHugePages(piece.get(), static_cast<size_t>(bytes));
  return piece;
}

ConstantData DataIn(std::shared_ptr<const void> keeper, const char* bytes,
                    int64_t size) {
  return ConstantData(std::move(keeper),
                      absl::string_view(bytes, static_cast<size_t>(size)));
}

}  // namespace

ConstantPool::ConstantPool(int64_t expected_bytes)
    : in_pieces_(expected_bytes >= kPieceBytes) {}

ConstantPool::Room ConstantPool::Allocate(int64_t bytes) {
  if (in_pieces_ && bytes > kMaxShareBytes) {
    std::shared_ptr<char> own = NewPiece(bytes);
    char* start = own.get();
    return {start, DataIn(std::move(own), start, bytes)};
  }
  if (!in_pieces_) {
    // One byte at least: data of no bytes is data, too.
    std::shared_ptr<char[]> own = std::make_shared_for_overwrite<char[]>(
        static_cast<size_t>(bytes > 0 ? bytes : 1));
    char* start = own.get();
    return {start, DataIn(std::move(own), start, bytes)};
  }
  if (piece_ == nullptr || bytes > kPieceBytes - used_bytes_) {
    piece_ = NewPiece(kPieceBytes);
    used_bytes_ = 0;
  }
  char* start = piece_.get() + used_bytes_;
  used_bytes_ += RoundUp(bytes > 0 ? bytes : 1, kAlignment);
  // A keeper of its own, so that ConstantData can tell who shares it.
  return {start, DataIn(std::make_shared<std::shared_ptr<char>>(piece_), start,
                        bytes)};
}

}  // namespace edgekiln::compiler
