#include "compiler/dataset/byte_stream.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/dataset/zlib_portion.h"
#include "zlib.h"

namespace edgekiln::compiler {
namespace {

constexpr int64_t kStepBytes = int64_t{1} << 20;

absl::Status BadStream(absl::string_view what, absl::string_view where) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.reason = "DATA_CORRUPT",
                    .what = std::string(what),
                    .where = std::string(where),
                    .fix = "write the file again, or fetch it again"});
}

}  // namespace

struct ByteStream::State {
  absl::string_view rest;  // Of the packed bytes.
  Packing packing = Packing::kNone;
  std::string where;
  z_stream zlib = {};
  bool open = false;  // `zlib` is to be closed.
  bool ended = false;
  bool may_be_cut = false;  // The packed bytes are only the first of more.
  int64_t given = 0;
  uint32_t crc = 0;
  std::string skipped;

  // Up to `bytes` of what comes next; fewer only at the end.
  absl::Status Take(int64_t bytes, char* to, int64_t& got) {
    got = 0;
    if (packing == Packing::kNone) {
      got = std::min(bytes, static_cast<int64_t>(rest.size()));
      std::memcpy(to, rest.data(), static_cast<size_t>(got));
      rest.remove_prefix(static_cast<size_t>(got));
    } else {
      EK_RETURN_IF_ERROR(Inflate(bytes, to, got));
    }
    crc = ContinueCrc32(crc, {to, static_cast<size_t>(got)});
    given += got;
    return absl::OkStatus();
  }

  absl::Status Inflate(int64_t bytes, char* to, int64_t& got) {
    if (!open) {
      if (inflateInit2(&zlib, packing == Packing::kGzip
                                  ? kGzipWindowBits
                                  : kRawWindowBits) != Z_OK) {
        return absl::ResourceExhaustedError("zlib could not be initialised");
      }
      open = true;
    }
    while (!ended) {
      const uInt offered = ZlibPortion(static_cast<int64_t>(rest.size()));
      const uInt room = ZlibPortion(bytes - got);
      zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest.data()));
      zlib.avail_in = offered;
      zlib.next_out = reinterpret_cast<Bytef*>(to + got);
      zlib.avail_out = room;
      const int code = inflate(&zlib, Z_NO_FLUSH);
      rest.remove_prefix(offered - zlib.avail_in);
      got += room - zlib.avail_out;
      ended = code == Z_STREAM_END;
      if (ended || got == bytes) return absl::OkStatus();
      if (code == Z_BUF_ERROR && may_be_cut) return absl::OkStatus();
      if (code != Z_OK) {
        return BadStream("compressed data is damaged or cut off", where);
      }
    }
    return absl::OkStatus();
  }
};

ByteStream::ByteStream(absl::string_view packed, Packing packing,
                       absl::string_view where)
    : state_(std::make_unique<State>()) {
  state_->rest = packed;
  state_->packing = packing;
  state_->where = std::string(where);
}

ByteStream::ByteStream(ByteStream&&) noexcept = default;

ByteStream::~ByteStream() {
  if (state_ != nullptr && state_->open) inflateEnd(&state_->zlib);
}

uint32_t ByteStream::crc() const { return state_->crc; }

absl::Status ByteStream::Read(int64_t bytes, std::string& out) {
  out.clear();
  while (static_cast<int64_t>(out.size()) < bytes) {
    const int64_t done = static_cast<int64_t>(out.size());
    const int64_t room = std::min(std::max(kStepBytes, done), bytes - done);
    out.resize(static_cast<size_t>(done + room));
    int64_t got = 0;
    EK_RETURN_IF_ERROR(state_->Take(room, out.data() + done, got));
    if (got < room) {
      return BadStream("data is shorter than announced", state_->where);
    }
  }
  return absl::OkStatus();
}

absl::Status ByteStream::ReadPrefix(int64_t bytes, std::string& out) {
  out.resize(static_cast<size_t>(bytes));
  int64_t got = 0;
  state_->may_be_cut = true;
  const absl::Status taken = state_->Take(bytes, out.data(), got);
  state_->may_be_cut = false;
  out.resize(static_cast<size_t>(got));
  return taken;
}

absl::Status ByteStream::Skip(int64_t bytes) {
  while (bytes > 0) {
    const int64_t step = std::min(bytes, kStepBytes);
    EK_RETURN_IF_ERROR(Read(step, state_->skipped));
    bytes -= step;
  }
  return absl::OkStatus();
}

absl::Status ByteStream::ExpectEnd() {
  State& state = *state_;
  char more = 0;
  int64_t got = 0;
  const int64_t before = state.given;
  EK_RETURN_IF_ERROR(state.Take(1, &more, got));
  if (got > 0) {
    return MakeError(
        absl::StatusCode::kInvalidArgument,
        {.reason = "DATA_TOO_LARGE",
         .what = "compressed data is larger than announced or allowed",
         .where = state.where,
         .limit = absl::StrCat(before, " bytes"),
         .fix = "use fewer samples, or write the file again"});
  }
  if (state.rest.empty()) return absl::OkStatus();
  return BadStream("compressed data is followed by other bytes", state.where);
}

}  // namespace edgekiln::compiler
